"""Where sentences end. Pure: rules, without a model, for texts in languages that are written with full stops."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.apps.rag.chunking.splitting import Range

#: A mark that may end a sentence, with closing quotes, brackets and marks of emphasis, and the white space behind it; Chinese and
#: Japanese marks need none. An empty line and the beginning of an item of a list end a sentence, too.
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
#: The month of a date that is written with a full stop, as in German: "am 3. Februar".
_MONTH = re.compile(r"(?:jän|jan|feb|mär|apr|mai|jun|jul|aug|sep|okt|nov|dez)[a-zä]*\b", re.IGNORECASE)


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[Range]:
    """The sentences of a range: adjacent, each with the white space behind it."""
    end = len(text) if end is None else end
    first = start
    for match in _END.finditer(text, start, end):
        if match["mark"] is None or _ends(text, match):
            yield first, match.end()
            first = match.end()
    if first < end:
        yield first, end


def _ends(text: str, match: re.Match[str]) -> bool:
    """Whether a mark ends its sentence: not behind an abbreviation or an initial, and not before a small letter."""
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
