"""Unwrap type annotations: `Annotated`, `Optional`, `NewType` and type aliases.

Options of an attribute's declaration that pydantic does not know.

Special attribute types, such as versions and expiry times.

Each is an ordinary type for Python and for type checkers (`Version` is an `int`, `TTL` a `datetime`, `S3Key` a `str`), with a mark that
the model recognises: `version: Attr[Version] = field(0)`.

Make a pydantic schema require aware datetimes and convert them to UTC.

Time formats: how an attribute stores datetimes.

`created: Attr[Annotated[datetime, TimeFormat.PYNAMODB]]` writes the time as PynamoDB does, so that old and new programs can share a table.
Whichever format an attribute writes, it reads all the formats that are known here.

Time-ordered UUIDs (version 7), for sort keys in order of creation.

Suggest the closest match to a misspelt name, for error messages.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from threading import Lock
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, NewType, TypeVar, Union, get_args, get_origin
from unicodedata import category
from uuid import UUID

from pydantic import AfterValidator, Field
from pydantic_core import core_schema

from gateleg.model.errors import DeclarationError, S3KeyRefused
from gateleg.model.wire import epoch_text, iso, to_utc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic.fields import FieldInfo

    from gateleg.model.wire import Value

__all__ = [
    "Declared",
    "check_object_key",
    "check_s3_key",
    "did_you_mean",
    "find_mark",
    "first_time_uuid",
    "read_annotation",
    "time_of",
    "time_uuid",
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
class Mark:
    """Metadata in an annotation that gives the attribute a special meaning, named by `kind`."""

    kind: str


VERSION = Mark("version")
TTL_SECONDS = Mark("ttl")
OBJECT_KEY = Mark("s3-key")
JSON_TEXT = Mark("json")
COMPRESSED = Mark("compressed")


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


def find_mark(metadata: Any, kind: str) -> bool:
    """Whether annotation metadata contains the mark."""
    return any(isinstance(entry, Mark) and entry.kind == kind for entry in metadata)


def times_in_utc(schema: Any) -> Any:
    """Copy the schema so that every datetime must be aware and is converted to UTC; nested models are left to their own schemas."""
    kind = schema.get("type")
    if kind == "datetime":
        aware: Any = {**schema, "tz_constraint": "aware"}
        return core_schema.no_info_after_validator_function(to_utc, aware)
    changed = dict(schema)
    if kind in ("nullable", "default", "list", "set", "frozenset", "function-after", "function-before", "function-wrap"):
        for member in ("schema", "items_schema"):
            if isinstance(changed.get(member), dict) and kind != "model":
                changed[member] = times_in_utc(changed[member])
    elif kind == "dict" and "values_schema" in changed:
        changed["values_schema"] = times_in_utc(changed["values_schema"])
    elif kind in ("union", "tuple"):
        member = "choices" if kind == "union" else "items_schema"
        changed[member] = [times_in_utc(choice) if isinstance(choice, dict) else choice for choice in changed[member]]
    return changed


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
#: Numbers this large are milliseconds: as seconds, they would be beyond the year 5000.
_MILLISECONDS_FROM = 10**11
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_DIRECTIVE = re.compile(r"%(.)")
#: The supported strftime directives: a regular expression for each, and its width.
_DIRECTIVES = {
    "Y": (r"\d{4}", 4),
    "m": (r"\d\d", 2),
    "d": (r"\d\d", 2),
    "H": (r"\d\d", 2),
    "M": (r"\d\d", 2),
    "S": (r"\d\d", 2),
    "f": (r"\d{1,6}", 6),
    "z": (r"(?:Z|[+-]\d\d:?\d\d)", 5),
    "y": (r"\d\d", 2),
    "j": (r"\d{3}", 3),
    "%": ("%", 1),
}
_FALLING = "YmdHMSf"
#: ISO 8601 with a time zone, in the variants that programs write.
ISO_FORMS = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:?\d\d)"


@dataclass(frozen=True)
class TimeFormat:
    """The format in which an attribute's times are stored: `Annotated[datetime, TimeFormat.EPOCH_SECONDS]`.

    Formats without fractions of a second truncate to whole seconds.
    """

    name: str
    #: the type on the wire
    kind: Literal["S", "N"] = "S"
    #: a strftime pattern
    directives: str = ""

    #: 2024-01-01T00:00:00.000000Z, the default
    ISO: ClassVar[TimeFormat]
    #: 2024-01-01T00:00:00Z
    ISO_SECONDS: ClassVar[TimeFormat]
    #: 2024-01-01T00:00:00.000000+0000, as PynamoDB's UTCDateTimeAttribute
    PYNAMODB: ClassVar[TimeFormat]
    #: 1704067200, a number
    EPOCH_SECONDS: ClassVar[TimeFormat]
    #: 1704067200000, a number
    EPOCH_MILLISECONDS: ClassVar[TimeFormat]

    @classmethod
    def pattern(cls, directives: str) -> TimeFormat:
        """A format from a strftime pattern in UTC, such as "%Y-%m-%d %H:%M". Raises `DeclarationError` for an unsupported directive."""
        unknown = [match[1] for match in _DIRECTIVE.finditer(directives) if match[1] not in _DIRECTIVES]
        if unknown or not _DIRECTIVE.search(directives):
            raise DeclarationError(
                f"The time format {directives!r} uses the unsupported directive %{unknown[0]}."
                if unknown
                else f"The time format {directives!r} has no directive.",
                fix=f"Use {', '.join('%' + letter for letter in _DIRECTIVES)}.",
            )
        return cls("pattern", directives=directives)

    @property
    def ordered(self) -> bool:
        """Whether the texts sort chronologically: from the year down, each part of a fixed width. False for numbers."""
        if self.kind == "N":
            return False
        found = "".join(match[1] for match in _DIRECTIVE.finditer(self.directives)).replace("%", "").removesuffix("z")
        return not self.directives or (bool(found) and _FALLING.startswith(found))

    @property
    def width(self) -> int | None:
        """The length of the texts, if it is the same for all."""
        if self.kind == "N":
            return None
        widths = {"iso": 27, "iso-seconds": 20, "pynamodb": 31}
        if self.name in widths:
            return widths[self.name]
        literal = _DIRECTIVE.sub("", self.directives)
        return len(literal) + sum(_DIRECTIVES[match[1]][1] for match in _DIRECTIVE.finditer(self.directives))

    @property
    def forms(self) -> str:
        """A regular expression for the texts of a time inside a key."""
        if self.kind == "N":
            return rf"(?:-?\d+|{ISO_FORMS})"
        if not self.directives:
            return ISO_FORMS
        pattern, position = "", 0
        for match in _DIRECTIVE.finditer(self.directives):
            pattern += re.escape(self.directives[position : match.start()]) + _DIRECTIVES[match[1]][0]
            position = match.end()
        return f"(?:{pattern + re.escape(self.directives[position:])}|{ISO_FORMS})"

    def text(self, value: datetime) -> str:
        """The text of an aware datetime in this format."""
        if self.name == "iso":
            return iso(value)
        if self.name == "iso-seconds":
            return iso(value)[:19] + "Z"
        if self.name == "pynamodb":
            return iso(value)[:26] + "+0000"
        if self.name == "epoch-seconds":
            return epoch_text(value)
        if self.name == "epoch-milliseconds":
            return str((to_utc(value) - _EPOCH) // _MILLISECOND)
        utc = to_utc(value)
        # The C library omits leading zeros of years before 1000.
        return utc.strftime(self.directives.replace("%Y", f"{utc.year:04d}"))

    def read(self, text: str) -> datetime:
        """Parse a text in this format or in any other known format."""
        if self.directives:
            try:
                found = datetime.strptime(text, self.directives)
            except ValueError:
                pass
            else:
                return found.replace(tzinfo=UTC) if found.tzinfo is None else to_utc(found)
        if _NUMBER.fullmatch(text):
            return from_number(text)
        return datetime.fromisoformat(text)

    def pack(self, value: datetime) -> Value:
        """The wire value of a time."""
        return {self.kind: self.text(value)}

    def unpack(self, value: Value) -> datetime:
        """The time of a wire value."""
        return from_number(value["N"]) if "N" in value else self.read(value["S"])


TimeFormat.ISO = TimeFormat("iso")
TimeFormat.ISO_SECONDS = TimeFormat("iso-seconds")
TimeFormat.PYNAMODB = TimeFormat("pynamodb")
TimeFormat.EPOCH_SECONDS = TimeFormat("epoch-seconds", "N")
TimeFormat.EPOCH_MILLISECONDS = TimeFormat("epoch-milliseconds", "N")


def from_number(text: str) -> datetime:
    """The time of a number of seconds since 1970, or of milliseconds if the number is large."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number of seconds or milliseconds since 1970") from None
    seconds = number / 1000 if abs(number) >= _MILLISECONDS_FROM else number
    return _EPOCH + timedelta(microseconds=int(seconds * 1_000_000))


def time_format(metadata: Iterable[Any]) -> TimeFormat:
    """The time format in the metadata of an annotation; ISO by default."""
    return next((entry for entry in metadata if isinstance(entry, TimeFormat)), TimeFormat.ISO)


_UUID_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VERSION, _VARIANT = 0x7 << 76, 0b10 << 62
#: The 74 bits beside time, version and variant: a counter, then random bits.
_COUNTER_BITS, _RANDOM_BITS = 42, 32
_last = (0, 0)
_lock = Lock()


def time_uuid(at: datetime | None = None) -> UUID:
    """A new UUID (version 7) that sorts by its time, also as text. `at` is the time, by default now.

    UUIDs that one process makes without `at` sort in the order in which it makes them, even within a millisecond.
    """
    global _last
    millisecond = _milliseconds(at if at is not None else datetime.now(UTC))
    with _lock:
        last, count = _last
        if at is None and millisecond <= last:
            # The same millisecond, or the clock was set back: count on from the last UUID.
            millisecond, count = last, count + 1
        else:
            count = secrets.randbits(_COUNTER_BITS - 1)
        if at is None:
            _last = (millisecond, count)
    return _build(millisecond, (count << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS))


def first_time_uuid(at: datetime) -> UUID:
    """The smallest time UUID of a time: the lower bound of a query such as "since yesterday"."""
    return _build(_milliseconds(at), 0)


def time_of(value: UUID) -> datetime:
    """The time of a time UUID, to the millisecond."""
    return _UUID_EPOCH + timedelta(milliseconds=value.int >> 80)


def _milliseconds(at: datetime) -> int:
    return (at - _UUID_EPOCH) // timedelta(milliseconds=1)


def _build(millisecond: int, rest: int) -> UUID:
    return UUID(int=(millisecond << 80) | _VERSION | ((rest >> 62) & 0xFFF) << 64 | _VARIANT | (rest & ((1 << 62) - 1)))


def closest(name: object, known: Iterable[object]) -> str | None:
    """The known name that is most similar to `name`, or None if none is similar."""
    # Imported here because only mistakes need it.
    from difflib import get_close_matches

    matches = get_close_matches(str(name), [str(one) for one in known], 1, 0.6)
    return matches[0] if matches else None


def did_you_mean(name: object, known: Iterable[object], *, otherwise: str = "") -> str:
    """The text `Did you mean 'x'?` if a known name is similar; otherwise `otherwise`, or a list of all known names."""
    names = [str(one) for one in known]
    match = closest(name, names)
    if match is not None:
        return f"Did you mean {match!r}?"
    return otherwise or f"Use one of {', '.join(names)}."
