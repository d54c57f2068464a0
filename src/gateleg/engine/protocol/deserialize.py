"""Deserialization of JSON into the API's types: what DynamoDB refuses, and what it converts."""

import math
from typing import Any

from gateleg.engine.errors import serialization
from gateleg.engine.protocol.java_format import java_class
from gateleg.engine.protocol.kinds import Boolean, Kind, ListOf, MapOf, Number, Structure
from gateleg.engine.values import check_types, parse_boolean, wrong_json_type

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
            return _structure(kind, value, element)
        case ListOf():
            return _list(kind, value, element)
        case MapOf():
            return _map(kind, value, element)
        case _:
            return _scalar(kind, value)


def _structure(kind: Structure, value: Any, element: bool) -> Any:
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


def _list(kind: ListOf, value: Any, element: bool) -> Any:
    if isinstance(value, dict):
        raise serialization(_NOT_EXPECTED)
    if not isinstance(value, list):
        raise serialization(_CAST if element else "Unexpected field type")
    for position, item in enumerate(value):
        value[position] = read(kind.item, item, element=True)
    return value


def _map(kind: MapOf, value: Any, element: bool) -> Any:
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
