"""The checks of DynamoDB's protocol layer: quick ones, and the full ones with their exact errors.

`compiled` makes a test that accepts nearly every valid request in a microsecond, and leaves all others to the full checks: `read`
deserializes JSON into the API's types (what DynamoDB refuses, and what it converts), and `enforce` finds all constraint errors of a request
with correct types, which DynamoDB reports together. Their messages spell values, paths and types as Java does.
"""

import math
import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import orjson

from gateleg.engine.errors import serialization, validation
from gateleg.engine.protocol.shapes import NAME_PATTERN, Boolean, Kind, ListOf, MapOf, Number, Structure, TableName, Text
from gateleg.engine.values import check_types, parse_boolean, wrong_json_type

#: DynamoDB reports at most this many errors.
_REPORTED = 10

_KEY_RULES = (
    "Member must have length less than or equal to 255, Member must have length greater than or equal to 3, "
    f"Member must satisfy regular expression pattern: {NAME_PATTERN}"
)


def enforce(operation: Structure, request: dict[str, Any]) -> None:
    """Raise DynamoDB's `ValidationException` if the request violates a constraint."""
    _check_name(operation, request)
    _check_operator(operation, request)
    faults = ConstraintErrors(lone_names=operation.name != "UpdateItem" or request.get("Key") is not None)
    faults.members(operation, request, "", "")
    faults.report()
    if "RequestItems" in operation.members and not request["RequestItems"]:
        raise validation(f"The requestItems parameter is required for {operation.name}")


def is_table_name_or_arn(name: str) -> bool:
    """Whether a string can be a table name or an ARN."""
    return name.startswith("arn:") or (3 <= len(name) <= 255 and _compiled(NAME_PATTERN).fullmatch(name) is not None)


def _check_name(operation: Structure, request: dict[str, Any]) -> None:
    """Check the table name, which some operations report before anything else."""
    kind = operation.members.get("TableName")
    if not isinstance(kind, TableName) or kind.wording == "member" or "TableName" not in operation.required:
        return
    name = request.get("TableName")
    if name is None:
        raise validation("The parameter 'TableName' is required but was not present in the request")
    if kind.wording == "named" and not name.startswith("arn:") and not 3 <= len(name) <= 255:
        raise validation("TableName must be at least 3 characters long and at most 255 characters long")


def _check_operator(operation: Structure, request: dict[str, Any]) -> None:
    """Check Query's ConditionalOperator, which is reported before anything else, with its own message."""
    operator = request.get("ConditionalOperator")
    if operation.name == "Query" and operator not in (None, "AND", "OR") and len(request.get("QueryFilter") or ()) > 1:
        raise validation("Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]")


class ConstraintErrors:
    """The constraint errors found so far, in DynamoDB's wording.

    Every path is given in two forms: the long one (`keySchema.1.member.keyType`) and the newer, terse one. An empty table name is reported
    alone if `lone_names` is set.
    """

    def __init__(self, lone_names: bool = True) -> None:
        self._errors: list[str] = []
        self._lone_names = lone_names

    def report(self) -> None:
        """Raise an error for everything found, if there is anything."""
        errors = self._errors[:_REPORTED]
        if errors:
            raise validation(f"{len(errors)} validation error{'s' if len(errors) > 1 else ''} detected: {'; '.join(errors)}")

    def members(self, kind: Structure, value: dict[str, Any], path: str, place: str) -> None:
        """Check each member of a structure."""
        for name, member in kind.members.items():
            inner = value.get(name)
            if inner is not None:
                self.check(member, inner, f"{path}{lower_first(name)}", f"{place}{name}")
            elif name in kind.required:
                self._missing(f"{path}{lower_first(name)}")

    def check(self, kind: Kind, value: Any, path: str, place: str) -> None:
        """Check one present value."""
        match kind:
            case Structure():
                self.members(kind, value, f"{path}.", f"{place}.")
            case ListOf():
                self._list(kind, value, path, place)
            case MapOf():
                self._map(kind, value, path, place)
            case Text():
                self._text(kind, value, path)
            case TableName():
                self._table_name(value, path)
            case Number():
                self._number(kind, value, path, place)
            case _:
                pass

    def _add(self, path: str, value: str, rule: str) -> None:
        self._errors.append(f"Value '{value}' at '{path}' failed to satisfy constraint: {rule}")

    def _missing(self, path: str) -> None:
        self._errors.append(f"Value null at '{path}' failed to satisfy constraint: Member must not be null")

    def _terse(self, place: str, rule: str) -> None:
        self._errors.append(f"Value at '{place}' failed to satisfy constraint: {rule}")

    def _text(self, kind: Text, value: str, path: str) -> None:
        if kind.pattern is not None and not _compiled(kind.pattern).fullmatch(value):
            self._add(path, value, f"Member must satisfy regular expression pattern: {kind.pattern}")
        if kind.min is not None and len(value) < kind.min:
            self._add(path, value, f"Member must have length greater than or equal to {kind.min}")
        if kind.max is not None and len(value) > kind.max:
            self._add(path, value, f"Member must have length less than or equal to {kind.max}")
        if kind.enum and value not in kind.enum:
            self._add(path, value, f"Member must satisfy enum value set: [{', '.join(kind.enum)}]")

    def _table_name(self, value: str, path: str) -> None:
        if not value:
            if self._lone_names:
                self._errors = []
            self._add(path, value, "Member must have length greater than or equal to 1")
            if self._lone_names:
                self.report()
            return
        if value.startswith("arn:"):
            self._text(Text(max=1024), value, path)
        else:
            self._text(Text(3, 255, NAME_PATTERN), value, path)

    def _number(self, kind: Number, value: float, path: str, place: str) -> None:
        if kind.min is not None and value < kind.min:
            rule = f"Member must have value greater than or equal to {kind.min}"
            if kind.terse:
                self._terse(place, rule)
            else:
                self._add(path, str(value), rule)
        if kind.max is not None and value > kind.max:
            self._add(path, str(value), f"Member must have value less than or equal to {kind.max}")

    def _list(self, kind: ListOf, value: list[Any], path: str, place: str) -> None:
        rules = []
        if kind.min is not None and len(value) < kind.min:
            rules.append(f"Member must have length greater than or equal to {kind.min}")
        if kind.max is not None and len(value) > kind.max:
            rules.append(f"Member must have length less than or equal to {kind.max}")
        for rule in rules:
            if kind.terse:
                self._terse(place, rule)
            else:
                self._add(path, java_string(kind, value), rule)
        for position, item in enumerate(value, 1):
            self._element(kind.item, item, f"{path}.{position}.member", f"{place}.{position}.member")

    def _map(self, kind: MapOf, value: dict[str, Any], path: str, place: str) -> None:
        # BatchWriteItem, whose map has size limits, reports names only if there is nothing else to report.
        if kind.names and not (kind.sizes and self._errors) and not all(is_table_name_or_arn(key) for key in value):
            self._add(path, java_string(kind, value), f"Map keys must satisfy constraint: [{_KEY_RULES}]")
        if kind.sizes is not None:
            low, high = kind.sizes
            if not all(low <= len(item or ()) <= high for item in value.values()):
                rules = f"Member must have length less than or equal to {high}, Member must have length greater than or equal to {low}"
                self._add(path, java_string(kind, value), f"Map value must satisfy constraint: [{rules}]")
        if kind.walked:
            for key, item in value.items():
                self._element(kind.value, item, f"{path}.{key}.member", f"{place}.{key}.member")

    def _element(self, kind: Kind, item: Any, path: str, place: str) -> None:
        if item is None:
            self._missing(path)
        else:
            self.check(kind, item, path, place)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


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
            return dict, _quick_structure(kind)
        case ListOf():
            return list, _quick_list(kind)
        case MapOf():
            return dict, _quick_map(kind)
        case Boolean():
            return bool, None
        case Number():
            return int, _number(kind)
        case TableName():
            return str, _named_properly
        case Text():
            return str, _text(kind)


def _quick_structure(kind: Structure) -> Test:
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


def _quick_list(kind: ListOf) -> Test:
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


def _quick_map(kind: MapOf) -> Test:
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


_NOT_EXPECTED = "Start of structure or map found where not expected"

#: Java's error for a scalar in place of a list or map of a generic type.
_CAST = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class "
    "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base of loader 'bootstrap')"
)


def read(kind: Kind, value: Any, element: bool = False) -> Any:
    """Convert a value to a member of this kind, or raise a `SerializationException`.

    Containers are converted in place. `element` says that the value stands in a list or a map rather than in a structure,
    which DynamoDB words differently.
    """
    if value is None:
        return None
    match kind:
        case Structure():
            return _read_structure(kind, value, element)
        case ListOf():
            return _read_list(kind, value, element)
        case MapOf():
            return _read_map(kind, value, element)
        case _:
            return _scalar(kind, value)


def _read_structure(kind: Structure, value: Any, element: bool) -> Any:
    if isinstance(value, list):
        raise serialization(f"Unrecognized collection type class {java_class(kind)}")
    if not isinstance(value, dict):
        raise serialization("Unexpected value type in payload" if element else "Unexpected field type")
    if kind.name == "AttributeValue":
        # Other errors are found where the value is used.
        check_types(value)
    for name, member in value.items():
        if (expected := kind.members.get(name)) is not None:
            value[name] = read(expected, member)
    return value


def _read_list(kind: ListOf, value: Any, element: bool) -> Any:
    if isinstance(value, dict):
        raise serialization(_NOT_EXPECTED)
    if not isinstance(value, list):
        raise serialization(_CAST if element else "Unexpected field type")
    for position, item in enumerate(value):
        value[position] = read(kind.item, item, element=True)
    return value


def _read_map(kind: MapOf, value: Any, element: bool) -> Any:
    if isinstance(value, list):
        raise serialization(f"Unrecognized collection type {java_class(kind)}")
    if not isinstance(value, dict):
        raise serialization(_CAST if element else "Unexpected field type")
    for key, item in value.items():
        value[key] = read(kind.value, item, element=True)
    return value


def _scalar(kind: Kind, value: Any) -> Any:
    if isinstance(value, list):
        raise serialization(f"Unrecognized collection type class {java_class(kind)}")
    if isinstance(value, dict):
        raise serialization(_NOT_EXPECTED)
    if isinstance(kind, Boolean):
        return parse_boolean(value)
    if isinstance(kind, Number):
        if isinstance(value, bool | str) or not math.isfinite(value):
            raise serialization(wrong_json_type(value, kind.java))
        return math.floor(value) if kind.java in ("Integer", "Long") else value
    if isinstance(value, str):
        return value
    raise serialization(wrong_json_type(value, "String"))


_PACKAGE = "com.amazonaws.dynamodb.v20120810."

#: The members of an attribute value in printing order.
_VALUE_MEMBERS = ("S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL")


def lower_first(name: str) -> str:
    """A member's name as in paths: `TableName` becomes `tableName`."""
    return name[:1].lower() + name[1:]


def java_class(kind: Kind) -> str:
    """The Java type of a member of this kind."""
    match kind:
        case Structure(name=name):
            return _PACKAGE + name
        case ListOf(item=item):
            return f"java.util.List<{java_class(item)}>"
        case MapOf(value=value):
            return f"java.util.Map<java.lang.String, {java_class(value)}>"
        case Number(java=java):
            return f"java.lang.{java}"
        case Boolean():
            return "java.lang.Boolean"
        case _:
            return "java.lang.String"


def java_string(kind: Kind, value: Any) -> str:
    """A value as Java prints it: `[a, b]`, `{x=1}`, `KeySchemaElement(attributeName=a, keyType=HASH)`."""
    if value is None:
        return "null"
    if isinstance(kind, Structure) and isinstance(value, dict):
        if kind.name == "AttributeValue":
            return _attribute_value_string(value)
        members = (f"{lower_first(name)}={java_string(member, value.get(name))}" for name, member in kind.members.items())
        return f"{kind.name}({', '.join(members)})"
    if isinstance(kind, ListOf) and isinstance(value, list):
        return f"[{', '.join(java_string(kind.item, item) for item in value)}]"
    if isinstance(kind, MapOf) and isinstance(value, dict):
        if kind.json:
            return orjson.dumps(value).decode()
        return f"{{{', '.join(f'{key}={java_string(kind.value, item)}' for key, item in value.items())}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _attribute_value_string(value: dict[str, Any]) -> str:
    return f"AttributeValue({', '.join(f'{lower_first(name)}={_member_string(value.get(name))}' for name in _VALUE_MEMBERS)})"


def _member_string(member: Any) -> str:
    """A member of an attribute value; nested values are abbreviated."""
    if isinstance(member, list):
        return f"[{', '.join('...' if isinstance(item, dict | list) else str(item) for item in member)}]"
    if isinstance(member, dict):
        return f"{{{', '.join(f'{key}=...' for key in member)}}}"
    if member is None:
        return "null"
    if isinstance(member, bool):
        return "true" if member else "false"
    return str(member)
