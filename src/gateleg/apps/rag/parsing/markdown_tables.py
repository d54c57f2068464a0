"""Convert Markdown tables to rows that name their columns, as in all other formats. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateleg.apps.rag.parsing.row_text import row_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"(?:\|\s*)?:?-+:?(?:\s*\|\s*:?-+:?)*(?:\s*\|)?")
_BAR = re.compile(r"(?<!\\)\|")


def spell_out_tables(text: str) -> str:
    """Replace the tables of a Markdown text by lines of the form `Column: value; Column: value`. Fenced code is unchanged."""
    return "".join(_lines(text.splitlines(keepends=True))) if "|" in text else text


def _lines(lines: list[str]) -> Iterator[str]:
    fence: str | None = None
    place = 0
    while place < len(lines):
        line = lines[place]
        mark = _FENCE.match(line)
        if fence is not None:
            fence = None if mark is not None and mark[1].startswith(fence) else fence
        elif mark is not None:
            fence = mark[1]
        elif _begins_table(lines, place):
            last = _end_of_table(lines, place)
            rows = [_cells(lines[place]), *(_cells(one) for one in lines[place + 2 : last])]
            yield from (f"{row}\n" for row in row_lines(rows) if row)
            place = last
            continue
        yield line
        place += 1


def _begins_table(lines: list[str], place: int) -> bool:
    """Whether a table begins: a line with bars, above a line of dashes with the same number of columns."""
    if "|" not in lines[place] or place + 1 >= len(lines):
        return False
    below = lines[place + 1]
    return "|" in below and _RULE.fullmatch(below.strip()) is not None and len(_cells(lines[place])) == len(_cells(below))


def _end_of_table(lines: list[str], place: int) -> int:
    place += 2
    while place < len(lines) and lines[place].strip() and _BAR.search(lines[place]):
        place += 1
    return place


def _cells(line: str) -> list[str]:
    inner = line.strip()
    inner = inner.removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(inner)]
