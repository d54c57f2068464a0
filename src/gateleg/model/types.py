"""What an annotation says: the type inside `Annotated`, `Optional`, `NewType` and aliases, options that pydantic lacks, and special types.

Each special type is an ordinary type for Python and for type checkers (`Version` is an `int`, `TTL` a `datetime`, `S3Key` a `str`), with
metadata that the model recognises: `version: Attr[Version] = field(0)`. The rule of object keys is here too, and `did_you_mean`, which
names the closest match to a misspelt name in a message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NewType, TypeVar, Union, get_args, get_origin
from unicodedata import category

from pydantic import AfterValidator, Field

from gateleg.model.errors import S3KeyRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic.fields import FieldInfo


__all__ = [
    "Declared",
    "check_object_key",
    "check_s3_key",
    "did_you_mean",
    "is_special",
    "read_annotation",
    "traits_of",
    "union_members",
]

T = TypeVar("T")


class Declared(NamedTuple):
    """An unwrapped annotation: the type itself, its `Annotated` metadata, and whether it may be None."""

    type: Any
    metadata: tuple[Any, ...] = ()
    optional: bool = False


def read_annotation(annotation: Any) -> Declared:
    """Unwrap an annotation. A union of more than one type besides None stays a union."""
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        declared = read_annotation(inner)
        return Declared(declared.type, (*declared.metadata, *metadata), declared.optional)
    if isinstance(annotation, NewType):
        return read_annotation(annotation.__supertype__)
    if type(annotation).__name__ == "TypeAliasType":  # from typing since 3.12, from typing_extensions before
        return read_annotation(annotation.__value__)
    members = union_members(annotation)
    if NoneType not in members:
        return Declared(annotation)
    rest = tuple(member for member in members if member is not NoneType)
    if len(rest) == 1:
        declared = read_annotation(rest[0])
        return Declared(declared.type, declared.metadata, optional=True)
    return Declared(Union[rest], optional=True)  # noqa: UP007 - built from a tuple at run time


def union_members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; an empty tuple for any other type."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()


Stamp = Literal["create", "write"]


@dataclass(frozen=True, slots=True)
class Traits:
    """Options of an attribute that pydantic does not know."""

    #: the name on the wire, if it is not the Python name in the entity's case
    name: str | None = None
    #: when the attribute is set to the current time
    stamp: Stamp | None = None
    #: the default is for new instances only; decoding fails for an item without the attribute
    create_only: bool = False
    #: set at creation and never updated
    read_only: bool = False


_PLAIN = Traits()


def traits_of(info: FieldInfo) -> Traits:
    """The traits of a pydantic field; all unset for a field that declares none."""
    return next((entry for entry in reversed(info.metadata) if isinstance(entry, Traits)), _PLAIN)


def empty_is_absent(info: FieldInfo) -> bool:
    """Whether a set attribute defaults to an empty set: then an empty one, which DynamoDB cannot store, is stored as missing."""
    return info.default_factory in (set, frozenset) or (not info.is_required() and info.default in (set(), frozenset()))


#: `scheme:` of any URL (https:, s3:, data:, javascript:). One letter is not a scheme in use.
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
#: The part of a URL before its path.
_HOST = re.compile(r"[a-z][a-z0-9+.-]*:/{1,2}|//", re.IGNORECASE)
#: A query string. Each vendor signs with other parameters, so none is accepted.
_QUERY = re.compile(r"\?[^/?=\s]*=")
_SIGNED = re.compile(r"[?&](x-amz-[a-z-]+|x-goog-[a-z-]+|awsaccesskeyid|signature|expires|sig)=", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class SpecialType:
    """Metadata in an annotation that gives the attribute a special meaning, named by `kind`."""

    kind: str


VERSION = SpecialType("version")
TTL_SECONDS = SpecialType("ttl")
OBJECT_KEY = SpecialType("s3-key")
JSON_TEXT = SpecialType("json")
COMPRESSED = SpecialType("compressed")


def check_s3_key(value: str) -> str:
    """Return the object key; raise `S3KeyRefused` for a URL, a presigned URL or a key that S3 or a file system cannot hold safely.

    This is the rule of attributes. A store of objects also reads what others have stored: see `check_object_key`.
    """
    if not value.strip():
        raise S3KeyRefused("An object key must not be empty or blank.")
    # A blank or an invisible character in front would hide the scheme of a URL.
    if any(edge.isspace() or category(edge) == "Cf" for edge in (value[0], value[-1])):
        raise S3KeyRefused(f"{_shown(value)} begins or ends with a blank or an invisible character.")
    if _SCHEME.match(value):
        raise S3KeyRefused(f"{_shown(value)} is a URL, not an object key.")
    if _QUERY.search(value):
        raise S3KeyRefused(f"{_shown(value)} has a query string, as a presigned URL does. It is not an object key.")
    if "\\" in value:
        raise S3KeyRefused(f"{_shown(value)} contains a backslash. Separate folders with slashes.")
    return check_object_key(value)


def check_object_key(value: str) -> str:
    """Return the key of an object in a store; raise `S3KeyRefused` for a URL, and for a key that a store cannot hold safely."""
    if not value:
        raise S3KeyRefused("An object key must not be empty.")
    if _HOST.match(value):
        raise S3KeyRefused(f"{_shown(value)} is a URL, not an object key.")
    if _SIGNED.search(value):
        raise S3KeyRefused(f"{_shown(value)} is a presigned URL, not an object key.")
    if value.startswith("/"):
        raise S3KeyRefused(f"{_shown(value)} begins with a slash.")
    if any(part in (".", "..") for part in value.split("/")):
        raise S3KeyRefused(f"{_shown(value)} contains a '.' or '..' path segment.")
    if _CONTROL.search(value):
        raise S3KeyRefused(f"{_shown(value)} contains control characters.")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise S3KeyRefused(f"{_shown(value)} contains half of a surrogate pair, which is not valid UTF-8.")
    if len(value.encode()) > 1024:
        raise S3KeyRefused(f"{_shown(value)} is longer than 1,024 bytes.")
    return value


def _shown(value: str) -> str:
    """The value shortened for a message, without its query string: a presigned URL is a secret."""
    plain = value.split("?", 1)[0]
    return repr(plain if len(plain) <= 60 else plain[:57] + "...")


#: A version number for optimistic locking: every write checks it and increments it. 0 means never written.
Version = Annotated[int, Field(ge=0), VERSION]
#: The time after which DynamoDB may delete the item: a datetime in Python, stored as epoch seconds.
TTL = Annotated[datetime, TTL_SECONDS]
#: An object key, never a URL.
S3Key = Annotated[str, AfterValidator(check_s3_key), OBJECT_KEY]
#: A value stored as JSON text in one S attribute.
JsonText = Annotated[T, JSON_TEXT]
#: A value stored as compressed JSON in one B attribute, for large texts and nested data that expressions do not need.
Compressed = Annotated[T, COMPRESSED]


def is_special(metadata: Any, kind: str) -> bool:
    """Whether the metadata of an annotation makes it the special type of this kind."""
    return any(isinstance(entry, SpecialType) and entry.kind == kind for entry in metadata)


def closest(name: object, known: Iterable[object]) -> str | None:
    """The known name that is most similar to `name`, or None if none is similar."""
    # Imported here because only mistakes need it.
    from difflib import get_close_matches

    matches = get_close_matches(str(name), [str(candidate) for candidate in known], 1, 0.6)
    return matches[0] if matches else None


def did_you_mean(name: object, known: Iterable[object], *, otherwise: str = "") -> str:
    """The text `Did you mean 'x'?` if a known name is similar; otherwise `otherwise`, or a list of all known names."""
    names = [str(candidate) for candidate in known]
    match = closest(name, names)
    if match is not None:
        return f"Did you mean {match!r}?"
    return otherwise or f"Use one of {', '.join(names)}."
