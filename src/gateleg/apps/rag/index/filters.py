"""Metadata filters: conditions on the metadata of chunks. Pure.

A filter is JSON. `{"year": 2024}` tests equality; `{"year": {"gte": 2020, "lt": 2025}}` compares; `and`, `or` and `not` combine filters.
Operators may have a dollar sign. A dot in a name reaches into a nested object. A list matches if one of its elements does:
`{"tags": "manual"}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from gateleg.apps.rag.errors import BadFilter

MOST_CONDITIONS = 100
MOST_VALUES = 1_000
DEEPEST = 10
#: The value of a field that a chunk's metadata lacks.
MISSING = object()

_ORDER = ("gt", "gte", "lt", "lte")
_OPERATORS = {"eq", "ne", "in", "nin", "exists", "contains", *_ORDER}
_ALIASES = {"neq": "ne", "ge": "gte", "le": "lte"}
_Scalar = str | int | float | bool | Decimal | None


@dataclass(frozen=True)
class Condition:
    """A comparison of one field with one or more values."""

    field: str
    operator: str
    value: Any


@dataclass(frozen=True)
class Every:
    """True if all parts are true (`and`)."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True)
class Either:
    """True if at least one part is true (`or`)."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True)
class Negated:
    """True if the part is false (`not`)."""

    part: Filter


Filter = Condition | Every | Either | Negated


def parse_filter(raw: Mapping[str, Any] | None) -> Filter | None:
    """Parse a filter from JSON; None for an empty one. Raises `BadFilter`."""
    if not raw:
        return None
    found = _parse(raw, 0)
    if _count(found) > MOST_CONDITIONS:
        raise BadFilter(f"The filter has more than {MOST_CONDITIONS} conditions.")
    return found


def matches(condition: Condition, value: Any) -> bool:
    """Whether the value of a field, or `MISSING`, satisfies a condition."""
    if condition.operator == "exists":
        return bool((value is not MISSING and value is not None) == condition.value)
    if condition.operator in ("ne", "nin"):
        positive = Condition(condition.field, {"ne": "eq", "nin": "in"}[condition.operator], condition.value)
        return not matches(positive, value)
    if value is MISSING:
        return False
    if isinstance(value, (list, tuple)):
        return any(_compare(condition.operator, element, condition.value) for element in value)
    return _compare(condition.operator, value, condition.value)


def field_value(metadata: Mapping[str, Any], field: str) -> Any:
    """The value of a field, which may be nested (`author.name`), or `MISSING`."""
    if field in metadata:
        return metadata[field]
    found: Any = metadata
    for name in field.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return MISSING
        found = found[name]
    return found


def fields_of(found: Filter | None) -> frozenset[str]:
    """The fields that a filter uses."""
    match found:
        case None:
            return frozenset()
        case Condition():
            return frozenset((found.field,))
        case Negated():
            return fields_of(found.part)
        case Every() | Either():
            return frozenset().union(*(fields_of(part) for part in found.parts))


def _parse(raw: Any, depth: int) -> Filter:
    if depth > DEEPEST:
        raise BadFilter(f"The filter is nested more than {DEEPEST} levels deep.")
    if not isinstance(raw, Mapping) or not raw:
        raise BadFilter(f"A filter is an object with fields or and, or, not; got {_shown(raw)}.")
    parts = tuple(_parse_entry(str(name), value, depth) for name, value in raw.items())
    return parts[0] if len(parts) == 1 else Every(parts)


def _parse_entry(name: str, value: Any, depth: int) -> Filter:
    combining = name.removeprefix("$").lower() if name.startswith("$") or name in ("and", "or", "not") else name
    if combining in ("and", "or"):
        if not isinstance(value, Sequence) or isinstance(value, str) or not value:
            raise BadFilter(f"{name!r} takes a list of filters; got {_shown(value)}.")
        parts = tuple(_parse(part, depth + 1) for part in value)
        return Every(parts) if combining == "and" else Either(parts)
    if combining == "not":
        return Negated(_parse(value, depth + 1))
    if name.startswith("$"):
        raise BadFilter(f"{name!r} is not an operator that combines filters.")
    if isinstance(value, Mapping):
        if not value:
            raise BadFilter(f"The field {name!r} has no operator.")
        conditions = tuple(_condition(name, str(operator), operand) for operator, operand in value.items())
        return conditions[0] if len(conditions) == 1 else Every(conditions)
    return _condition(name, "in" if isinstance(value, (list, tuple)) else "eq", value)


def _condition(field: str, written: str, value: Any) -> Filter:
    operator = written.removeprefix("$").lower()
    operator = _ALIASES.get(operator, operator)
    if operator == "not":
        return Negated(_parse({field: value}, DEEPEST))
    if operator not in _OPERATORS:
        raise BadFilter(f"{written!r} is not an operator, in the condition of {field!r}.")
    if operator in ("in", "nin"):
        if not isinstance(value, (list, tuple)):
            raise BadFilter(f"{written!r} of {field!r} takes a list; got {_shown(value)}.")
        if len(value) > MOST_VALUES:
            raise BadFilter(f"{written!r} of {field!r} has {len(value)} values; {MOST_VALUES} are allowed.")
        return Condition(field, operator, tuple(_scalar(field, one) for one in value))
    if operator == "exists" and not isinstance(value, bool):
        raise BadFilter(f"{written!r} of {field!r} takes true or false; got {_shown(value)}.")
    if operator == "contains" and not isinstance(value, str):
        raise BadFilter(f"{written!r} of {field!r} takes a text; got {_shown(value)}.")
    if operator in _ORDER and (value is None or isinstance(value, bool)):
        raise BadFilter(f"{written!r} of {field!r} takes a number, a text or a date; got {_shown(value)}.")
    return Condition(field, operator, _scalar(field, value))


def _scalar(field: str, value: Any) -> _Scalar:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if value is None or isinstance(value, (str, bool, int, float, Decimal)):
        return value
    raise BadFilter(f"The field {field!r} is compared with {_shown(value)}, which is neither text, number, boolean, date nor null.")


def _compare(operator: str, value: Any, wanted: Any) -> bool:
    if operator == "eq":
        return _equal(value, wanted)
    if operator == "in":
        return any(_equal(value, one) for one in wanted)
    if operator == "contains":
        return isinstance(value, str) and wanted.casefold() in value.casefold()
    pair = _comparable(value, wanted)
    if pair is None:
        return False
    left, right = pair
    return bool({"gt": left > right, "gte": left >= right, "lt": left < right, "lte": left <= right}[operator])


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if value == wanted:
        return True
    if isinstance(value, str) and isinstance(wanted, str):
        left, right = moment_of(value), moment_of(wanted)
        return left is not None and left == right
    return False


def _comparable(value: Any, wanted: Any) -> tuple[Any, Any] | None:
    """Convert both values to a comparable type: numbers, points in time or strings; None if their types differ."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return None
    if isinstance(value, str) and isinstance(wanted, str):
        left, right = moment_of(value), moment_of(wanted)
        return (left, right) if left is not None and right is not None else (value, wanted)
    if isinstance(value, (int, float, Decimal)) and isinstance(wanted, (int, float, Decimal)):
        return value, wanted
    return None


def moment_of(text: str) -> datetime | None:
    """Parse an ISO 8601 date, in UTC if it has no time zone; None for other text."""
    if len(text) < 10 or not text[:4].isdigit() or text[4] != "-":
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _count(found: Filter) -> int:
    match found:
        case Condition():
            return 1
        case Negated():
            return _count(found.part)
        case Every() | Either():
            return sum(_count(part) for part in found.parts)


def _shown(value: Any) -> str:
    return repr(value)[:60]
