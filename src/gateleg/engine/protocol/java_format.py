"""Java's formatting of values, paths and types in the messages of DynamoDB's protocol layer."""

from typing import Any

import orjson

from gateleg.engine.protocol.kinds import Boolean, Kind, ListOf, MapOf, Number, Structure

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
