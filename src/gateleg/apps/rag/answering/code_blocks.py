"""Extract commands and paragraphs of source code from the fenced code of a passage. Pure."""

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
#: The start of a comment in a command.
_REMARK = re.compile(r"\s+#\s+(?=\S)")
#: Lines that do nothing by themselves: imports, comments and empty lines.
_IDLE = re.compile(r"\s*(?:from \S+ import |import |#|$)")
#: Minimum and maximum characters of code in an answer.
SHORTEST, LONGEST = 20, 500


@dataclass(frozen=True, slots=True)
class CodeSnippet:
    """A command or a paragraph of code, with its position and its text."""

    start: int
    end: int
    text: str
    kind: Literal["code", "command"]


def code_snippets(text: str, block: Block) -> Iterator[CodeSnippet]:
    """The commands or paragraphs of a block of fenced code. Yields nothing for a block without a language, unless the chunk boundary has
    cut off its opening fence."""
    opening = _OPENING.match(text, block.start, block.end)
    start = block.start if opening is None else opening.end()
    if opening is not None and not opening[1]:
        return
    prompted = f"\n{_PROMPT}" in f"\n{text[start : block.end]}"
    if prompted or (opening is not None and opening[1].lower() in _SHELL):
        yield from _commands(text, start, block.end)
    else:
        yield from _paragraphs(text, start, block.end)


def _commands(text: str, start: int, end: int) -> Iterator[CodeSnippet]:
    """Each command. If some lines have a prompt, the others are output."""
    lines = text[start:end].splitlines(keepends=True)
    prompted = any(line.startswith(_PROMPT) for line in lines)
    place = start
    for line in lines:
        bare = line.strip()
        if bare and not _CLOSING.match(line.rstrip("\n")) and (line.startswith(_PROMPT) or not prompted) and not bare.startswith("#"):
            yield CodeSnippet(place, place + len(line), _REMARK.sub("  # ", bare.removeprefix(_PROMPT), count=1), "command")
        place += len(line)


def _paragraphs(text: str, start: int, end: int) -> Iterator[CodeSnippet]:
    """Paragraphs of source code: statements with the lines indented below them, separated by empty lines. Leaves out very long and very
    short ones, and those that do nothing."""
    first = last = place = start
    lines: list[str] = []
    gap = False
    for line in [*text[start:end].splitlines(keepends=True), ""]:
        closed = _CLOSING.match(line.rstrip("\n")) is not None or not line
        if lines and (closed or (gap and line.strip() and _margin(line) <= _margin(lines[0]))):
            shown = _dedented(lines)
            if len(shown) >= SHORTEST and last - first <= LONGEST and not all(_IDLE.match(one) for one in lines):
                yield CodeSnippet(first, last, shown, "code")
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
