"""Descriptions of objects, pages of listings, and byte ranges."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gateleg.objects.errors import RangeOutside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

Method = Literal["GET", "PUT"]
_RANGE = re.compile(r"\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*", re.ASCII | re.IGNORECASE)
#: The maximum number of digits in a header; longer numbers, which exceed the size of any object, are truncated.
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Entry:
    """An object in a listing."""

    key: str
    size: int
    #: changes whenever the content does; opaque, without quotes
    etag: str
    modified: datetime


@dataclass(frozen=True, slots=True)
class ObjectInfo(Entry):
    """The description of an object."""

    content_type: str = "application/octet-stream"
    metadata: Mapping[str, str] = field(default_factory=dict)
    #: the SHA-256 digest of the content in hexadecimal, if the store knows it
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """A page of a listing, ordered by the bytes of the keys."""

    objects: tuple[Entry, ...]
    #: with a delimiter: the common prefixes of grouped keys
    prefixes: tuple[str, ...] = ()
    #: the cursor for the next `list`; None at the end
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A byte range as in HTTP: from `first` to `last` inclusive; without `first`, the last `last` bytes."""

    first: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        if self.first is None and self.last is None:
            raise ValueError("ByteRange needs first, last or both.")
        if min(self.first or 0, self.last or 0) < 0:
            raise ValueError("first and last of a ByteRange must not be negative.")
        if self.first is not None and self.last is not None and self.last < self.first:
            raise ValueError("last of a ByteRange must not be before first.")

    @classmethod
    def parse(cls, header: str) -> ByteRange | None:
        """The range of a `Range` header. None for several ranges and for invalid ones, which HTTP servers ignore."""
        match = _RANGE.fullmatch(header)
        if match is None:
            return None
        first, last = (int(number[:_DIGITS]) if number else None for number in match.groups())
        try:
            return cls(first, last)
        except ValueError:
            return None

    @property
    def header(self) -> str:
        """The range as the value of a `Range` header."""
        return f"bytes={'' if self.first is None else self.first}-{'' if self.last is None else self.last}"

    def within(self, size: int) -> tuple[int, int]:
        """The offsets of the first byte and after the last one, in an object of this size. Raises `RangeOutside`."""
        if self.first is None:
            start, stop = max(0, size - (self.last or 0)), size
        else:
            start, stop = self.first, size if self.last is None else min(size, self.last + 1)
        if start >= stop:
            raise RangeOutside(f"The range {self.header} is outside the object, which has {size:,} bytes.", size=size)
        return start, stop
