"""`JSONCamelCase`: JSON with keys in camel case for clients and in snake case in the store.

Only keys in camel or snake case are converted: `maxTokens` is stored as `max_tokens` and shown as `maxTokens`. Keys with other
characters (`X-Api-Key`, `Content-Type`, `$ref`, `URL`) and all values are unchanged. Where keys are data
rather than names, as in the headers of a server, `Verbatim` keeps all of them.
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

#: The maximum depth of JSON: more than documents need, less than the store's limit.
MAX_DEPTH = 30
_CAMEL = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+")
_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z][a-z0-9]*)+")

#: Any JSON value, as an argument or a field of the schema.
JSON = NewType("JSON", object)


class Verbatim(dict[str, Any]):
    """An object whose keys are data and are not converted."""


def stored_name(key: str) -> str:
    """The stored form of a key: `max_tokens` for `maxTokens`; keys that are not in camel case are unchanged."""
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", key) if _CAMEL.fullmatch(key) else key


def shown_name(key: str) -> str:
    """The client's form of a key: `maxTokens` for `max_tokens`; keys that are not in snake case are unchanged."""
    return re.sub(r"_([a-z])", lambda letter: letter[1].upper(), key) if _SNAKE.fullmatch(key) else key


def to_stored(value: Any) -> Any:
    """A client's value with keys in stored form. Raises `GraphQLError` if two keys become equal."""
    if isinstance(value, dict):
        found = {stored_name(key): to_stored(inner) for key, inner in value.items()}
        if len(found) != len(value):
            twice = sorted(key for key in value if stored_name(key) != key and stored_name(key) in value)
            raise GraphQLError(f"The keys {twice[0]!r} and {stored_name(twice[0])!r} of one object mean the same. Send one of them.")
        return found
    return [to_stored(inner) for inner in value] if isinstance(value, list | tuple) else value


def renamed_schema(schema: Any, name: Callable[[str], str]) -> Any:
    """A JSON schema with renamed properties; its keywords, such as `additionalProperties`, are unchanged."""
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
    """A stored value as plain JSON with keys in the client's form."""
    if isinstance(value, Verbatim):
        return {key: _plain(inner, str) for key, inner in value.items()}
    return _plain(value, shown_name)


def _plain(value: Any, name: Any) -> Any:
    """A value as JSON; `name` converts the keys."""
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
    """A client's value, if it can be stored: not too deep, and without NaN and infinities."""
    if depth > MAX_DEPTH:
        raise GraphQLError(f"The JSON value is more than {MAX_DEPTH} levels deep. Send a flatter value, or a string.")
    if isinstance(value, float) and not math.isfinite(value):
        raise GraphQLError(f"{value} is not a JSON number. Send null or a string.")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        check_json(one, depth + 1)
    return value


#: Parses and serialises `JSON`. Literals in a query, with variables inside them, are parsed by graphql-core.
JSON_SCALAR = strawberry.scalar(
    name="JSONCamelCase",
    description=(
        "Any JSON value, inline or in a variable. Keys in camel case are stored in snake case and shown in camel case; "
        "other keys, such as header names, and all values are unchanged."
    ),
    serialize=to_shown,
    parse_value=check_json,
)
