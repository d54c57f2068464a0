"""Counting in tokens. Pure: where the tokens of a text lie is given, or estimated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

Range = tuple[int, int]
#: The places of a text's tokens.
Tokenize = Callable[[str], Sequence[Range]]
#: Most tokenizers know short words whole and cut long ones.
_TOKEN = re.compile(r"[^\W_]{1,6}|[^\w\s]|_")


def estimate_tokens(text: str) -> list[Range]:
    """About the tokens that a model would see: words in pieces of up to six letters, and each mark."""
    return [match.span() for match in _TOKEN.finditer(text)]


def token_windows(text: str, tokens: Sequence[Range], size: int, overlap: int) -> Iterator[Range]:
    """Windows of at most `size` tokens that begin and end between words where they can, each with up to `overlap` of the one before it."""
    first = 0
    while first < len(tokens):
        stop = min(first + size, len(tokens))
        if stop < len(tokens):
            stop = _between(text, tokens, stop, max(first + 1, stop - size // 5))
        yield tokens[first][0], tokens[stop - 1][1]
        if stop >= len(tokens):
            return
        # Always forwards, whatever the overlap.
        first = max(first + 1, stop - overlap)
        while first < stop and not _begins_word(text, tokens, first):
            first += 1


def _between(text: str, tokens: Sequence[Range], stop: int, least: int) -> int:
    place = stop
    while place > least and not _begins_word(text, tokens, place):
        place -= 1
    return place if place > least else stop


def _begins_word(text: str, tokens: Sequence[Range], place: int) -> bool:
    start = tokens[place][0]
    return start == 0 or text[start - 1].isspace()
