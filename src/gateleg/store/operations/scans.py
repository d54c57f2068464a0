"""Reading whole tables: for exports, migrations and repairs, never for user requests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import Table, spec_of
from gateleg.model.expressions import Placeholders
from gateleg.model.tables import is_marker
from gateleg.store.errors import OutOfScope
from gateleg.store.flow import Found, Request, Together
from gateleg.store.operations.entity_reads import current_items
from gateleg.store.operations.legacy_forms import is_legacy, read_form
from gateleg.store.operations.legacy_partitions import newer_items
from gateleg.store.operations.operation import Stream
from gateleg.store.operations.unreadable import ListReader, hidden
from gateleg.store.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Condition, Item
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["Scan"]

E = TypeVar("E", bound=BaseModel)


@dataclass
class ScanProgress:
    """How far a scan has come: where each segment goes on. Kept by the caller, it resumes the scan later."""

    #: the ExclusiveStartKey of each segment that is not finished, by its number; empty when all is done
    starts: dict[int, Item | None]
    segments: int = 1

    @classmethod
    def fresh(cls, segments: int = 1) -> ScanProgress:
        """The beginning of a scan with a number of segments."""
        return cls(dict.fromkeys(range(segments)), segments)


@dataclass(frozen=True, slots=True)
class Scan(Stream[Any]):
    """All items of a table, raw or as an entity."""

    table: Table
    entity: type[BaseModel] | None = None
    progress: ScanProgress | None = None
    segments: int = 1
    read_units: float | None = None
    filter: Condition | None = None
    page_size: int | None = None
    consistent: bool = False
    #: whether markers of unique constraints are among the items
    markers: bool = False

    def flow(self, setup: Setup) -> Flow[None]:
        """One page of every segment at a time, all segments at once."""
        payload: dict[str, Any] = {"TableName": setup.name_of(self.table)}
        condition, out = self.filter, Placeholders()
        if condition is not None:
            payload["FilterExpression"] = condition.render(out)
        options = {"Limit": self.page_size, "ConsistentRead": self.consistent or None}
        payload |= out.parameters() | {member: value for member, value in options.items() if value is not None}
        if self.read_units is not None:
            payload["ReturnConsumedCapacity"] = "TOTAL"
        return self._pages(payload, self.progress or ScanProgress.fresh(self.segments), setup)

    def _pages(self, payload: dict[str, Any], progress: ScanProgress, setup: Setup) -> Flow[None]:
        rate = Rate(self.read_units, setup) if self.read_units is not None else None
        # An export is a copy of what is stored, expired or not.
        reader = ListReader(setup if self.entity is None else replace(setup, expired=True))
        while progress.starts:
            numbers = list(progress.starts)[: max(setup.concurrency, 1)]
            requests = [Request("Scan", self._payload(payload, progress, number), f"{self.table.name} scan") for number in numbers]
            for number, reply in zip(numbers, (yield Together(requests)), strict=True):
                if isinstance(reply, Exception):
                    raise reply
                yield Found(
                    self._raw(reply["Items"], reader) if self.entity is None else (yield from self._entities(reply["Items"], reader))
                )
                # Only now, when the caller has taken all of the page, may the scan be resumed after it.
                del progress.starts[number]
                if "LastEvaluatedKey" in reply:
                    progress.starts[number] = reply["LastEvaluatedKey"]
                if rate is not None:
                    yield from rate.charge(reply)

    def _payload(self, payload: dict[str, Any], progress: ScanProgress, number: int) -> dict[str, Any]:
        page = dict(payload)
        if progress.segments > 1:
            page |= {"Segment": number, "TotalSegments": progress.segments}
        if progress.starts[number] is not None:
            page["ExclusiveStartKey"] = progress.starts[number]
        return page

    def _raw(self, items: Sequence[Item], reader: ListReader) -> Iterator[Item]:
        for item in items:
            if self.markers or not is_marker(self.table, item):
                spec = self.table.spec_for(item)
                if spec is None or not hidden(spec, item, reader.setup):
                    yield item

    def _entities(self, items: Sequence[Item], reader: ListReader) -> Flow[list[Any]]:
        """The items of the entity, those under older keys too."""
        assert self.entity is not None
        spec = spec_of(self.entity)
        mine = [item for item in items if not is_marker(self.table, item) and (self.table.spec_for(item) is spec or is_legacy(item, spec))]
        current = yield from current_items(spec, mine, reader)
        if not spec.key.legacy:
            return reader.all(spec, current)
        found: list[Any] = []
        older: dict[int, list[Any]] = {}
        for instance, number in reader.all(spec, current, lambda item: read_form(item, spec)):
            (found if number is None else older.setdefault(number, [])).append(instance)
        for number, instances in older.items():
            stored = yield from newer_items(spec, instances, number, reader.setup, self.consistent)
            found += [one for one, newer in zip(instances, stored, strict=True) if not any(newer)]
        return found

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Everywhere: no scope has room for it."""
        raise OutOfScope(f"A scan reads all of {self.table.name}.")


def scan(
    table: Table,
    /,
    *,
    segments: int = 1,
    progress: ScanProgress | None = None,
    read_units: float | None = None,
    filter: Condition | None = None,
    page_size: int | None = None,
    consistent: bool = False,
) -> Stream[Item]:
    """All items of a table as they are on the wire, markers of unique constraints and expired items left out. For tools: it reads all.

    `segments` are read side by side. `read_units` bounds the capacity used in a second. `progress` is kept up to date after every page
    and resumes an interrupted scan.
    """
    return Scan(table, None, progress, segments, read_units, filter, page_size, consistent)


def export(
    entity: type[E],
    /,
    *,
    segments: int = 1,
    progress: ScanProgress | None = None,
    read_units: float | None = None,
    filter: Condition | None = None,
    page_size: int | None = None,
    consistent: bool = False,
) -> Stream[E]:
    """All items of an entity, also those whose time is over. For tools: it reads the whole table, as `scan` does."""
    return Scan(spec_of(entity).table, entity, progress, segments, read_units, filter, page_size, consistent)
