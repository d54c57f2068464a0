"""How DynamoDB prints values, paths and Java types in the messages of its protocol layer."""

from typing import Any

import orjson

from gateleg.engine.protocol.kinds import Dictionary, Flag, Kind, Listing, Number, Structure

_PACKAGE = "com.amazonaws.dynamodb.v20120810."

#: The members of an attribute value in the order in which it is printed.
_VALUE_MEMBERS = ("S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL")


def lower_first(name: str) -> str:
    """A member's name as it appears in paths: `TableName` as `tableName`."""
    return name[:1].lower() + name[1:]


def java_class(kind: Kind) -> str:
    """The Java type that a member of this kind is read into."""
    match kind:
        case Structure(name=name):
            return _PACKAGE + name
        case Listing(item=item):
            return f"java.util.List<{java_class(item)}>"
        case Dictionary(value=value):
            return f"java.util.Map<java.lang.String, {java_class(value)}>"
        case Number(java=java):
            return f"java.lang.{java}"
        case Flag():
            return "java.lang.Boolean"
        case _:
            return "java.lang.String"


def printed(kind: Kind, value: Any) -> str:
    """A value as Java prints it: `[a, b]`, `{x=1}`, `KeySchemaElement(attributeName=a, keyType=HASH)`."""
    if value is None:
        return "null"
    if isinstance(kind, Structure) and isinstance(value, dict):
        if kind.name == "AttributeValue":
            return _printed_value(value)
        members = (f"{lower_first(name)}={printed(member, value.get(name))}" for name, member in kind.members.items())
        return f"{kind.name}({', '.join(members)})"
    if isinstance(kind, Listing) and isinstance(value, list):
        return f"[{', '.join(printed(kind.item, item) for item in value)}]"
    if isinstance(kind, Dictionary) and isinstance(value, dict):
        if kind.json:
            return orjson.dumps(value).decode()
        return f"{{{', '.join(f'{key}={printed(kind.value, item)}' for key, item in value.items())}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _printed_value(value: dict[str, Any]) -> str:
    return f"AttributeValue({', '.join(f'{lower_first(name)}={_printed_member(value.get(name))}' for name in _VALUE_MEMBERS)})"


def _printed_member(member: Any) -> str:
    """A member of an attribute value; nesting is cut off, since the message only has to be recognisable."""
    if isinstance(member, list):
        return f"[{', '.join('...' if isinstance(item, dict | list) else str(item) for item in member)}]"
    if isinstance(member, dict):
        return f"{{{', '.join(f'{key}=...' for key in member)}}}"
    if member is None:
        return "null"
    if isinstance(member, bool):
        return "true" if member else "false"
    return str(member)
