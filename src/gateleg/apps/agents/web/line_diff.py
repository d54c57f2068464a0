"""A line diff of two texts. Pure functions."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["same", "removed", "added", "gap"]
#: Context lines around a change, maximum lines of a diff, and maximum lines of a text.
_CONTEXT_LINES, _MAX_LINES, _MAX_READ_LINES = 2, 400, 5_000


def changed_lines(before: str, after: str) -> list[tuple[Kind, str]]:
    """The removed and added lines with context; a gap states how many unchanged lines are left out."""
    old, new = before.splitlines()[:_MAX_READ_LINES], after.splitlines()[:_MAX_READ_LINES]
    found: list[tuple[Kind, str]] = []
    for kind, first, last, start, end in SequenceMatcher(None, old, new).get_opcodes():
        if kind == "equal":
            found += _around(old[first:last], begins=first == 0, ends=last == len(old))
        else:
            found += [("removed", line) for line in old[first:last]]
            found += [("added", line) for line in new[start:end]]
    if len(found) > _MAX_LINES:
        return [*found[:_MAX_LINES], ("gap", f"{len(found) - _MAX_LINES:,} more lines")]
    return found


def _around(lines: list[str], *, begins: bool, ends: bool) -> list[tuple[Kind, str]]:
    """Unchanged lines: only those next to a change."""
    after, before = 0 if begins else _CONTEXT_LINES, 0 if ends else _CONTEXT_LINES
    left = len(lines) - after - before
    if left <= 1:
        return [("same", line) for line in lines]
    shown: list[tuple[Kind, str]] = [("same", line) for line in lines[:after]]
    shown.append(("gap", f"{left:,} unchanged lines"))
    return shown + [("same", line) for line in lines[len(lines) - before :]]
