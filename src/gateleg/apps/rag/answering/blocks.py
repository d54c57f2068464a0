"""Split a passage into blocks: headings, paragraphs, block quotes and fenced code. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKDOWN_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.+?)\s*#*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*(\w*)")
_QUOTED = re.compile(r"[ \t]*>")
#: The header line of a table, as parsers write it: `Column | Column`.
_TITLES = re.compile(r"(?:[^|\n]* \| )+[^|\n]*")
#: A table row, as parsers write it: `Column: value; Column: value`. A value may contain semicolons.
_ROW = re.compile(r"[^:;|\n]{1,60}: [^\n]+?; [^:;|\n]{1,60}: [^\n]+")

BlockKind = Literal["heading", "text", "quote", "code"]
LineKind = Literal["titles", "row", "text"]


@dataclass(frozen=True, slots=True)
class Block:
    """A range of a text, and its kind."""

    start: int
    end: int
    kind: BlockKind


def starts_in_code(text: str, at_start: bool) -> bool:
    """Whether a part of a document begins within fenced code, judged by its fences: one that names a language never closes a block.
    `at_start` is true for the beginning of the document."""
    fences = [found for line in text.splitlines() if (found := _FENCE.match(line)) is not None]
    if at_start or not fences:
        return False
    opening = fences[0][2] != ""
    for number, fence in enumerate(fences):
        if fence[2]:
            return number % 2 == 1
    return not opening and len(fences) % 2 == 1


def blocks_of(text: str, *, in_code: bool = False) -> Iterator[Block]:
    """The blocks of a text, in order. A block ends at an empty line and where the kind changes. `in_code` is true if the text begins
    within fenced code."""
    place = first = 0
    kind: BlockKind = "code" if in_code else "text"
    fence: str | None = "```" if in_code else None
    for line in text.splitlines(keepends=True):
        now, fence = _kind_of(line, fence)
        if now is None or now != kind or now == "heading":
            if first < place:
                yield Block(first, place, kind)
            first = place if now is not None else place + len(line)
            kind = now or "text"
        place += len(line)
    if first < place:
        yield Block(first, place, kind)


def _kind_of(line: str, fence: str | None) -> tuple[BlockKind | None, str | None]:
    """The kind of a line (None if it is empty), and the fence that is open after it."""
    mark = _FENCE.match(line)
    if fence is not None:
        return "code", None if mark is not None and mark[1].startswith(fence) else fence
    if mark is not None:
        return "code", mark[1]
    if not line.strip():
        return None, None
    if MARKDOWN_HEADING.match(line.rstrip()):
        return "heading", None
    return ("quote" if _QUOTED.match(line) else "text"), None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a block."""

    start: int
    end: int
    kind: LineKind


def lines_of(text: str, block: Block) -> Iterator[Line]:
    """The lines of a block, as table headers, table rows or other text."""
    titles: list[str] = []
    place = block.start
    lines = text[block.start : block.end].splitlines(keepends=True)
    for number, line in enumerate(lines):
        bare = line.strip()
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        kind: LineKind = "text"
        if _TITLES.fullmatch(bare) and _names(following, own := [one.strip() for one in bare.split(" | ")]):
            titles, kind = own, "titles"
        elif _ROW.fullmatch(bare) or _names(bare, titles):
            kind = "row"
        else:
            titles = []
        yield Line(place, place + len(line), kind)
        place += len(line)


def is_row(line: str) -> bool:
    """Whether a line is recognizable as a table row without its header."""
    return _ROW.fullmatch(line) is not None


def _names(line: str, titles: list[str]) -> bool:
    """Whether a line is a row of a table with these column titles: it has one of them before a value."""
    return any(line.startswith(f"{title}: ") or f"; {title}: " in line for title in titles if title)
