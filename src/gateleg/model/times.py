"""Times: in UTC in Python, in one of several formats in an item; and UUIDs that sort by their time (version 7), for sort keys.

`created: Attr[Annotated[datetime, TimeFormat.PYNAMODB]]` writes the time as PynamoDB does, so that old and new programs can share a table.
Whichever format an attribute writes, it reads all the formats that are known here.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from uuid import UUID

from pydantic_core import core_schema

from gateleg.model.errors import DeclarationError
from gateleg.model.wire import epoch_text, iso, to_utc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.model.wire import Value


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
        parts = "".join(match[1] for match in _DIRECTIVE.finditer(self.directives)).replace("%", "").removesuffix("z")
        return not self.directives or (bool(parts) and _FALLING.startswith(parts))

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
                time = datetime.strptime(text, self.directives)
            except ValueError:
                pass
            else:
                return time.replace(tzinfo=UTC) if time.tzinfo is None else to_utc(time)
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
    return _EPOCH + timedelta(milliseconds=value.int >> 80)


def _milliseconds(at: datetime) -> int:
    return (at - _EPOCH) // _MILLISECOND


def _build(millisecond: int, rest: int) -> UUID:
    return UUID(int=(millisecond << 80) | _VERSION | ((rest >> 62) & 0xFFF) << 64 | _VARIANT | (rest & ((1 << 62) - 1)))
