"""Split a text into sentences by rules, without a model. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.apps.rag.chunking.splitting import Range

#: Punctuation that may end a sentence, with closing quotes, brackets and emphasis, and the white space after it, which Chinese and Japanese
#: punctuation does not need. An empty line and the start of a list item also end a sentence.
_END = re.compile(
    r"(?P<mark>[.!?…]+)[\"'”’»)\]*_]*(?P<space>\s+)|[。！？]+[」』”）]*\s*|\n\s*\n\s*|\n(?=[ \t]*(?:[-*•+]|\d{1,3}[.)])[ \t])"
)
_ABBREVIATIONS = frozenset(
    re.split(
        r"\s+",
        "mr mrs ms dr prof sr jr st vs etc approx dept est fig figs no nos vol pp ed eds al cf ca inc ltd co corp e.g i.e a.m p.m u.s u.k "
        "jan feb mar apr jun jul aug sep sept oct nov dec z.b d.h bzw usw ggf vgl nr abs art",
    )
)
_WORD = re.compile(r"[\w.]+$")
#: The month after the full stop of a German date: "am 3. Februar".
_MONTH = re.compile(r"(?:jän|jan|feb|mär|apr|mai|jun|jul|aug|sep|okt|nov|dez)[a-zä]*\b", re.IGNORECASE)


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[Range]:
    """The adjacent sentences of a range, each with the white space after it."""
    end = len(text) if end is None else end
    first = start
    for match in _END.finditer(text, start, end):
        if match["mark"] is None or _ends(text, match):
            yield first, match.end()
            first = match.end()
    if first < end:
        yield first, end


def _ends(text: str, match: re.Match[str]) -> bool:
    """Whether punctuation ends its sentence: not after an abbreviation or an initial, and not before a lower-case letter."""
    if "\n\n" in match["space"]:
        return True
    following = text[match.end() : match.end() + 1]
    if following.islower():
        return False
    if match["mark"] != ".":
        return True
    before = _WORD.search(text, max(match.start() - 20, 0), match.start())
    word = "" if before is None else before[0]
    if word.isdigit() and len(word) <= 2 and _MONTH.match(text, match.end()):
        return False
    initial = len(word) == 1 and word.isupper() and word != "I"
    if following.isupper() and word.lower() in ("a.m", "p.m"):
        return True
    return not initial and word.lower() not in _ABBREVIATIONS
