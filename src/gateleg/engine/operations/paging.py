"""One page of a Query or Scan: the rows of a key range, in order, up to a limit or one megabyte, filtered and projected."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import apsw
import orjson

from gateleg.engine import capacity, keys
from gateleg.engine.context import Context, parse_item
from gateleg.engine.damage import damaged_item, damaged_tables, is_damage
from gateleg.engine.entries import IndexLayout
from gateleg.engine.errors import EngineError, invalid_parameter, validation
from gateleg.engine.expressions import CompiledCondition, Prepared, Projection
from gateleg.engine.layout import Layout
from gateleg.engine.operations.footprint import LARGE_ITEM_BYTES, NEVER_FULL_BYTES, PageMeter
from gateleg.engine.schema import KeySchema
from gateleg.engine.values import Item


@dataclass(frozen=True, slots=True)
class RowSource:
    """The table or index to read."""

    layout: Layout
    index: IndexLayout | None

    @property
    def keys(self) -> KeySchema:
        """The key schema that orders the rows."""
        return self.index.index.keys if self.index else self.layout.table.keys

    @property
    def start_names(self) -> tuple[str, ...]:
        """The attributes of a start key: the table's key, then what the index adds."""
        table = self.layout.table.keys.names
        return (*table, *(n for n in self.keys.names if n not in table))


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A range of keys (end exclusive), with direction and, optionally, the position to continue after."""

    start: bytes
    end: bytes | None
    forward: bool = True
    resume: tuple[bytes, bytes] | None = None

    def contains(self, position: bytes) -> bool:
        """Whether a key lies in this range."""
        return self.start <= position and (self.end is None or position < self.end)


@dataclass(slots=True)
class RowPage:
    """The rows read that passed the filter, with counts, sizes, and the last row if there may be more."""

    stored: list[bytes]
    items: list[Item] | None
    count: int
    scanned: int
    size: int
    last: bytes | None
    #: if items were fetched from the table for an LSI: size of its entries, and capacity units for the items
    entry_bytes: int = 0
    fetched_units: float = 0.0


def resolve_source(context: Context, request: dict[str, Any]) -> RowSource:
    """The table or index that a request names."""
    layout = context.layout(request["TableName"])
    name = request.get("IndexName")
    if name is None:
        return RowSource(layout, None)
    index = layout.index_by_name.get(name)
    if index is None:
        context.catalog.refresh()
        layout = context.layout(request["TableName"])
        index = layout.index_by_name.get(name)
    if index is None:
        raise validation(f"The table does not have the specified index: {name}")
    if index.index.kind == "GSI":
        if request.get("ConsistentRead"):
            raise validation("Consistent reads are not supported on global secondary indexes")
        if index.index.status == "CREATING":
            raise validation(f"Cannot read from backfilling global secondary index: {name}")
    return RowSource(layout, index)


def check_select(request: dict[str, Any], projection: Projection | None, envelope: str = "") -> None:
    """Refuse a Select that contradicts other parameters. Query wraps most of these errors in an envelope."""
    select = request.get("Select")
    if select == "SPECIFIC_ATTRIBUTES" and projection is None:
        raise validation(f"{envelope}Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
    if projection is not None and select not in {None, "SPECIFIC_ATTRIBUTES"}:
        member = "AttributesToGet" if "AttributesToGet" in request else "ProjectionExpression"
        choice = "only the Count" if select == "COUNT" else select
        raise validation(f"{envelope}Cannot specify the {member} when choosing to get {choice}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and request.get("IndexName") is None:
        raise validation(f"{envelope}ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")


def read_page(context: Context, source: RowSource, key_range: KeyRange, request: dict[str, Any], prepared: Prepared) -> RowPage:
    """Read rows until the limit, one megabyte or the end of the range."""
    whole = _needs_base(source, request, prepared)
    sql, bindings = _statement(source, key_range, whole)
    limit = request.get("Limit") or -1
    page = RowPage([], None, 0, 0, 0, None)
    with context.database.reading() as connection:
        try:
            rows: Iterable[tuple[Any, ...]] = connection.execute(sql, bindings)
            if whole:
                rows = _with_base_items(page, rows, bool(request.get("ConsistentRead")))
            range_ = source.layout.table.keys.range
            meter = PageMeter(range_[0].name if range_ else None)
            if prepared.filter is None:
                _take_all(page, rows, limit, meter)
            else:
                _take_matching(page, rows, limit, meter, prepared.filter, prepared.values)
        except apsw.Error as error:
            if is_damage(error):
                raise _damage_error(connection, source, key_range, max(page.scanned, len(page.stored))) from error
            raise
    return page


def _damage_error(connection: apsw.Connection, source: RowSource, key_range: KeyRange, read: int) -> EngineError:
    """The error for the row after `read` rows. Its key can be read without it, unless the key index is damaged too."""
    table, index = source.layout.table, source.index
    select = f"SELECT k FROM {source.layout.name}" if index is None else f"SELECT i.b FROM {index.name} i"
    clauses, bindings = _range(source, key_range)
    try:
        row = connection.execute(f"{select} {clauses} LIMIT 1 OFFSET ?", (*bindings, read)).fetchone()
    except apsw.Error:
        row = None
    return damaged_tables([table.name]) if row is None else damaged_item(table, row[0])


def _with_base_items(page: RowPage, rows: Iterable[tuple[Any, ...]], consistent: bool) -> Iterator[tuple[Any, ...]]:
    """Rows of an LSI with the items of the table, each of which DynamoDB charges separately."""
    for row in rows:
        page.entry_bytes += row[4]
        page.fetched_units += capacity.read_units(row[1], consistent)
        yield row


def _take_all(page: RowPage, rows: Iterable[tuple[Any, ...]], limit: int, meter: PageMeter) -> None:
    """Read every row of the range, until the page is full."""
    stored = page.stored
    scanned = total = 0
    for row in rows:
        size = row[1]
        total += size
        stored.append(row[2])
        scanned += 1
        if scanned == limit or ((size >= LARGE_ITEM_BYTES or total >= NEVER_FULL_BYTES) and meter.full(size, row[2], total)):
            page.last = row[2]
            break
    page.scanned = page.count = scanned
    page.size = total


def _take_matching(
    page: RowPage, rows: Iterable[tuple[Any, ...]], limit: int, meter: PageMeter, wanted: CompiledCondition, values: Any
) -> None:
    """Read rows until the page is full, and keep those that match the filter."""
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
        if page.scanned == limit or ((size >= LARGE_ITEM_BYTES or page.size >= NEVER_FULL_BYTES) and meter.full(size, row[2], page.size)):
            page.last = row[2]
            break
    page.items = items
    page.count = len(items)


def _statement(source: RowSource, key_range: KeyRange, whole: bool) -> tuple[str, list[Any]]:
    index = source.index
    select = source.layout.select if index is None else index.select_whole if whole else index.select
    clauses, bindings = _range(source, key_range)
    return f"{select} {clauses}", bindings


def _range(source: RowSource, key_range: KeyRange) -> tuple[str, list[Any]]:
    """The WHERE and ORDER BY clauses of a key range."""
    index = source.index
    prefix = "i." if index else ""
    start, end = key_range.start, key_range.end
    clauses, bindings = [], []
    if key_range.resume is not None:
        position, row = key_range.resume
        if key_range.forward:
            start = position if index else position + b"\x00"
        else:
            end = position + b"\x00" if index else position
        if index:
            clauses.append(f"(i.k, i.b) {'>' if key_range.forward else '<'} (?, ?)")
            bindings += [position, row]
    clauses.append(f"{prefix}k >= ?")
    bindings.append(start)
    if end is not None:
        clauses.append(f"{prefix}k < ?")
        bindings.append(end)
    direction = "" if key_range.forward else " DESC"
    order = f"i.k{direction}, i.b{direction}" if index else f"k{direction}"
    return f"WHERE {' AND '.join(clauses)} ORDER BY {order}", bindings


def _needs_base(source: RowSource, request: dict[str, Any], prepared: Prepared) -> bool:
    """Whether an LSI lacks attributes that must be fetched from the table."""
    index = source.index
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


def check_nested(source: RowSource, expression: Projection | CompiledCondition | None) -> None:
    """Refuse document paths into key attributes."""
    if expression is not None and expression.nested:
        source.layout.check_scalar(expression.nested)


def check_projected(source: RowSource, request: dict[str, Any], projection: Projection | None) -> None:
    """Refuse to read attributes from a GSI that it does not project."""
    index = source.index
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


def respond(
    context: Context, source: RowSource, page: RowPage, request: dict[str, Any], prepared: Prepared, scanned: KeyRange | None = None
) -> dict[str, Any]:
    """The response of a Query or Scan; `scanned` is the key range of a Scan."""
    response: dict[str, Any] = {"Count": page.count, "ScannedCount": page.scanned}
    if request.get("Select") != "COUNT":
        if prepared.projection is None:
            response["Items"] = context.response_items(page.stored)
        else:
            items = page.items if page.items is not None else [parse_item(stored) for stored in page.stored]
            response["Items"] = [prepared.projection.apply(item) for item in items]
    if page.last is not None:
        last = parse_item(page.last)
        response["LastEvaluatedKey"] = {name: last[name] for name in source.start_names}
    mode = request.get("ReturnConsumedCapacity")
    if mode in {"TOTAL", "INDEXES"}:
        visited = 1 if scanned is None else _partitions(source, scanned, page)
        response["ConsumedCapacity"] = _consumed(source, page, mode, bool(request.get("ConsistentRead")), visited)
    return response


def _consumed(source: RowSource, page: RowPage, mode: str, consistent: bool, visited: int) -> dict[str, Any] | None:
    """The consumed capacity of a page: of the table, or of the index and of items fetched from the table."""
    table = source.layout.table
    if source.index is None:
        return capacity.consumed(mode, table, capacity.read_units(page.size, consistent, visited), {})
    index = source.index.index
    units = capacity.read_units(page.entry_bytes if page.fetched_units else page.size, consistent, visited)
    return capacity.consumed(mode, table, page.fetched_units, {index.name: (index, units)})


def _partitions(source: RowSource, key_range: KeyRange, page: RowPage) -> int:
    """How many partitions a Scan visited; each costs at least one unit. Tables with provisioned capacity start with one."""
    if source.layout.table.settings.get("BillingMode") != "PAY_PER_REQUEST":
        return 1
    end = key_range.end
    if page.last is not None:
        item = parse_item(page.last)
        position = source.index.key(item) if source.index else source.layout.key(item)
        assert position is not None
        end = position + b"\x00"
    return keys.count_partitions(key_range.resume[0] if key_range.resume else key_range.start, end, capacity.ON_DEMAND_PARTITIONS)


def segment_range(request: dict[str, Any]) -> tuple[bytes, bytes | None]:
    """The key range of a Scan: everything, or one segment."""
    total = request.get("TotalSegments")
    return (b"", None) if total is None else keys.segment_range(request["Segment"], total)
