"""Chunk windows that are counted in tokens, and an estimate of tokens. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

Range = tuple[int, int]
#: Returns the ranges of a text's tokens.
Tokenize = Callable[[str], Sequence[Range]]
#: Most tokenizers keep short words whole and split long ones.
_TOKEN = re.compile(r"[^\W_]{1,6}|[^\w\s]|_")


def estimate_tokens(text: str) -> list[Range]:
    """Estimate a model's tokens: words in pieces of up to six letters, and each punctuation character."""
    return [match.span() for match in _TOKEN.finditer(text)]


def token_windows(text: str, tokens: Sequence[Range], size: int, overlap: int) -> Iterator[Range]:
    """Windows of at most `size` tokens that begin and end between words if possible. Each repeats up to `overlap` of the previous."""
    first = 0
    while first < len(tokens):
        stop = min(first + size, len(tokens))
        if stop < len(tokens):
            stop = _between(text, tokens, stop, max(first + 1, stop - size // 5))
        yield tokens[first][0], tokens[stop - 1][1]
        if stop >= len(tokens):
            return
        # Always advance, whatever the overlap.
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
