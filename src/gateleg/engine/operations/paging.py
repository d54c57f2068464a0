"""One page of a Query or a Scan: rows of a range of keys, in order, up to a limit or a megabyte, filtered and projected."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import apsw
import orjson

from gateleg.engine import capacity, keys
from gateleg.engine.context import Context, parsed
from gateleg.engine.damage import damaged_item, damaged_tables, is_damage
from gateleg.engine.entries import IndexLayout
from gateleg.engine.errors import EngineError, invalid_parameter, validation
from gateleg.engine.expressions import Condition, Prepared, Projection
from gateleg.engine.layout import Layout
from gateleg.engine.operations.footprint import LARGE, NEVER_FULL, Meter
from gateleg.engine.schema import KeySchema
from gateleg.engine.values import Item


@dataclass(frozen=True, slots=True)
class Source:
    """The table or index that is read."""

    layout: Layout
    index: IndexLayout | None

    @property
    def keys(self) -> KeySchema:
        """The key schema that orders the rows."""
        return self.index.index.keys if self.index else self.layout.table.keys

    @property
    def start_names(self) -> tuple[str, ...]:
        """The attributes that name a place in this order: the table's key, then what the index adds."""
        table = self.layout.table.keys.names
        return (*table, *(n for n in self.keys.names if n not in table))


@dataclass(frozen=True, slots=True)
class Span:
    """A range of keys: from the first (inclusive) up to the second (exclusive), and where in it to go on."""

    start: bytes
    end: bytes | None
    forward: bool = True
    resume: tuple[bytes, bytes] | None = None

    def holds(self, place: bytes) -> bool:
        """Whether a key lies in this range."""
        return self.start <= place and (self.end is None or place < self.end)


@dataclass(slots=True)
class Page:
    """What was read: rows that passed the filter, counts, bytes, and the last row if there may be more."""

    stored: list[bytes]
    items: list[Item] | None
    count: int
    scanned: int
    size: int
    last: bytes | None
    #: where a local index was completed from the table: the bytes of its entries, and the units of reading each item
    entries: int = 0
    fetched: float = 0.0


def source(context: Context, request: dict[str, Any]) -> Source:
    """The table, or the index of it, that a request names."""
    layout = context.layout(request["TableName"])
    name = request.get("IndexName")
    if name is None:
        return Source(layout, None)
    index = layout.by_name.get(name)
    if index is None:
        context.catalog.refresh()
        layout = context.layout(request["TableName"])
        index = layout.by_name.get(name)
    if index is None:
        raise validation(f"The table does not have the specified index: {name}")
    if index.index.kind == "GSI":
        if request.get("ConsistentRead"):
            raise validation("Consistent reads are not supported on global secondary indexes")
        if index.index.status == "CREATING":
            raise validation(f"Cannot read from backfilling global secondary index: {name}")
    return Source(layout, index)


def check_select(request: dict[str, Any], projection: Projection | None, envelope: str = "") -> None:
    """Refuse a Select that contradicts the other parameters. Query puts most of these faults into an envelope."""
    select = request.get("Select")
    if select == "SPECIFIC_ATTRIBUTES" and projection is None:
        raise validation(f"{envelope}Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
    if projection is not None and select not in {None, "SPECIFIC_ATTRIBUTES"}:
        member = "AttributesToGet" if "AttributesToGet" in request else "ProjectionExpression"
        choice = "only the Count" if select == "COUNT" else select
        raise validation(f"{envelope}Cannot specify the {member} when choosing to get {choice}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and request.get("IndexName") is None:
        raise validation(f"{envelope}ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")


def read_page(context: Context, where: Source, span: Span, request: dict[str, Any], prepared: Prepared) -> Page:
    """Step through the span until the limit, a megabyte or its end is reached."""
    whole = _needs_base(where, request, prepared)
    sql, bindings = _statement(where, span, whole)
    limit = request.get("Limit") or -1
    page = Page([], None, 0, 0, 0, None)
    with context.database.reading() as connection:
        try:
            rows: Iterable[tuple[Any, ...]] = connection.execute(sql, bindings)
            if whole:
                rows = _completed(page, rows, bool(request.get("ConsistentRead")))
            range_ = where.layout.table.keys.range
            meter = Meter(range_[0].name if range_ else None)
            if prepared.filter is None:
                _take(page, rows, limit, meter)
            else:
                _sift(page, rows, limit, meter, prepared.filter, prepared.values)
        except apsw.Error as error:
            if is_damage(error):
                raise _damaged(connection, where, span, max(page.scanned, len(page.stored))) from error
            raise
    return page


def _damaged(connection: apsw.Connection, where: Source, span: Span, read: int) -> EngineError:
    """The error for the row after so many that were read; its key can be had without it, unless the order of keys is damaged too."""
    table, index = where.layout.table, where.index
    select = f"SELECT k FROM {where.layout.name}" if index is None else f"SELECT i.b FROM {index.name} i"
    clauses, bindings = _range(where, span)
    try:
        row = connection.execute(f"{select} {clauses} LIMIT 1 OFFSET ?", (*bindings, read)).fetchone()
    except apsw.Error:
        row = None
    return damaged_tables([table.name]) if row is None else damaged_item(table, row[0])


def _completed(page: Page, rows: Iterable[tuple[Any, ...]], consistent: bool) -> Iterator[tuple[Any, ...]]:
    """The rows of a local index with the items of the table; DynamoDB reads each of these on its own."""
    for row in rows:
        page.entries += row[4]
        page.fetched += capacity.read_units(row[1], consistent)
        yield row


def _take(page: Page, rows: Iterable[tuple[Any, ...]], limit: int, meter: Meter) -> None:
    """Read every row."""
    stored = page.stored
    scanned = total = 0
    for row in rows:
        size = row[1]
        total += size
        stored.append(row[2])
        scanned += 1
        if scanned == limit or ((size >= LARGE or total >= NEVER_FULL) and meter.full(size, row[2], total)):
            page.last = row[2]
            break
    page.scanned = page.count = scanned
    page.size = total


def _sift(page: Page, rows: Iterable[tuple[Any, ...]], limit: int, meter: Meter, wanted: Condition, values: Any) -> None:
    """Read every row and keep those that meet the filter."""
    test = wanted.test
    items: list[Item] = []
    for row in rows:
        size = row[1]
        page.size += size
        page.scanned += 1
        item = orjson.loads(row[2])
        if test(item, values):
            items.append(item)
            page.stored.append(row[2])
        if page.scanned == limit or ((size >= LARGE or page.size >= NEVER_FULL) and meter.full(size, row[2], page.size)):
            page.last = row[2]
            break
    page.items = items
    page.count = len(items)


def _statement(where: Source, span: Span, whole: bool) -> tuple[str, list[Any]]:
    index = where.index
    select = where.layout.select if index is None else index.select_whole if whole else index.select
    clauses, bindings = _range(where, span)
    return f"{select} {clauses}", bindings


def _range(where: Source, span: Span) -> tuple[str, list[Any]]:
    """The rows of a span, in their order."""
    index = where.index
    prefix = "i." if index else ""
    start, end = span.start, span.end
    clauses, bindings = [], []
    if span.resume is not None:
        place, row = span.resume
        if span.forward:
            start = place if index else place + b"\x00"
        else:
            end = place + b"\x00" if index else place
        if index:
            clauses.append(f"(i.k, i.b) {'>' if span.forward else '<'} (?, ?)")
            bindings += [place, row]
    clauses.append(f"{prefix}k >= ?")
    bindings.append(start)
    if end is not None:
        clauses.append(f"{prefix}k < ?")
        bindings.append(end)
    direction = "" if span.forward else " DESC"
    order = f"i.k{direction}, i.b{direction}" if index else f"k{direction}"
    return f"WHERE {' AND '.join(clauses)} ORDER BY {order}", bindings


def _needs_base(where: Source, request: dict[str, Any], prepared: Prepared) -> bool:
    """Whether a local index that does not project everything must be completed from the table."""
    index = where.index
    if index is None or index.projected is None or index.index.kind == "GSI":
        return False
    if request.get("Select") == "ALL_ATTRIBUTES":
        return True
    wanted: set[str] = set()
    if prepared.projection is not None:
        wanted |= prepared.projection.attributes
    if prepared.filter is not None:
        wanted |= prepared.filter.attributes
    return not wanted <= index.projected


def check_nested(where: Source, expression: Projection | Condition | None) -> None:
    """Refuse to look into the inside of a key."""
    if expression is not None and expression.nested:
        where.layout.check_scalar(expression.nested)


def check_projected(where: Source, request: dict[str, Any], projection: Projection | None) -> None:
    """Refuse to read from a global index what it does not hold."""
    index = where.index
    if index is None or index.projected is None or index.index.kind != "GSI":
        return
    if request.get("Select") == "ALL_ATTRIBUTES":
        raise invalid_parameter(
            f"Select type ALL_ATTRIBUTES is not supported for global secondary index {index.index.name} "
            "because its projection type is not ALL"
        )
    if projection is not None:
        missing = sorted(projection.attributes - index.projected)
        if missing:
            raise invalid_parameter(f"Global secondary index {index.index.name} does not project [{', '.join(missing)}]")


def answer(
    context: Context, where: Source, page: Page, request: dict[str, Any], prepared: Prepared, scanned: Span | None = None
) -> dict[str, Any]:
    """A page as Query and Scan answer it; `scanned` is what a Scan went through."""
    response: dict[str, Any] = {"Count": page.count, "ScannedCount": page.scanned}
    if request.get("Select") != "COUNT":
        if prepared.projection is None:
            response["Items"] = context.items(page.stored)
        else:
            items = page.items if page.items is not None else [parsed(stored) for stored in page.stored]
            response["Items"] = [prepared.projection.apply(item) for item in items]
    if page.last is not None:
        last = parsed(page.last)
        response["LastEvaluatedKey"] = {name: last[name] for name in where.start_names}
    mode = request.get("ReturnConsumedCapacity")
    if mode in {"TOTAL", "INDEXES"}:
        visited = 1 if scanned is None else _partitions(where, scanned, page)
        response["ConsumedCapacity"] = _consumed(where, page, mode, bool(request.get("ConsistentRead")), visited)
    return response


def _consumed(where: Source, page: Page, mode: str, consistent: bool, visited: int) -> dict[str, Any] | None:
    """What a page cost: in the table, or in the index and, where it was completed, in the table too."""
    table = where.layout.table
    if where.index is None:
        return capacity.consumed(mode, table, capacity.read_units(page.size, consistent, visited), {})
    index = where.index.index
    units = capacity.read_units(page.entries if page.fetched else page.size, consistent, visited)
    return capacity.consumed(mode, table, page.fetched, {index.name: (index, units)})


def _partitions(where: Source, span: Span, page: Page) -> int:
    """How many partitions a Scan visited; each costs a unit even if it is empty. Tables with provisioned capacity start with one."""
    if where.layout.table.settings.get("BillingMode") != "PAY_PER_REQUEST":
        return 1
    end = span.end
    if page.last is not None:
        item = parsed(page.last)
        place = where.index.key(item) if where.index else where.layout.key(item)
        assert place is not None
        end = place + b"\x00"
    return keys.partitions(span.resume[0] if span.resume else span.start, end, capacity.ON_DEMAND_PARTITIONS)


def segment_span(request: dict[str, Any]) -> tuple[bytes, bytes | None]:
    """The keys that a Scan walks: all, or those of one segment."""
    total = request.get("TotalSegments")
    return (b"", None) if total is None else keys.segment(request["Segment"], total)
