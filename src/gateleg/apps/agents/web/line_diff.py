"""What changed in a text, line by line. Pure."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["same", "removed", "added", "gap"]
#: Lines around a change that are shown, lines of a comparison in all, and lines of a text that are compared.
_AROUND, _MOST, _READ = 2, 400, 5_000


def changed_lines(before: str, after: str) -> list[tuple[Kind, str]]:
    """The lines that were removed and added, with those around them; a gap says how many lines between two changes are left out."""
    old, new = before.splitlines()[:_READ], after.splitlines()[:_READ]
    found: list[tuple[Kind, str]] = []
    for kind, first, last, start, end in SequenceMatcher(None, old, new).get_opcodes():
        if kind == "equal":
            found += _around(old[first:last], begins=first == 0, ends=last == len(old))
        else:
            found += [("removed", line) for line in old[first:last]]
            found += [("added", line) for line in new[start:end]]
    if len(found) > _MOST:
        return [*found[:_MOST], ("gap", f"{len(found) - _MOST:,} more lines")]
    return found


def _around(lines: list[str], *, begins: bool, ends: bool) -> list[tuple[Kind, str]]:
    """Lines that did not change: only those next to a change."""
    after, before = 0 if begins else _AROUND, 0 if ends else _AROUND
    left = len(lines) - after - before
    if left <= 1:
        return [("same", line) for line in lines]
    shown: list[tuple[Kind, str]] = [("same", line) for line in lines[:after]]
    shown.append(("gap", f"{left:,} unchanged lines"))
    return shown + [("same", line) for line in lines[len(lines) - before :]]
