"""Delete everything that an access pattern finds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import spec_of
from gateleg.store.errors import LostRace, NotFound
from gateleg.store.operations.batch_flows import batch_write_flow
from gateleg.store.operations.operation import Operation
from gateleg.store.operations.queries import PatternOrQuery, Reading, build_query, query_partitions
from gateleg.store.operations.transaction_entries import identity
from gateleg.store.operations.unreadable import ListReader
from gateleg.store.operations.write_kinds import Delete
from gateleg.store.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.model import Condition, Query
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.operations.shard_merge import Merge
    from gateleg.store.setup import Setup

__all__ = ["DeleteAll"]

E = TypeVar("E", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class DeleteAll(Operation[int]):
    """All items that a query finds, to be removed."""

    query: Query[Any]
    write_units: float | None = None

    def flow(self, setup: Setup) -> Flow[int]:
        """Keys only, page by page, each page deleted in batches. Interrupted, it can be started again: what is gone stays gone."""
        spec, setup = spec_of(self.query.entity), replace(setup, expired=True)
        # Markers and counters must go along, and items under older keys must be found there.
        marked = bool(spec.uniques or spec.counters or spec.key.legacy)
        reading = Reading(self.query, hydrate=not marked or self.query.plan.index.project != "all")
        reader = ListReader(setup)
        return self._pages(reading, reading.merge(setup, reader), reader, marked)

    def _pages(self, reading: Reading[Any], merge: Merge[Any], reader: ListReader, marked: bool) -> Flow[int]:
        spec, setup, total = spec_of(self.query.entity), reader.setup, 0
        name = setup.name_of(spec.table)
        rate = Rate(self.write_units, setup) if self.write_units is not None else None
        while not merge.done:
            yield from merge.fill(None, setup)
            items = merge.take(None)
            if marked:
                # Each is deleted in a transaction of its own.
                for instance in (yield from reading.finish(items, reader)):
                    total += yield from _delete_one(instance, setup)
            else:
                keys = [{part: item[part] for part in spec.table.attributes} for item in items]
                entries = {identity(name, key): {"DeleteRequest": {"Key": key}} for key in keys}
                total += yield from batch_write_flow(entries, setup, f"{self.query.pattern} delete_all", rate)
        return total

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The queried partition."""
        return query_partitions(self.query)


def _delete_one(instance: Any, setup: Setup) -> Flow[int]:
    """Remove one item with its markers and counters, as it is by then; 0 if it was removed already."""
    while instance is not None:
        try:
            yield from Delete(instance).flow(setup)
            return 1
        except LostRace as lost:
            instance = lost.current
        except NotFound:
            break
    return 0


def delete_all(
    pattern: PatternOrQuery[E], /, *conditions: Condition[E], write_units: float | None = None, **arguments: Any
) -> Operation[int]:
    """Remove everything that a pattern finds; the result is how many items there were. `write_units` bounds the capacity per second."""
    return DeleteAll(build_query(pattern, conditions, arguments), write_units)
