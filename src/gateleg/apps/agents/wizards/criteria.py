"""Criteria: whether a value satisfies a condition. Pure.

A criterion is a plain value (the value equals it), a list (it is one of them), or a map: `{"operator": "greater_than", "value": 5}`, or
bounds, `{"min": 1, "max": 10}`. Text is compared without regard to case. A missing value satisfies only `missing` and the negations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.errors import BadField

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MISSING: tuple[Any, ...] = (None, "", [], {})


def _folded(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip().casefold()
    return [_folded(one) for one in value] if isinstance(value, list) else value


def _same(value: Any, wanted: Any) -> bool:
    value, wanted = _folded(value), _folded(wanted)
    # Python treats True as 1; criteria do not.
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)


def _one_of(value: Any, wanted: Any) -> bool:
    choices = wanted if isinstance(wanted, list) else [wanted]
    given = value if isinstance(value, list) else [value]
    return any(_same(one, choice) for one in given for choice in choices)


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return _folded(wanted) in _folded(value)
    return isinstance(value, list) and any(_same(one, wanted) for one in value)


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def comparing(value: Any, wanted: Any) -> bool:
        numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (value, wanted))
        texts = isinstance(value, str) and isinstance(wanted, str)
        return (numbers or texts) and compare(value, wanted)

    return comparing


_greater, _less = _compared(lambda value, wanted: value > wanted), _compared(lambda value, wanted: value < wanted)
_at_least, _at_most = _compared(lambda value, wanted: value >= wanted), _compared(lambda value, wanted: value <= wanted)

#: Each operator by its names.
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    **dict.fromkeys(("equals", "eq", "=", "=="), _same),
    **dict.fromkeys(("not_equals", "ne", "!="), lambda value, wanted: not _same(value, wanted)),
    "in": _one_of,
    "not_in": lambda value, wanted: not _one_of(value, wanted),
    "contains": _contains,
    **dict.fromkeys(("greater_than", "gt", ">"), _greater),
    **dict.fromkeys(("less_than", "lt", "<"), _less),
    **dict.fromkeys(("at_least", "gte", ">="), _at_least),
    **dict.fromkeys(("at_most", "lte", "<="), _at_most),
    "exists": lambda value, wanted: (value not in _MISSING) is (wanted is not False),
    "missing": lambda value, wanted: (value in _MISSING) is (wanted is not False),
}
_NEGATIONS = frozenset({"not_equals", "ne", "!=", "not_in", "exists", "missing"})


def is_fulfilled(criterion: Any, value: Any) -> bool:
    """Whether a value satisfies a criterion. Raises `BadField` for an unknown operator."""
    if isinstance(criterion, list):
        return value not in _MISSING and _one_of(value, criterion)
    if not isinstance(criterion, dict):
        return value not in _MISSING and _same(value, criterion)
    if "operator" in criterion:
        return _operated(str(criterion["operator"]), value, criterion.get("value"))
    bounds = {"min": _at_least, "max": _at_most}
    unknown = [name for name in criterion if name not in bounds]
    if unknown or not criterion:
        raise BadField("A criterion has an operator and a value, or min and max.", details={"criterion": criterion})
    return all(bounds[name](value, bound) for name, bound in criterion.items())


def _operated(name: str, value: Any, wanted: Any) -> bool:
    operator = OPERATORS.get(name.lower())
    if operator is None:
        raise BadField(f"There is no operator {name!r}.", fix=f"Use one of {', '.join(sorted(OPERATORS))}.")
    if value in _MISSING and name.lower() not in _NEGATIONS:
        return False
    return operator(value, wanted)


def check_criteria(criteria: Mapping[str, Any]) -> None:
    """Refuse invalid criteria."""
    for criterion in criteria.values():
        is_fulfilled(criterion, None)
        is_fulfilled(criterion, 0)
