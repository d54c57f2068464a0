"""Suggest the closest match to a misspelt name, for error messages."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["did_you_mean"]


def closest(name: object, known: Iterable[object]) -> str | None:
    """The known name that is most similar to `name`, or None if none is similar."""
    found = difflib.get_close_matches(str(name), [str(one) for one in known], 1, 0.6)
    return found[0] if found else None


def did_you_mean(name: object, known: Iterable[object], *, otherwise: str = "") -> str:
    """The text `Did you mean 'x'?` if a known name is similar; otherwise `otherwise`, or a list of all known names."""
    names = [str(one) for one in known]
    match = closest(name, names)
    if match is not None:
        return f"Did you mean {match!r}?"
    return otherwise or f"Use one of {', '.join(names)}."
