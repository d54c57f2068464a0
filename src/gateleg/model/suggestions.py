"""The closest match to a misspelt name, for messages."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["did_you_mean"]


def closest(name: object, known: Iterable[object]) -> str | None:
    """The known name that is most like a given one, or None when none is alike."""
    found = difflib.get_close_matches(str(name), [str(one) for one in known], 1, 0.6)
    return found[0] if found else None


def did_you_mean(name: object, known: Iterable[object], *, otherwise: str = "") -> str:
    """`Did you mean 'x'?` when a known name is alike; else all known names, or `otherwise`."""
    names = [str(one) for one in known]
    match = closest(name, names)
    if match is not None:
        return f"Did you mean {match!r}?"
    return otherwise or f"Use one of {', '.join(names)}."
