"""Query and Scan."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gateleg.engine import keys
from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, invalid_parameter, validation
from gateleg.engine.expressions import Condition, KeyCondition, prepare
from gateleg.engine.operations import paging
from gateleg.engine.operations.paging import Source, Span
from gateleg.engine.operations.starting import check_start, check_start_attribute, check_start_length, start_place, start_values
from gateleg.engine.schema import KeyAttribute, KeySchema
from gateleg.engine.values import Item
from gateleg.engine.wording import ENVELOPE

_Parts = Mapping[str, tuple[str, list[dict[str, Any]]]]


def query(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Items of one partition, in the order of its range key."""
    start = start_values(request, "Query")
    prepared = prepare(request, "Query")
    condition = prepared.key_condition
    assert condition is not None
    legacy = request.get("KeyConditions") is not None
    if legacy and request.get("IndexName") is None:
        _check_count(condition)
    paging.check_select(request, prepared.projection, ENVELOPE)
    where = paging.source(context, request)
    _check_key(where, condition, start, legacy)
    span = _span(where, condition, request.get("ScanIndexForward") is not False)
    if start is not None:
        span = _resume(where, condition, span, start)
    paging.check_nested(where, prepared.projection)
    _check_filter(where, prepared.filter, "QueryFilter" if "QueryFilter" in request else "Filter Expression")
    paging.check_projected(where, request, prepared.projection)
    paging.check_nested(where, prepared.filter)
    page = paging.read_page(context, where, span, request, prepared)
    if page.last is not None and not _restartable(where):
        page.last = None
    return paging.answer(context, where, page, request, prepared)


def scan(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Items of a whole table or index, or of one segment of it."""
    start = start_values(request, "Scan")
    _check_segments(request)
    prepared = prepare(request, "Scan")
    paging.check_select(request, prepared.projection)
    where = paging.source(context, request)
    if start is not None and where.index is not None:
        check_start(where, start)
    paging.check_projected(where, request, prepared.projection)
    span = Span(*paging.segment_span(request))
    if start is not None:
        span = _resume_scan(where, request, span, start)
    paging.check_nested(where, prepared.projection)
    paging.check_nested(where, prepared.filter)
    page = paging.read_page(context, where, span, request, prepared)
    return paging.answer(context, where, page, request, prepared, scanned=span)


def _resume_scan(where: Source, request: dict[str, Any], span: Span, start: Item) -> Span:
    """Go on after an ExclusiveStartKey, which must lie in the segment that is scanned."""
    place, row = start_place(where, start)
    if not span.holds(place):
        raise validation(
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {request['TotalSegments']} Segment: {request['Segment']}"
        )
    return replace(span, resume=(place, row))


def _check_count(condition: KeyCondition) -> None:
    """Refuse more conditions than a key of two attributes can have."""
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


def _check_key(where: Source, condition: KeyCondition, start: Item | None, legacy: bool) -> None:
    """Refuse conditions, and a starting key, that do not fit the key: attribute by attribute, the starting key first."""
    schema, parts = where.keys, condition.parts
    if start is not None:
        check_start_length(where, start)
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
            raise _no_hash(schema, attribute.name, attribute.name in parts)


def _span(where: Source, condition: KeyCondition, forward: bool) -> Span:
    """The keys that a key condition selects."""
    schema, parts = where.keys, condition.parts
    prefix = keys.partition(schema.hash, [_content(a, parts[a.name]) for a in schema.hash])
    used = len(schema.hash)
    start, end = prefix, keys.after(prefix)
    for attribute in schema.range:
        part = parts.get(attribute.name)
        if part is None:
            break
        used += 1
        start, end = keys.bounds(prefix, attribute.type, part[0], [operand[attribute.type] for operand in part[1]])
        if part[0] != "EQ":
            break
        prefix = start
    if used < len(parts):
        raise _not_in_order(schema, parts)
    return Span(start, end, forward)


def _no_hash(schema: KeySchema, name: str, present: bool) -> EngineError:
    """The refusal of a condition without an equality on a hash attribute; keys of several attributes have words of their own."""
    if len(schema.hash) > 1:
        return validation(f"HASH key attributes {name} must have equality conditions specified in the query")
    return validation("Query key condition not supported" if present else f"Query condition missed key schema element: {name}")


def _not_in_order(schema: KeySchema, parts: _Parts) -> EngineError:
    """The refusal of a condition that leaves out a range attribute, or goes on after one that is not held equal."""
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


def _resume(where: Source, condition: KeyCondition, span: Span, start: Item) -> Span:
    """Go on after an ExclusiveStartKey, which must lie in what the condition selects."""
    place, row = start_place(where, start)
    if not span.holds(place):
        raise _outside(where, condition, span, start)
    if not _restartable(where):
        ((name, value),) = start.items()
        ((tag, content),) = value.items()
        raise validation(f"The provided exclusive start key is invalid: ExclusiveStartKey: {{{name}=AttributeValue: {{{tag}:{content}}}}}")
    return replace(span, resume=(place, row))


def _outside(where: Source, condition: KeyCondition, span: Span, start: Item) -> EngineError:
    """The refusal of a starting key outside the span: for its range first, and only then for its partition."""
    hashes = {attribute.name: condition.parts[attribute.name][1][0] for attribute in where.keys.hash}
    if len(condition.parts) == len(hashes):
        return validation("The provided starting key is outside query boundaries based on provided conditions")
    if not span.holds(start_place(where, {**start, **hashes})[0]):
        return validation("The provided starting key does not match the range key predicate")
    return validation("The query can return at most one row and cannot be restarted")


def _restartable(where: Source) -> bool:
    """Whether a partition may have more than one row: not so in a table without a range key."""
    return where.index is not None or bool(where.keys.range)


def _check_filter(where: Source, condition: Condition | None, member: str) -> None:
    if condition is None:
        return
    for name in where.keys.names:
        if name in condition.attributes:
            raise validation(f"{member} can only contain non-primary key attributes: Primary key attribute: {name}")


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "Query": query,
    "Scan": scan,
}
