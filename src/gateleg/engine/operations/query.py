"""Query and Scan."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gateleg.engine import keys
from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, invalid_parameter, validation
from gateleg.engine.expressions import CompiledCondition, KeyCondition, prepare
from gateleg.engine.operations import paging
from gateleg.engine.operations.paging import KeyRange, RowSource
from gateleg.engine.operations.start_keys import check_start, check_start_attribute, check_start_length, start_position, start_values
from gateleg.engine.schema import KeyAttribute, KeySchema
from gateleg.engine.validation_messages import ENVELOPE
from gateleg.engine.values import Item

_Parts = Mapping[str, tuple[str, list[dict[str, Any]]]]


def query(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Read a page of a partition in order of its range key."""
    start = start_values(request, "Query")
    prepared = prepare(request, "Query")
    condition = prepared.key_condition
    assert condition is not None
    legacy = request.get("KeyConditions") is not None
    if legacy and request.get("IndexName") is None:
        _check_count(condition)
    paging.check_select(request, prepared.projection, ENVELOPE)
    source = paging.resolve_source(context, request)
    _check_key(source, condition, start, legacy)
    key_range = _key_range(source, condition, request.get("ScanIndexForward") is not False)
    if start is not None:
        key_range = _resume(source, condition, key_range, start)
    paging.check_nested(source, prepared.projection)
    _check_filter(source, prepared.filter, "QueryFilter" if "QueryFilter" in request else "Filter Expression")
    paging.check_projected(source, request, prepared.projection)
    paging.check_nested(source, prepared.filter)
    page = paging.read_page(context, source, key_range, request, prepared)
    if page.last is not None and not _may_have_more_rows(source):
        page.last = None
    return paging.respond(context, source, page, request, prepared)


def scan(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Read a page of a table or index, or of one of its segments."""
    start = start_values(request, "Scan")
    _check_segments(request)
    prepared = prepare(request, "Scan")
    paging.check_select(request, prepared.projection)
    source = paging.resolve_source(context, request)
    if start is not None and source.index is not None:
        check_start(source, start)
    paging.check_projected(source, request, prepared.projection)
    key_range = KeyRange(*paging.segment_range(request))
    if start is not None:
        key_range = _resume_scan(source, request, key_range, start)
    paging.check_nested(source, prepared.projection)
    paging.check_nested(source, prepared.filter)
    page = paging.read_page(context, source, key_range, request, prepared)
    return paging.respond(context, source, page, request, prepared, scanned=key_range)


def _resume_scan(source: RowSource, request: dict[str, Any], key_range: KeyRange, start: Item) -> KeyRange:
    """Continue after an ExclusiveStartKey, which must lie in the segment."""
    position, row = start_position(source, start)
    if not key_range.contains(position):
        raise validation(
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {request['TotalSegments']} Segment: {request['Segment']}"
        )
    return replace(key_range, resume=(position, row))


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


def _missing_hash_equality(schema: KeySchema, name: str, present: bool) -> EngineError:
    """The error for a hash attribute without an equality condition; multi-attribute keys have their own message."""
    if len(schema.hash) > 1:
        return validation(f"HASH key attributes {name} must have equality conditions specified in the query")
    return validation("Query key condition not supported" if present else f"Query condition missed key schema element: {name}")


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


def _check_filter(source: RowSource, condition: CompiledCondition | None, member: str) -> None:
    if condition is None:
        return
    for name in source.keys.names:
        if name in condition.attributes:
            raise validation(f"{member} can only contain non-primary key attributes: Primary key attribute: {name}")


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "Query": query,
    "Scan": scan,
}
