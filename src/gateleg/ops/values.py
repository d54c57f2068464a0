"""Validate items before anything is sent, so that errors are found before the first write.

Types and constraints of attributes, in the notation of their declaration.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic_core import PydanticUndefined

from gateleg.model import ModelError
from gateleg.model.types import is_special, read_annotation, union_members
from gateleg.model.wire import decimal_text
from gateleg.store.sizes import ITEM_LIMIT, is_small, item_size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateleg.model import Item, Table

__all__ = ["check_item", "constraints", "default_of", "type_name"]


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)
#: DynamoDB's limit of nested maps and lists around a scalar.
_DEEPEST = 31
_LONGEST_NAME = 64 * 1024 - 1
_LONGEST_HASH = 2048
_LONGEST_RANGE = 1024


def check_item(item: Item, table: Table, kinds: Mapping[str, str]) -> None:
    """Raise `ValueError` for an item that DynamoDB would refuse, including its keys and index keys in this table.

    `kinds` is `table.key_types()`.
    """
    for name, value in item.items():
        if not name or len(name) > _LONGEST_NAME:
            raise ValueError("an attribute name is empty" if not name else f"the attribute name {name[:20]}... is too long")
        _check_value(name, value, 0)
    for name in table.attributes:
        if kinds[name] not in item.get(name, {}):
            raise ValueError(f"the key attribute {name} of type {kinds[name]} is missing")
    for index in (table.primary, *table.indexes):
        for name in index.attributes:
            if name in item:
                _check_key(name, item[name], kinds[name], _LONGEST_HASH if name in index.hash else _LONGEST_RANGE)
    try:
        size = 0 if is_small(item) else item_size(item)
    except UnicodeEncodeError:
        raise ValueError("a string contains half of a surrogate pair, which is not valid UTF-8") from None
    if size > ITEM_LIMIT:
        raise ValueError(f"the item has {size:,} bytes; the maximum is {ITEM_LIMIT:,}")


def _check_key(name: str, value: Mapping[str, Any], kind: str, limit: int) -> None:
    content = value.get(kind)
    if content is None:
        raise ValueError(f"the key attribute {name} must have the type {kind}")
    if not content:
        raise ValueError(f"the key {name} is empty")
    if len(a2b_base64(content) if kind == "B" else content.encode(errors="replace")) > limit:
        raise ValueError(f"the key {name} has more than {limit:,} bytes")


def _check_value(where: str, value: Any, depth: int) -> None:
    tag, content = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else ("", None)
    if tag in ("M", "L") and isinstance(content, dict if tag == "M" else list):
        if depth == _DEEPEST:
            raise ValueError(f"{where} is nested deeper than 32 levels")
        inner = (
            ((f"{where}.{name}", entry) for name, entry in content.items())
            if isinstance(content, dict)
            else ((f"{where}[{position}]", entry) for position, entry in enumerate(content))
        )
        for place, entry in inner:
            _check_value(place, entry, depth + 1)
    elif tag in _SCALARS:
        _SCALARS[tag](where, content)
    elif tag in _MEMBERS and isinstance(content, list):
        _check_set(where, content, _MEMBERS[tag])
    else:
        raise _no_value(where)


def _check_set(where: str, content: list[Any], member: Callable[[str, Any], Any]) -> None:
    if not content:
        raise ValueError(f"{where} is an empty set")
    if len({member(where, entry) for entry in content}) < len(content):
        raise ValueError(f"{where} is a set that contains a value twice")


def _text(where: str, content: Any) -> str:
    if not isinstance(content, str):
        raise _no_value(where)
    return content


def _number(where: str, content: Any) -> Decimal:
    if not _NUMBER.fullmatch(_text(where, content)):
        raise ValueError(f"{where} is not a number: {content!r}")
    number = Decimal(content)
    try:
        decimal_text(number)
    except ModelError as error:
        raise ValueError(f"{where}: {error.message}") from None
    return number


def _binary(where: str, content: Any) -> bytes:
    text = _text(where, content)
    try:
        found = a2b_base64(text, strict_mode=True) if text else b""
    except ValueError:
        found = None
    if found is None or b2a_base64(found, newline=False).decode() != text:
        raise ValueError(f"{where} is not base64")
    return found


def _flag(where: str, content: Any) -> None:
    if not isinstance(content, bool):
        raise _no_value(where)


def _null(where: str, content: Any) -> None:
    if content is not True:
        raise _no_value(where)


def _no_value(where: str) -> ValueError:
    return ValueError(f"{where} is not a value in DynamoDB JSON")


_SCALARS: dict[str, Callable[[str, Any], Any]] = {"S": _text, "N": _number, "B": _binary, "BOOL": _flag, "NULL": _null}
_MEMBERS: dict[str, Callable[[str, Any], Any]] = {"SS": _text, "NS": _number, "BS": _binary}


_MARKS = {"version": "Version", "ttl": "TTL", "s3-key": "S3Key"}
_LIMITS = {"ge": "≥ {}", "gt": "> {}", "le": "≤ {}", "lt": "< {}", "min_length": "length ≥ {}", "max_length": "length ≤ {}"}


def type_name(annotation: Any) -> str:
    """A type in the notation of a declaration: `list[S3Key]`, `UUID`, `str | None`."""
    declared = read_annotation(annotation)
    name = next((name for kind, name in _MARKS.items() if is_special(declared.metadata, kind)), None) or _plain(declared.type)
    return f"{name} | None" if declared.optional else name


def _plain(kind: Any) -> str:
    members = [member for member in union_members(kind) if member is not NoneType]
    if members:
        return " | ".join(type_name(member) for member in members)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " | ".join(repr(value) for value in arguments)
    if origin is not None:
        inner = ", ".join("..." if argument is Ellipsis else type_name(argument) for argument in arguments)
        return f"{getattr(origin, '__name__', origin)}[{inner}]"
    return getattr(kind, "__name__", None) or str(kind)


def constraints(metadata: Any) -> list[str]:
    """The validation constraints, such as `≥ 0` or `length ≤ 100`."""
    found = []
    for entry in metadata:
        found += [text.format(getattr(entry, name)) for name, text in _LIMITS.items() if getattr(entry, name, None) is not None]
        pattern = getattr(entry, "pattern", None)
        if isinstance(pattern, str):
            found.append(f"matches {pattern}")
        found += constraints(getattr(entry, "metadata", ()))
    return found


def default_of(info: Any, stamp: str | None) -> str:
    """The default of an attribute, as text; empty for a required one."""
    if stamp is not None:
        return "the time of creation" if stamp == "create" else "the time of each write"
    if info.default_factory is not None:
        name = getattr(info.default_factory, "__name__", "")
        return {"list": "empty", "dict": "empty", "set": "empty", "uuid4": "a new UUID"}.get(name, "computed")
    if info.default is PydanticUndefined:
        return ""
    if info.default is None:
        return "absent"
    value = info.default.value if isinstance(info.default, Enum) else info.default
    return str(value).lower() if isinstance(value, bool) else str(value)
