"""Code that a passage shows: commands, each with what is said about it, and paragraphs of source code. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.apps.rag.answering.blocks import Block

_OPENING = re.compile(r" {0,3}(?:`{3,}|~{3,})[ \t]*(\w*)[^\n]*\n?")
_CLOSING = re.compile(r" {0,3}(?:`{3,}|~{3,})[ \t]*$")
_SHELL = frozenset(["console", "sh", "shell", "bash", "shellsession", "powershell"])
_PROMPT = "$ "
#: What of a command is a remark.
_REMARK = re.compile(r"\s+#\s+(?=\S)")
#: Lines that show nothing to do: imports, and what comes out.
_IDLE = re.compile(r"\s*(?:from \S+ import |import |#|$)")
#: Characters of a piece of code that an answer shows.
SHORTEST, LONGEST = 20, 500


@dataclass(frozen=True, slots=True)
class ShownCode:
    """A command or a paragraph of code: where it stands, and how it reads."""

    start: int
    end: int
    text: str
    kind: Literal["code", "command"]


def shown_code(text: str, block: Block) -> Iterator[ShownCode]:
    """What a block of fenced code shows. Nothing is taken of one that names no language, unless a chunk has cut off its beginning."""
    opening = _OPENING.match(text, block.start, block.end)
    start = block.start if opening is None else opening.end()
    if opening is not None and not opening[1]:
        return
    prompted = f"\n{_PROMPT}" in f"\n{text[start : block.end]}"
    if prompted or (opening is not None and opening[1].lower() in _SHELL):
        yield from _commands(text, start, block.end)
    else:
        yield from _paragraphs(text, start, block.end)


def _commands(text: str, start: int, end: int) -> Iterator[ShownCode]:
    """Each command. Where some lines have a prompt, those without are what comes out."""
    lines = text[start:end].splitlines(keepends=True)
    prompted = any(line.startswith(_PROMPT) for line in lines)
    place = start
    for line in lines:
        bare = line.strip()
        if bare and not _CLOSING.match(line.rstrip("\n")) and (line.startswith(_PROMPT) or not prompted) and not bare.startswith("#"):
            yield ShownCode(place, place + len(line), _REMARK.sub("  # ", bare.removeprefix(_PROMPT), count=1), "command")
        place += len(line)


def _paragraphs(text: str, start: int, end: int) -> Iterator[ShownCode]:
    """The statements of a piece of source code that stand together and do something, with what is indented below them; those that are
    long or tiny are left out."""
    first = last = place = start
    lines: list[str] = []
    gap = False
    for line in [*text[start:end].splitlines(keepends=True), ""]:
        closed = _CLOSING.match(line.rstrip("\n")) is not None or not line
        if lines and (closed or (gap and line.strip() and _margin(line) <= _margin(lines[0]))):
            shown = _dedented(lines)
            if len(shown) >= SHORTEST and last - first <= LONGEST and not all(_IDLE.match(one) for one in lines):
                yield ShownCode(first, last, shown, "code")
            lines = []
        if line.strip() and not closed:
            first = place if not lines else first
            lines.append(line.rstrip())
            last = place + len(line)
        gap = not line.strip()
        place += len(line)


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _dedented(lines: list[str]) -> str:
    margin = min(_margin(line) for line in lines)
    return "\n".join(line[margin:] for line in lines)
