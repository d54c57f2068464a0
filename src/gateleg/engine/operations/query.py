"""Query and Scan."""

from collections.abc import Mapping
from typing import Any

from gateleg.engine import keys
from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, invalid_parameter, validation
from gateleg.engine.expressions import Condition, KeyCondition, prepare
from gateleg.engine.operations import paging
from gateleg.engine.operations.paging import Source, Span
from gateleg.engine.schema import KeyAttribute, KeySchema
from gateleg.engine.values import Item

_Parts = Mapping[str, tuple[str, list[dict[str, Any]]]]


def query(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Items of one partition, in the order of its range key."""
    if "ExclusiveStartKey" in request and request["ExclusiveStartKey"] is not None:
        paging.check_start_values(request["ExclusiveStartKey"])
    prepared = prepare(request, "Query")
    paging.check_select(request, prepared.projection)
    where = paging.source(context, request)
    assert prepared.key_condition is not None
    forward = request.get("ScanIndexForward") is not False
    span = _span(where, prepared.key_condition, forward)
    given = request.get("ExclusiveStartKey")
    if given:
        span = _resume(where, prepared.key_condition, span, given)
    _check_filter(where, prepared.filter, "QueryFilter" if "QueryFilter" in request else "Filter Expression")
    paging.check_paths(where, request, prepared)
    page = paging.read_page(context, where, span, request, prepared)
    if page.last is not None and not _restartable(where):
        page.last = None
    return paging.answer(context, where, page, request, prepared)


def scan(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Items of a whole table or index, or of one segment of it."""
    given = request.get("ExclusiveStartKey")
    if given:
        paging.check_start_values(given)
    _check_segments(request)
    prepared = prepare(request, "Scan")
    paging.check_select(request, prepared.projection)
    where = paging.source(context, request)
    start, end = paging.segment_span(request)
    resume = None
    if given:
        _, place, row = paging.start_key(where, given)
        if place < start or (end is not None and place >= end):
            raise validation(
                "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
                f"TotalSegments: {request['TotalSegments']} Segment: {request['Segment']}"
            )
        resume = (place, row)
    paging.check_paths(where, request, prepared)
    span = Span(start, end, resume=resume)
    page = paging.read_page(context, where, span, request, prepared)
    return paging.answer(context, where, page, request, prepared, scanned=span)


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


def _span(where: Source, condition: KeyCondition, forward: bool) -> Span:
    """The keys that a key condition selects."""
    schema, parts = where.keys, condition.parts
    if len(parts) > 1 and not schema.range and len(schema.hash) == 1:
        raise validation("Query key condition not supported")
    for attribute in schema.attributes:
        if attribute.name in parts:
            _check_part(attribute, parts[attribute.name])
    for attribute in schema.hash:
        if attribute.name not in parts or parts[attribute.name][0] != "EQ":
            raise _no_hash(schema, attribute.name, attribute.name in parts)
    prefix = keys.partition(schema.hash, [_content(a, parts[a.name]) for a in schema.hash])
    used = len(schema.hash)
    start, end = prefix, keys.after(prefix)
    for attribute in schema.range:
        part = parts.get(attribute.name)
        if part is None:
            break
        used += 1
        start, end = _bounds(prefix, attribute, part)
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


def _bounds(prefix: bytes, attribute: KeyAttribute, part: tuple[str, Any]) -> tuple[bytes, bytes]:
    """The first key, and the first key after the last, that meet a condition on a range attribute."""
    operator, operands = part
    content = operands[0][attribute.type]
    if operator == "BEGINS_WITH":
        stem = prefix + keys.stem(attribute.type, content)
        return stem, keys.after(stem)
    at = prefix + keys.component(attribute.type, content)
    if operator == "EQ":
        return at, keys.after(at)
    if operator == "LT":
        return prefix, at
    if operator == "LE":
        return prefix, keys.after(at)
    if operator == "GT":
        return keys.after(at), keys.after(prefix)
    if operator == "GE":
        return at, keys.after(prefix)
    return at, keys.after(prefix + keys.component(attribute.type, operands[1][attribute.type]))


def _resume(where: Source, condition: KeyCondition, span: Span, given: Item) -> Span:
    """Go on after an ExclusiveStartKey, which must lie in what the condition selects."""
    item, place, row = paging.start_key(where, given)
    if place < span.start or (span.end is not None and place >= span.end):
        hash_ = where.keys.hash
        same = all(item[a.name] == condition.parts[a.name][1][0] for a in hash_)
        if len(condition.parts) == len(hash_):
            raise validation("The provided starting key is outside query boundaries based on provided conditions")
        if same:
            raise validation("The provided starting key does not match the range key predicate")
        raise validation("The query can return at most one row and cannot be restarted")
    if not _restartable(where):
        ((name, value),) = item.items()
        ((tag, content),) = value.items()
        raise validation(f"The provided exclusive start key is invalid: ExclusiveStartKey: {{{name}=AttributeValue: {{{tag}:{content}}}}}")
    return Span(span.start, span.end, span.forward, (place, row))


def _restartable(where: Source) -> bool:
    """Whether a partition may have more than one row: not so in a table without a range key."""
    return where.index is not None or bool(where.keys.range)


def _check_filter(where: Source, condition: Condition | None, member: str) -> None:
    if condition is None:
        return
    for name in where.keys.names:
        if name in condition.attributes:
            raise validation(f"{member} can only contain non-primary key attributes: Primary key attribute: {name}")
