"""Remove the markup from a text, so that it can be read aloud. Pure.

Documents keep their markup, so that character positions stay valid; only the text of answers is converted.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_TICKS = re.compile(r"`+")
_KEPT = re.compile(r"\x00(\d+)\x00")
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
#: Patterns of markup with their replacements, applied in this order.
_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL | re.MULTILINE), kept)
    for pattern, kept in (
        (r"<!--.*?-->", " "),
        (r"^[ \t]*(?:>[ \t]?)+", ""),
        # Delimiters of docstrings and comments.
        (r"^\s*(?:[rRuU]?(?:\"{3}|'{3})|/\*\*?|//+|\*/)\s*|\s*(?:\"{3}|'{3}|\*/)\s*$", ""),
        (r"^[ \t]*#{1,6}[ \t]+", ""),
        (r"<br\s*/?>", " "),
        (r"</?(?:a|abbr|b|code|em|i|kbd|mark|p|s|small|span|strong|sub|sup|u)(?:\s[^<>]*)?>", ""),
        (r"<((?:https?|mailto):[^<>\s]+)>", r"\1"),
        (r"!?\[([^\[\]]*)\]\((?:[^()]|\([^()]*\))*\)", r"\1"),
        (r"(?<=\w)\[\^[^\[\]\s]{1,20}\]", ""),
        (r"\[([^\[\]]+)\]\[[^\[\]]*\]", r"\1"),
        # Links that begin or end outside the text.
        (r"\]\(\S*\)?", ""),
        (r"\*\*\*(?=\S)(.+?)(?<=\S)\*\*\*", r"\1"),
        (r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"\1"),
        (r"(?<![\w*])\*(?=[^\s*])([^*]*[^\s*])\*(?![\w*])", r"\1"),
        (r"(?<!\w)__(?=\S)([^_]*\s[^_]*)(?<=\S)__(?!\w)", r"\1"),
        (r"(?<!\w)_(?=[^\s_])([^_]*[^\s_])_(?!\w)", r"\1"),
        (r"~~(?=\S)(.+?)(?<=\S)~~", r"\1"),
        # Emphasis that begins or ends outside the text.
        (r"(?<!\S)\*{1,3}(?=[^\W\d_])", ""),
        (r"(?<=[^\s*])\*{2,3}(?=[\s.,;:!?)]|$)", ""),
        (r"\\([*_`\[\]#|>~])", r"\1"),
    )
)


def to_plain_text(text: str) -> str:
    """Remove Markdown and inline HTML, and join the text into one line. The content of code spans is kept."""
    spans: list[str] = []

    def keep(code: str) -> str:
        spans.append(code.strip())
        return f"\x00{len(spans) - 1}\x00"

    plain = _replace_code(_INVISIBLE.sub("", text).replace("\x00", ""), keep)
    for pattern, kept in _MARKUP:
        plain = pattern.sub(kept, plain)
    plain = _without_lonely_bracket(html.unescape(plain))
    return " ".join(_KEPT.sub(lambda match: spans[int(match[1])], plain).split())


def without_code(text: str) -> str:
    """Replace each code span by the word "code"."""
    return _replace_code(text, lambda _: "code")


def _replace_code(text: str, replacement: Callable[[str], str]) -> str:
    """Replace each code span. A span ends at the next run of as many backticks as begin it; other backticks stay."""
    runs = [run.span() for run in _TICKS.finditer(text)]
    next_of_size: dict[int, int] = {}
    ends: list[int | None] = [None] * len(runs)
    for number in reversed(range(len(runs))):
        start, end = runs[number]
        ends[number] = next_of_size.get(end - start)
        next_of_size[end - start] = number
    pieces, place, number = [], 0, 0
    while number < len(runs):
        last = ends[number]
        if last is not None:
            pieces += [text[place : runs[number][0]], replacement(text[runs[number][1] : runs[last][0]])]
            place = runs[last][1]
        number = number + 1 if last is None else last + 1
    return "".join([*pieces, text[place:]])


def _without_lonely_bracket(text: str) -> str:
    """Remove the opening bracket of a link that is cut off at the end of the text."""
    if text.count("[") == text.count("]") + 1:
        before, _, after = text.rpartition("[")
        return text if "]" in after else before + after
    return text
