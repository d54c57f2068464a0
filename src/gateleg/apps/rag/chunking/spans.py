"""The positions of chunks in a text. Pure.

A span has no text of its own: the chunk is always `text[span.start : span.end]`, so every citation can be checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Span:
    """A chunk: its range [start, end) and the headings above it."""

    start: int
    end: int
    #: the headings above it, outermost first: "Setup > Linux"
    heading: str | None = None

    def of(self, text: str) -> str:
        """The text of the chunk."""
        return text[self.start : self.end]

    def __len__(self) -> int:
        return self.end - self.start


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without leading and trailing white space; an empty range if it has nothing else."""
    piece = text[start:end]
    inner = piece.strip()
    if not inner:
        return start, start
    first = start + len(piece) - len(piece.lstrip())
    return first, first + len(inner)


def spans_of(text: str, ranges: Iterable[tuple[int, int]]) -> list[Span]:
    """Convert ranges to chunks: trim them, and drop those that are empty or lie within the previous or next chunk."""
    found: list[Span] = []
    for start, end in ranges:
        first, last = trimmed(text, start, end)
        if first == last or (found and last <= found[-1].end):
            continue
        if found and first <= found[-1].start:
            found.pop()
        found.append(Span(first, last))
    return found
