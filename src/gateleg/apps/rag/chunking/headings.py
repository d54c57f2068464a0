"""The headings of a text: their positions, the headings above a position, and sections. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.chunking.splitting import Range

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
#: The beginning of a line that cannot be a setext heading.
_NO_TITLE = re.compile(r"\s*(?:[-*+>|#]|\d+[.)]\s|$)")
_LONGEST = 200
_SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: the start of its line, its level (1 is the outermost) and its text."""

    start: int
    level: int
    title: str


def find_headings(text: str) -> list[Heading]:
    """The headings of a Markdown text, ignoring fenced code."""
    found: list[Heading] = []
    fence: str | None = None
    place, before = 0, (0, "")
    for line in text.splitlines(keepends=True):
        plain = line.rstrip("\r\n")
        mark = _FENCE.match(plain)
        if fence is not None:
            fence = None if mark is not None and mark[1].startswith(fence) else fence
            before = (place, "")
        elif mark is not None:
            fence, before = mark[1], (place, "")
        elif (atx := _ATX.match(plain)) is not None:
            found.append(Heading(place, len(atx[1]), _title(atx[2] or "")))
            before = (place, "")
        elif (under := _SETEXT.match(plain)) is not None and not _NO_TITLE.match(before[1]):
            found.append(Heading(before[0], 1 if under[1][0] == "=" else 2, _title(before[1])))
            before = (place, "")
        else:
            before = (place, plain)
        place += len(line)
    return found


def _title(text: str) -> str:
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("**", "")
    return " ".join(plain.split())[:_LONGEST]


def heading_paths(headings: Sequence[Heading], positions: Sequence[int]) -> list[str | None]:
    """The headings above each position, outermost first, such as "Setup > Linux"; None if there are none."""
    paths: list[str | None] = [None]
    above: list[Heading] = []
    for heading in headings:
        while above and above[-1].level >= heading.level:
            above.pop()
        if heading.title:
            above.append(heading)
        paths.append(_SEPARATOR.join(one.title for one in above) or None)
    return [paths[bisect_right(headings, position, key=lambda heading: heading.start)] for position in positions]


def sections(text: str, headings: Sequence[Heading], size: int) -> list[Range]:
    """The adjacent sections of a text. A section that is very short, such as a heading alone, is joined with the next if both fit into
    `size`."""
    starts = sorted({0, *(heading.start for heading in headings)})
    found: list[Range] = []
    short = size // 5
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if found and end - found[-1][0] <= size and len(text[slice(*found[-1])].strip()) < short:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def blocks(text: str, start: int, end: int) -> list[Range]:
    """Split a range into adjacent paragraphs and whole blocks of fenced code."""
    found: list[Range] = []
    fence: str | None = None
    first = place = start
    for line in text[start:end].splitlines(keepends=True):
        mark = _FENCE.match(line)
        following = place + len(line)
        if fence is not None:
            if mark is not None and mark[1].startswith(fence):
                fence = None
                found.append((first, following))
                first = following
        elif mark is not None:
            if first < place:
                found.append((first, place))
            first, fence = place, mark[1]
        elif not line.strip():
            found.append((first, following))
            first = following
        place = following
    return [*found, (first, end)] if first < end else found
