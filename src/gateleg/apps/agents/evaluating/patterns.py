"""Searches for regular expressions of tenants, in a process with limits, because some would take years. Imports no large modules."""

import re
from typing import Any

__all__ = ["search"]


def search(given: dict[str, list[list[str]]]) -> list[bool | None]:
    """Whether each pattern of `pairs` matches in its text; None for an invalid regular expression."""
    return [_found(pattern, text) for pattern, text in given["pairs"]]


def _found(pattern: str, text: str) -> Any:
    try:
        return re.search(pattern, text, re.MULTILINE) is not None
    except (re.error, OverflowError, RecursionError):
        return None
