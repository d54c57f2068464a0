"""Delete all items that an access pattern finds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import spec_of
from gateleg.store.errors import LostRace, NotFound
from gateleg.store.operations.batch_flows import batch_write_flow
from gateleg.store.operations.identities import identity
from gateleg.store.operations.operation import Operation
from gateleg.store.operations.queries import PatternOrQuery, Reading, build_query, query_partitions
from gateleg.store.operations.unreadable import ListReader
from gateleg.store.operations.write_kinds import Delete
from gateleg.store.rates import RateLimiter

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
    """Delete all items that a query finds."""

    query: Query[Any]
    write_units: float | None = None

    def flow(self, setup: Setup) -> Flow[int]:
        """Read the keys page by page, and delete each page in batches. If it is interrupted, it can be started again."""
        spec, setup = spec_of(self.query.entity), replace(setup, expired=True)
        # With markers, counters or legacy keys, each item must be read and deleted by itself.
        marked = bool(spec.uniques or spec.counters or spec.key.legacy)
        reading = Reading(self.query, hydrate=not marked or self.query.plan.index.project != "all")
        reader = ListReader(setup)
        return self._pages(reading, reading.merge(setup, reader), reader, marked)

    def _pages(self, reading: Reading[Any], merge: Merge[Any], reader: ListReader, marked: bool) -> Flow[int]:
        spec, setup, total = spec_of(self.query.entity), reader.setup, 0
        name = setup.name_of(spec.table)
        rate = RateLimiter(self.write_units, setup) if self.write_units is not None else None
        while not merge.done:
            yield from merge.fill(None, setup)
            items = merge.take(None)
            if marked:
                # One transaction for each item.
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
    """Delete the current version of one item with its markers and counters; return 1, or 0 if it was already deleted."""
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
    """Delete all items that a pattern finds, and return their number. `write_units` limits the write capacity units used per second.

    Not atomic: after an error or interruption, call it again to delete the rest.
    """
    return DeleteAll(build_query(pattern, conditions, arguments), write_units)
