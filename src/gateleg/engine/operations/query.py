"""Query and Scan: the rows of a key range, in order, up to a limit or one megabyte, filtered and projected.

Both build a `KeyRange` in a `RowSource` (the table or an index), read one `RowPage` of it, and respond with that. PartiQL's SELECT reads
its pages in the same way. Start keys are checked in DynamoDB's order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import apsw
import orjson

from gateleg.engine import capacity, keys
from gateleg.engine.capacity import LARGE_ITEM_BYTES, NEVER_FULL_BYTES, PageMeter
from gateleg.engine.catalog import Context, parse_item
from gateleg.engine.errors import ENVELOPE, EngineError, invalid_parameter, validation
from gateleg.engine.expressions import CompiledCondition, KeyCondition, Prepared, Projection, Values, check_legacy, prepare
from gateleg.engine.integrity import damaged_item, damaged_tables, is_damage
from gateleg.engine.layout import IndexLayout, Layout
from gateleg.engine.schema import KeyAttribute, KeySchema
from gateleg.engine.values import Item, canonicalize_item

_Parts = Mapping[str, tuple[str, list[dict[str, Any]]]]


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

    stored: list[bytes] = field(default_factory=list)
    #: the same, parsed, if there is a filter
    items: list[Item] = field(default_factory=list)
    scanned: int = 0
    size: int = 0
    last: bytes | None = None
    #: if items were fetched from the table for an LSI: size of its entries, and capacity units for the items
    entry_bytes: int = 0
    fetched_units: float = 0.0


def query(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Read a page of a partition in order of its range key."""
    start = start_values(request, "Query")
    prepared = prepare(request, "Query")
    condition = prepared.key_condition
    assert condition is not None
    legacy = request.get("KeyConditions") is not None
    if legacy and request.get("IndexName") is None:
        _check_count(condition)
    check_select(request, prepared.projection, ENVELOPE)
    source = resolve_source(context, request)
    _check_key(source, condition, start, legacy)
    key_range = _key_range(source, condition, request.get("ScanIndexForward") is not False)
    if start is not None:
        key_range = _resume(source, condition, key_range, start)
    check_nested(source, prepared.projection)
    _check_filter(source, prepared.filter, "QueryFilter" if "QueryFilter" in request else "Filter Expression")
    check_projected(source, request, prepared.projection)
    check_nested(source, prepared.filter)
    page = read_page(context, source, key_range, request, prepared)
    if page.last is not None and not _may_have_more_rows(source):
        page.last = None
    return respond(context, source, page, request, prepared)


def scan(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Read a page of a table or index, or of one of its segments."""
    start = start_values(request, "Scan")
    _check_segments(request)
    prepared = prepare(request, "Scan")
    check_select(request, prepared.projection)
    source = resolve_source(context, request)
    if start is not None and source.index is not None:
        check_start(source, start)
    check_projected(source, request, prepared.projection)
    key_range = KeyRange(*segment_range(request))
    if start is not None:
        key_range = _resume_scan(source, request, key_range, start)
    check_nested(source, prepared.projection)
    check_nested(source, prepared.filter)
    page = read_page(context, source, key_range, request, prepared)
    return respond(context, source, page, request, prepared, scanned=key_range)


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "Query": query,
    "Scan": scan,
}


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


def _check_count(condition: KeyCondition) -> None:
    """Refuse more conditions than a key of two attributes allows."""
    if not 1 <= len(condition.parts) <= 2:
        raise validation("Conditions can be of length 1 or 2 only")


def _check_segments(request: dict[str, Any]) -> None:
    segment, total = request.get("Segment"), request.get("TotalSegments")
    if segment is not None and total is None:
        raise validation("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
    if total is not None:
        if segment is None:
            raise validation("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
        if segment >= total:
            raise validation(
                "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
                f"Segment: {segment} is not less than TotalSegments: {total}"
            )


def segment_range(request: dict[str, Any]) -> tuple[bytes, bytes | None]:
    """The key range of a Scan: everything, or one segment."""
    total = request.get("TotalSegments")
    return (b"", None) if total is None else keys.segment_range(request["Segment"], total)


def _check_key(source: RowSource, condition: KeyCondition, start: Item | None, legacy: bool) -> None:
    """Check the key condition and the start key against the schema, attribute by attribute, the start key first."""
    schema, parts = source.keys, condition.parts
    if start is not None:
        check_start_length(source, start)
    if len(schema.hash) == 1 and len(schema.range) < 2:
        if legacy:
            _check_count(condition)
        elif len(parts) > 2:
            counts = f"({len(parts)}) exceeds the number of key attributes defined in the schema ({len(schema.attributes)})"
            raise validation(f"The number of query conditions {counts}")
        if len(parts) > 1 and not schema.range:
            raise validation("Query key condition not supported")
    for attribute in schema.attributes:
        if start is not None:
            check_start_attribute(attribute, start)
        if attribute.name in parts:
            _check_part(attribute, parts[attribute.name])
        if attribute in schema.hash and (attribute.name not in parts or parts[attribute.name][0] != "EQ"):
            raise _missing_hash_equality(schema, attribute.name, attribute.name in parts)


def _check_part(attribute: KeyAttribute, part: tuple[str, Any]) -> None:
    operator, operands = part
    if operator in {"NULL", "NOT_NULL", "NE", "CONTAINS", "NOT_CONTAINS", "IN"}:
        raise validation("Attempted conditional constraint is not an indexable operation")
    for operand in operands:
        if attribute.type not in operand:
            raise invalid_parameter("Condition parameter type does not match schema type")
        if not operand[attribute.type] and operator != "BEGINS_WITH":
            kind = "string" if attribute.type == "S" else "binary"
            raise validation(
                "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
                f"empty {kind} value. Key: {attribute.name}"
            )


def _missing_hash_equality(schema: KeySchema, name: str, present: bool) -> EngineError:
    """The error for a hash attribute without an equality condition; multi-attribute keys have their own message."""
    if len(schema.hash) > 1:
        return validation(f"HASH key attributes {name} must have equality conditions specified in the query")
    return validation("Query key condition not supported" if present else f"Query condition missed key schema element: {name}")


def _key_range(source: RowSource, condition: KeyCondition, forward: bool) -> KeyRange:
    """The key range that a key condition selects."""
    schema, parts = source.keys, condition.parts
    prefix = keys.partition_prefix(schema.hash, [_content(a, parts[a.name]) for a in schema.hash])
    used = len(schema.hash)
    start, end = prefix, keys.prefix_end(prefix)
    for attribute in schema.range:
        part = parts.get(attribute.name)
        if part is None:
            break
        used += 1
        start, end = keys.key_range(prefix, attribute.type, part[0], [operand[attribute.type] for operand in part[1]])
        if part[0] != "EQ":
            break
        prefix = start
    if used < len(parts):
        raise _range_condition_error(schema, parts)
    return KeyRange(start, end, forward)


def _range_condition_error(schema: KeySchema, parts: _Parts) -> EngineError:
    """The error for a condition that skips a range attribute, or follows one without an equality condition."""
    loose: str | None = None
    for attribute in schema.range:
        if loose is not None and attribute.name in parts:
            return validation(
                f"RANGE key attributes {loose} must have equality conditions specified in the query "
                f"because a condition is present on key attribute {attribute.name}"
            )
        if loose is None and (attribute.name not in parts or parts[attribute.name][0] != "EQ"):
            loose = attribute.name
    missed = next((a.name for a in schema.range if a.name not in parts), None)
    return validation("Query key condition not supported" if missed is None else f"Query condition missed key schema element: {missed}")


def _content(attribute: KeyAttribute, part: tuple[str, Any]) -> str:
    content: str = part[1][0][attribute.type]
    return content


def _resume(source: RowSource, condition: KeyCondition, key_range: KeyRange, start: Item) -> KeyRange:
    """Continue after an ExclusiveStartKey, which must lie in the key range."""
    position, row = start_position(source, start)
    if not key_range.contains(position):
        raise _outside_range_error(source, condition, key_range, start)
    if not _may_have_more_rows(source):
        ((name, value),) = start.items()
        ((tag, content),) = value.items()
        raise validation(f"The provided exclusive start key is invalid: ExclusiveStartKey: {{{name}=AttributeValue: {{{tag}:{content}}}}}")
    return replace(key_range, resume=(position, row))


def _resume_scan(source: RowSource, request: dict[str, Any], key_range: KeyRange, start: Item) -> KeyRange:
    """Continue after an ExclusiveStartKey, which must lie in the segment."""
    position, row = start_position(source, start)
    if not key_range.contains(position):
        raise validation(
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {request['TotalSegments']} Segment: {request['Segment']}"
        )
    return replace(key_range, resume=(position, row))


def _outside_range_error(source: RowSource, condition: KeyCondition, key_range: KeyRange, start: Item) -> EngineError:
    """The error for a start key outside the key range; DynamoDB reports the range key before the partition key."""
    hashes = {attribute.name: condition.parts[attribute.name][1][0] for attribute in source.keys.hash}
    if len(condition.parts) == len(hashes):
        return validation("The provided starting key is outside query boundaries based on provided conditions")
    if not key_range.contains(start_position(source, {**start, **hashes})[0]):
        return validation("The provided starting key does not match the range key predicate")
    return validation("The query can return at most one row and cannot be restarted")


def _may_have_more_rows(source: RowSource) -> bool:
    """Whether a partition can have more than one row, which a table without a range key cannot."""
    return source.index is not None or bool(source.keys.range)


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


def _check_filter(source: RowSource, condition: CompiledCondition | None, member: str) -> None:
    if condition is None:
        return
    for name in source.keys.names:
        if name in condition.attributes:
            raise validation(f"{member} can only contain non-primary key attributes: Primary key attribute: {name}")


def read_page(context: Context, source: RowSource, key_range: KeyRange, request: dict[str, Any], prepared: Prepared) -> RowPage:
    """Read rows until the limit, one megabyte or the end of the range."""
    whole = _needs_base(source, request, prepared)
    sql, bindings = _select(source, key_range, whole)
    limit = request.get("Limit") or -1
    page = RowPage()
    with context.database.reading() as connection:
        try:
            rows: Iterable[tuple[Any, ...]] = connection.execute(sql, bindings)
            if whole:
                rows = _with_base_items(page, rows, bool(request.get("ConsistentRead")))
            range_ = source.layout.table.keys.range
            meter = PageMeter(range_[0].name if range_ else None)
            _take(page, rows, limit, meter, prepared.filter, prepared.values)
        except apsw.Error as error:
            if is_damage(error):
                raise _damage_error(connection, source, key_range, page.scanned) from error
            raise
    return page


def _needs_base(source: RowSource, request: dict[str, Any], prepared: Prepared) -> bool:
    """Whether an LSI lacks attributes that must be fetched from the table."""
    index = source.index
    if index is None or index.projected is None or index.index.kind == "GSI":
        return False
    if request.get("Select") == "ALL_ATTRIBUTES":
        return True
    names: set[str] = set()
    if prepared.projection is not None:
        names |= prepared.projection.attributes
    if prepared.filter is not None:
        names |= prepared.filter.attributes
    return not names <= index.projected


def _select(source: RowSource, key_range: KeyRange, whole: bool) -> tuple[str, list[Any]]:
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


def _with_base_items(page: RowPage, rows: Iterable[tuple[Any, ...]], consistent: bool) -> Iterator[tuple[Any, ...]]:
    """Rows of an LSI with the items of the table, each of which DynamoDB charges separately."""
    for row in rows:
        page.entry_bytes += row[4]
        page.fetched_units += capacity.read_units(row[1], consistent)
        yield row


def _take(
    page: RowPage, rows: Iterable[tuple[Any, ...]], limit: int, meter: PageMeter, condition: CompiledCondition | None, values: Values
) -> None:
    """Read rows until the page is full, and keep those that match the filter, if there is one."""
    test = None if condition is None else condition.test
    stored, items = page.stored, page.items
    scanned = total = 0
    try:
        for row in rows:
            size = row[1]
            total += size
            scanned += 1
            if test is None:
                stored.append(row[2])
            elif test(item := orjson.loads(row[2]), values):
                items.append(item)
                stored.append(row[2])
            if scanned == limit or ((size >= LARGE_ITEM_BYTES or total >= NEVER_FULL_BYTES) and meter.full(size, row[2], total)):
                page.last = row[2]
                break
    finally:
        page.scanned, page.size = scanned, total


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


def respond(
    context: Context, source: RowSource, page: RowPage, request: dict[str, Any], prepared: Prepared, scanned: KeyRange | None = None
) -> dict[str, Any]:
    """The response of a Query or Scan; `scanned` is the key range of a Scan."""
    response: dict[str, Any] = {"Count": len(page.stored), "ScannedCount": page.scanned}
    if request.get("Select") != "COUNT":
        if prepared.projection is None:
            response["Items"] = context.response_items(page.stored)
        else:
            items = page.items if prepared.filter is not None else [parse_item(stored) for stored in page.stored]
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


_INVALID = "The provided starting key is invalid"
#: Value errors that DynamoDB reports without the prefix above.
_UNPREFIXED = ("contains duplicates", "number set", "numeric value", "significant digits", "number with magnitude")


def start_values(request: Mapping[str, Any], operation: str) -> Item | None:
    """The ExclusiveStartKey of a request in canonical form, if it has one."""
    start = request.get("ExclusiveStartKey")
    if start is None:
        return None
    try:
        return canonicalize_item(start)[0]
    except EngineError as error:
        if error.code != "ValidationException":
            raise
        check_legacy(request, operation)
        if any(words in (error.message or "") for words in _UNPREFIXED):
            raise
        raise validation(f"{_INVALID}: {error.message}") from None


def check_start(source: RowSource, item: Item) -> None:
    """Refuse a start key whose attributes or types do not match the table or index."""
    check_start_length(source, item)
    for attribute in source.keys.attributes:
        check_start_attribute(attribute, item)


def check_start_length(source: RowSource, item: Item) -> None:
    """Refuse a start key with a wrong number of attributes."""
    if len(item) != len(source.start_names):
        raise validation(_INVALID)


def check_start_attribute(attribute: KeyAttribute, item: Item) -> None:
    """Refuse a start key without this attribute, or with another type."""
    value = item.get(attribute.name)
    if value is None:
        raise validation(_INVALID)
    if attribute.type not in value:
        raise validation("The provided key element does not match the schema")


def start_position(source: RowSource, item: Item) -> tuple[bytes, bytes]:
    """The position of a start key in the table or index, and its row key in the table. For an index, call `check_start` first."""
    try:
        row = source.layout.request_key(
            {name: item[name] for name in item if source.index is None or name in source.layout.table.keys.names}
        )
    except EngineError as error:
        raise validation(f"{_INVALID}: {error.message}") from None
    position = source.index.key(item) if source.index else row
    assert position is not None, "the types of an index key are checked"
    return position, row
