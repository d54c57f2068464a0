"""Find the words of a query in a text. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from gateleg.apps.rag.index.analysis import DEFAULT_LANGUAGE, analyse, query_words

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORD = re.compile(r"[^\W_]+")
#: Length of a snippet in characters.
SNIPPET_CHARACTERS = 240


def matched_spans(query: str, text: str, languages: Sequence[str] = (DEFAULT_LANGUAGE,)) -> list[tuple[int, int]]:
    """The spans [start, end) of words in a text that are words of the query in one of their forms."""
    language_codes = tuple(languages)
    query_forms = _query_forms(query, language_codes)
    matched = {word for word in set(_WORD.findall(text)) if not query_forms.isdisjoint(_forms(word, language_codes))}
    return [match.span() for match in _WORD.finditer(text) if match.group() in matched] if matched else []


@lru_cache(maxsize=256)
def _query_forms(query: str, languages: tuple[str, ...]) -> frozenset[str]:
    """The stemmed forms of a query's words; cached, because all hits of a search need them."""
    return frozenset(form for forms in query_words(query, languages) for form in forms)


@lru_cache(maxsize=50_000)
def _forms(word: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    """The stemmed forms of a word of a text; cached, because the same words recur in the hits of many queries."""
    return tuple(form for language in languages for form in analyse(word, language))


def matched_words(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """The distinct words at the spans, in lower case."""
    return list(dict.fromkeys(text[start:end].casefold() for start, end in spans))


def best_snippet(text: str, spans: Sequence[tuple[int, int]], length: int = SNIPPET_CHARACTERS) -> tuple[int, int]:
    """The span of about `length` characters with the most distinct words of the query; the beginning of the text if it has none."""
    if len(text) <= length:
        return 0, len(text)
    best, start = -1, 0
    for first, _ in spans:
        inside = {text[one:other].casefold() for one, other in spans if first <= one and other <= first + length}
        if len(inside) > best:
            best, start = len(inside), first
    # Start a little before the first match, and do not cut words.
    start = max(0, min(start - length // 6, len(text) - length))
    start = _next_word(text, start) if start else 0
    end = min(len(text), start + length)
    return start, end if end == len(text) else max(text.rfind(" ", start, end), start + length // 2)


def _next_word(text: str, at: int) -> int:
    space = text.find(" ", at, at + 40)
    return at if space < 0 else space + 1
