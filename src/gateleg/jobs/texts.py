"""Texts of handlers as they can be written down, whatever is in them."""

from __future__ import annotations


def writable(text: str) -> str:
    """The text with escapes in place of what is not a character, such as the bytes of a file's name that are not UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def told_by(error: BaseException) -> str:
    """What an exception says; its class, when it says nothing or cannot."""
    try:
        return writable(str(error)) or type(error).__name__
    except Exception:
        return type(error).__name__
