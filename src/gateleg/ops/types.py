"""Types and constraints of attributes, in the notation of their declaration."""

from __future__ import annotations

from enum import Enum
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic_core import PydanticUndefined

from gateleg.model.types import is_special, read_annotation, union_members

__all__ = ["constraints", "default_of", "type_name"]

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
