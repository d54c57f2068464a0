"""Texts that fit their place. Pure."""

from __future__ import annotations


def truncate(text: str, length: int) -> str:
    """The text, or its beginning and an ellipsis, at most `length` characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"
