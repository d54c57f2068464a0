"""Where chunks lie in a text. Pure.

A span never holds text of its own: the chunk is `text[span.start : span.end]`, so a citation can always be checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Span:
    """A chunk: from the character `start` to the one before `end`, and the headings above it."""

    start: int
    end: int
    #: the headings that it stands below, outermost first: "Setup > Linux"
    heading: str | None = None

    def of(self, text: str) -> str:
        """The chunk's text."""
        return text[self.start : self.end]

    def __len__(self) -> int:
        return self.end - self.start


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without white space at its ends; an empty one when there is nothing else in it."""
    piece = text[start:end]
    inner = piece.strip()
    if not inner:
        return start, start
    first = start + len(piece) - len(piece.lstrip())
    return first, first + len(inner)


def spans_of(text: str, ranges: Iterable[tuple[int, int]]) -> list[Span]:
    """The ranges as chunks: trimmed, without empty ones, and without one that lies within the chunk before or after it."""
    found: list[Span] = []
    for start, end in ranges:
        first, last = trimmed(text, start, end)
        if first == last or (found and last <= found[-1].end):
            continue
        if found and first <= found[-1].start:
            found.pop()
        found.append(Span(first, last))
    return found
