"""Constraint errors, which DynamoDB's protocol layer reports together for a request with correct types."""

import re
from functools import cache
from typing import Any

from gateleg.engine.errors import validation
from gateleg.engine.protocol.java_format import java_string, lower_first
from gateleg.engine.protocol.kinds import NAME_PATTERN, Kind, ListOf, MapOf, Number, Structure, TableName, Text

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
        self._found: list[str] = []
        self._lone_names = lone_names

    def report(self) -> None:
        """Raise an error for everything found, if there is anything."""
        found = self._found[:_REPORTED]
        if found:
            raise validation(f"{len(found)} validation error{'s' if len(found) > 1 else ''} detected: {'; '.join(found)}")

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
        self._found.append(f"Value '{value}' at '{path}' failed to satisfy constraint: {rule}")

    def _missing(self, path: str) -> None:
        self._found.append(f"Value null at '{path}' failed to satisfy constraint: Member must not be null")

    def _terse(self, place: str, rule: str) -> None:
        self._found.append(f"Value at '{place}' failed to satisfy constraint: {rule}")

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
                self._found = []
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
        if kind.names and not (kind.sizes and self._found) and not all(is_table_name_or_arn(key) for key in value):
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
