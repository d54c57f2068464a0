"""Split a range of a text into pieces, and pack pieces into chunks. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Range = tuple[int, int]
#: A FIXED window ends between words if it has a word boundary in its last fifth.
_LOOK_BACK = 5


def windows(text: str, start: int, end: int, size: int, overlap: int) -> Iterator[Range]:
    """Windows of at most `size` characters that end between words if possible. Each repeats up to `overlap` characters of the previous."""
    while start < end:
        stop = end if end - start <= size else _word_end(text, start, start + size)
        yield start, stop
        if stop >= end:
            return
        # Always advance, whatever the overlap.
        start = max(start + 1, _word_start(text, stop - overlap, stop))


def _word_end(text: str, start: int, stop: int) -> int:
    """The last word boundary near `stop`; `stop` if there is none."""
    if _is_between(text, stop):
        return stop
    for place in range(stop - 1, max(start, stop - max(1, (stop - start) // _LOOK_BACK)), -1):
        if _is_between(text, place):
            return place
    return stop


def _word_start(text: str, place: int, stop: int) -> int:
    """The first word boundary from `place` on; `stop` if there is none."""
    while place < stop and not _is_between(text, place):
        place += 1
    return place


def _is_between(text: str, place: int) -> bool:
    return place <= 0 or place >= len(text) or text[place - 1].isspace() or text[place].isspace()


def pieces(text: str, start: int, end: int, separators: Sequence[str], size: int) -> Iterator[Range]:
    """Split a range into adjacent pieces of at most `size` characters, after the first separator that makes them small enough."""
    if end - start <= size:
        if start < end:
            yield start, end
        return
    if not separators:
        yield from ((place, min(place + size, end)) for place in range(start, end, size))
        return
    first, rest = separators[0], separators[1:]
    place = start
    while place < end:
        found = text.find(first, place, end)
        stop = end if found < 0 else found + len(first)
        yield from pieces(text, place, stop, rest, size)
        place = stop


def packed(parts: Sequence[Range], size: int, overlap: int) -> Iterator[Range]:
    """Join adjacent pieces while they fit into `size`. A chunk repeats the last pieces of the previous chunk that fit into `overlap`."""
    first = 0
    for place, (_, stop) in enumerate(parts):
        if stop - parts[first][0] <= size:
            continue
        if first < place:
            end = parts[place - 1][1]
            yield parts[first][0], end
            while first < place and (end - parts[first][0] > overlap or stop - parts[first][0] > size):
                first += 1
    if parts:
        yield parts[first][0], parts[-1][1]


def recursive(text: str, start: int, end: int, separators: Sequence[str], size: int, overlap: int) -> Iterator[Range]:
    """Split a range at separators, and pack the pieces."""
    yield from packed(list(pieces(text, start, end, separators, size)), size, overlap)
