"""Inputs for values: the kind of field for a type, and conversion between text and value."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin
from uuid import UUID

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from gateleg.model import KeyPart
from gateleg.model.types import is_special
from gateleg.ops.values import type_name

if TYPE_CHECKING:
    from gateleg.model.types import Declared

Kind = Literal["text", "number", "choice", "flag", "time", "date", "id", "key", "binary", "json"]

#: Kinds in plain words; others are described by their type.
_WORDS: dict[Kind, str] = {
    "text": "text",
    "number": "number",
    "flag": "true or false",
    "time": "time in UTC",
    "date": "date",
    "id": "id",
    "key": "key of an object",
    "binary": "binary",
    "choice": "choice",
}
_HINTS: dict[Kind, str] = {
    "time": "2026-01-31T12:00:00Z",
    "date": "2026-01-31",
    "id": "00000000-0000-4000-8000-000000000000",
    "key": "folder/name",
    "binary": "base64",
    "json": "JSON",
}


class BadText(ValueError):
    """The text is not a valid value of its field; the message says what was expected."""


@dataclass(frozen=True)
class Input:
    """One field of a form."""

    name: str
    kind: Kind
    #: the type in plain words, or as declared
    type: str
    required: bool = True
    #: the values to choose from, as they are stored
    options: tuple[str, ...] = ()
    #: an example
    hint: str = ""
    note: str = ""


def input_for(name: str, annotation: Any, declared: Declared, *, required: bool = True, note: str = "") -> Input:
    """The field for a value of a declared type."""
    kind = _kind(declared)
    options = _options(declared.type) if kind == "choice" else ("true", "false") if kind == "flag" else ()
    hint = _HINTS.get(kind, "")
    if isinstance(declared.type, type) and issubclass(declared.type, KeyPart):
        hint = declared.type.__template__.text
    return Input(name, kind, _WORDS.get(kind) or type_name(annotation).removesuffix(" | None"), required, options, hint, note)


def _kind(declared: Declared) -> Kind:
    kind = declared.type
    if get_origin(kind) is Literal:
        return "choice"
    if not isinstance(kind, type) or get_origin(kind) is not None or is_special(declared.metadata, "json"):
        return "json"
    if is_special(declared.metadata, "s3-key"):
        return "key"
    if issubclass(kind, Enum):
        return "choice"
    for known, name in _KINDS:
        if issubclass(kind, known):
            return name
    return "json"


#: Order matters: a bool is an int, and a datetime is a date.
_KINDS: tuple[tuple[type, Kind], ...] = (
    (bool, "flag"),
    (str, "text"),
    (KeyPart, "text"),
    (int, "number"),
    (float, "number"),
    (Decimal, "number"),
    (datetime, "time"),
    (date, "date"),
    (time, "text"),
    (UUID, "id"),
    (bytes, "binary"),
)


def _options(kind: Any) -> tuple[str, ...]:
    values = get_args(kind) if get_origin(kind) is Literal else [member.value for member in kind]
    return tuple(map(str, values))


def sentence(text: str) -> str:
    """A comment of a declaration as a sentence."""
    return f"{text[:1].upper()}{text[1:]}{'' if text[-1:] in '.!?:' else '.'}" if text else ""


def text_of(entry: Input, value: Any) -> str:
    """A value as the text of its field; empty for None."""
    if value is None:
        return ""
    if entry.kind == "json":
        return json.dumps(to_jsonable_python(value, fallback=str), indent=2, ensure_ascii=False)
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value)


def value_of(entry: Input, text: str, declared: Declared) -> Any:
    """The value of a field's text, for validation. Times without a zone are UTC. Raises `BadText`."""
    if entry.kind == "json":
        return _json(text)
    if entry.kind == "binary":
        try:
            return b64decode(text.strip(), validate=True)
        except ValueError:
            raise BadText("Not valid base64.") from None
    if entry.kind == "text":
        return text
    stripped = text.strip()
    if entry.kind == "time":
        return _moment(stripped)
    if entry.kind == "choice":
        return _chosen(declared.type, stripped)
    return stripped


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_float=Decimal)
    except json.JSONDecodeError as error:
        raise BadText(f"Not valid JSON: {error.msg} (line {error.lineno}, column {error.colno}).") from None


def _moment(text: str) -> datetime:
    try:
        moment = TypeAdapter(datetime).validate_python(text)
    except ValueError:
        raise BadText("Not a valid time. Use the format 2026-01-31T12:00:00Z.") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _chosen(kind: Any, text: str) -> Any:
    """The declared value with this text: choices may be numbers."""
    values = get_args(kind) if get_origin(kind) is Literal else [member.value for member in kind]
    found = next((value for value in values if str(value) == text), None)
    if found is None:
        raise BadText(f"Choose one of {', '.join(map(str, values))}.")
    return found
