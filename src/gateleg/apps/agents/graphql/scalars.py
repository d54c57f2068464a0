"""`JSONCamelCase`: JSON whose names are in camel case for clients and in snake case where they are stored.

Only keys that are names of that kind change: `maxTokens` is stored as `max_tokens` and shown as `maxTokens`. Keys with anything else in
them (`X-Api-Key`, `Content-Type`, `$ref`, `URL`) stay as they are, and so do values: numbers come back as numbers. Where keys are data
and not names, as in the headers of a server, `Verbatim` keeps all of them.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, NewType
from uuid import UUID

import strawberry
from graphql import GraphQLError

if TYPE_CHECKING:
    from collections.abc import Callable

#: How deep JSON may be: deeper than documents are, and less than what the store keeps.
MAX_DEPTH = 30
_CAMEL = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+")
_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z][a-z0-9]*)+")

#: Any JSON value, as an argument or a field of the schema.
JSON = NewType("JSON", object)


class Verbatim(dict[str, Any]):
    """An object whose keys are data, to be shown as they are stored."""


def stored_name(key: str) -> str:
    """A key as it is stored: `maxTokens` as `max_tokens`; a key that is not in camel case stays."""
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", key) if _CAMEL.fullmatch(key) else key


def shown_name(key: str) -> str:
    """A key as clients see it: `max_tokens` as `maxTokens`; a key that is not in snake case stays."""
    return re.sub(r"_([a-z])", lambda letter: letter[1].upper(), key) if _SNAKE.fullmatch(key) else key


def to_stored(value: Any) -> Any:
    """What a client has sent, with the names of all keys as they are stored. Raises `GraphQLError` where two keys become one."""
    if isinstance(value, dict):
        found = {stored_name(key): to_stored(inner) for key, inner in value.items()}
        if len(found) != len(value):
            twice = sorted(key for key in value if stored_name(key) != key and stored_name(key) in value)
            raise GraphQLError(f"The keys {twice[0]!r} and {stored_name(twice[0])!r} of one object mean the same. Send one of them.")
        return found
    return [to_stored(inner) for inner in value] if isinstance(value, list | tuple) else value


def renamed_schema(schema: Any, name: Callable[[str], str]) -> Any:
    """A JSON schema whose properties have other names; its own words, such as `additionalProperties`, stay."""
    if isinstance(schema, list):
        return [renamed_schema(inner, name) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: renamed_schema(inner, name) for key, inner in schema.items()}
    if isinstance(found.get("properties"), dict):
        found["properties"] = {name(key): inner for key, inner in found["properties"].items()}
    if isinstance(found.get("required"), list):
        found["required"] = [name(key) if isinstance(key, str) else key for key in found["required"]]
    return found


def to_shown(value: Any) -> Any:
    """What is stored, as plain JSON with the names of keys as clients see them."""
    if isinstance(value, Verbatim):
        return {key: _plain(inner, str) for key, inner in value.items()}
    return _plain(value, shown_name)


def _plain(value: Any, name: Any) -> Any:
    """A value as JSON; `name` makes the keys."""
    if isinstance(value, dict):
        return {name(str(key)): _plain(inner, name) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner, name) for inner in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, UUID) else value


def check_json(value: Any, depth: int = 0) -> Any:
    """A value that a client has sent, if it can be stored: not too deep, and without numbers that JSON does not have."""
    if depth > MAX_DEPTH:
        raise GraphQLError(f"JSON may be {MAX_DEPTH} levels deep. Send something flatter, or a text.")
    if isinstance(value, float) and not math.isfinite(value):
        raise GraphQLError(f"{value} is not a number of JSON. Send null or a text.")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        check_json(one, depth + 1)
    return value


#: How `JSON` is read and written. Literals in a query are read by graphql-core, variables inside of them included.
JSON_SCALAR = strawberry.scalar(
    name="JSONCamelCase",
    description=(
        "Any JSON value, inline or in a variable. Keys in camel case are stored in snake case and shown in camel case; "
        "other keys, such as names of headers, and all values stay as they are."
    ),
    serialize=to_shown,
    parse_value=check_json,
)
