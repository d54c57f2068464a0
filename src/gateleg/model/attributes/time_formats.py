"""Time formats: how an attribute stores datetimes.

`created: Attr[Annotated[datetime, TimeFormat.PYNAMODB]]` writes the time as PynamoDB does, so that old and new programs can share a table.
Whichever format an attribute writes, it reads all the formats that are known here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gateleg.model.codec.wire import epoch_text, iso, to_utc
from gateleg.model.errors import DeclarationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.model.codec.wire import Value

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
