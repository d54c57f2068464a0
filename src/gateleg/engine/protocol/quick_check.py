"""Quick checks: tests that accept nearly every valid request in a microsecond, and leave all others to the full checks."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from gateleg.engine.protocol.constraints import is_table_name_or_arn
from gateleg.engine.protocol.kinds import Boolean, Kind, ListOf, MapOf, Number, Structure, TableName, Text

#: Whether a value of the right Python type is certainly valid; None if any value is.
Test = Callable[[Any], bool] | None

#: Longer strings are not cached: no name or ARN is longer.
_SHORT = 2048


def cached_test(test: Callable[[str], bool], number: int) -> Callable[[str], bool]:
    """A test with cached results for short strings; fails for longer ones, which need the full checks."""
    kept = lru_cache(number)(test)
    return lambda text: len(text) <= _SHORT and kept(text)


_named_properly = cached_test(is_table_name_or_arn, 4096)


def compiled(kind: Kind) -> tuple[type, Test]:
    """The Python type of valid values of this kind, and the remaining test."""
    match kind:
        case Structure():
            return dict, _structure(kind)
        case ListOf():
            return list, _list(kind)
        case MapOf():
            return dict, _map(kind)
        case Boolean():
            return bool, None
        case Number():
            return int, _number(kind)
        case TableName():
            return str, _named_properly
        case Text():
            return str, _text(kind)


def _structure(kind: Structure) -> Test:
    rules = {name: compiled(member) for name, member in kind.members.items()}
    required = kind.required
    if not rules:
        return None

    def proper(value: dict[str, Any]) -> bool:
        for name, member in value.items():
            rule = rules.get(name)
            if rule is not None:
                expected, test = rule
                if type(member) is not expected or (test is not None and not test(member)):
                    return False
        return required <= value.keys()

    return proper


def _list(kind: ListOf) -> Test:
    expected, test = compiled(kind.item)
    low, high = kind.min or 0, kind.max

    def proper(value: list[Any]) -> bool:
        if len(value) < low or (high is not None and len(value) > high):
            return False
        for item in value:  # noqa: SIM110 - a generator would cost more than the tests
            if type(item) is not expected or (test is not None and not test(item)):
                return False
        return True

    return proper


def _map(kind: MapOf) -> Test:
    if not kind.walked:
        return None
    value_kind = kind.value
    if kind.sizes is not None and isinstance(value_kind, ListOf):
        value_kind = ListOf(value_kind.item, *kind.sizes)
    expected, test = compiled(value_kind)
    only = {expected}

    def proper(value: dict[str, Any]) -> bool:
        if kind.names and not (value and all(map(_named_properly, value))):
            return False
        if test is None:
            return not value or set(map(type, value.values())) == only
        for item in value.values():  # noqa: SIM110 - as above
            if type(item) is not expected or (test is not None and not test(item)):
                return False
        return True

    return proper


def _number(kind: Number) -> Test:
    low, high = kind.min, kind.max
    if low is None and high is None:
        return None
    return lambda value: (low is None or value >= low) and (high is None or value <= high)


def _text(kind: Text) -> Test:
    low, high = kind.min or 0, kind.max
    if kind.enum:
        return frozenset(kind.enum).__contains__
    if kind.pattern is not None:
        pattern = re.compile(kind.pattern)
        return cached_test(lambda value: low <= len(value) <= (high or len(value)) and pattern.fullmatch(value) is not None, 1024)
    if high is not None:
        return lambda value: low <= len(value) <= high
    return (lambda value: len(value) >= low) if low else None
