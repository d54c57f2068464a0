"""Text from handlers, in a form that can be stored."""

from __future__ import annotations


def escape_undecodable(text: str) -> str:
    """The text with lone surrogates escaped, such as those of file names that are not UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def error_message(error: BaseException) -> str:
    """The message of an exception; the name of its class if the message is empty or `str` fails."""
    try:
        return escape_undecodable(str(error)) or type(error).__name__
    except Exception:
        return type(error).__name__
