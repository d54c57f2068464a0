"""Compare a sentence with a passage. Pure.

`says` decides what may be called checked: whether the passage says the sentence word for word, so that roles, units, conditions and
negations cannot differ. `support` only measures how near they are, for evaluations and to find the nearest passage: it compares words, and
cannot detect a wrong conclusion in the passage's own words.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.rag.chunking.sentences import sentences
from gateleg.apps.rag.index.analysis import DEFAULT_LANGUAGE, analyse, query_words, split_words, stop_words

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The minimum share of a sentence's words that a passage must contain.
ENOUGH = 0.6
#: Maximum number of adjacent sentences of a passage that may support a sentence together.
_TOGETHER = 3
_NEGATION_WORDS = """no not never none nothing nobody neither nor cannot without kein keine nicht nie ohne ne pas jamais sans sin nunca non
    mai senza"""
_NEGATIONS = frozenset(_NEGATION_WORDS.split())
_CONTRACTED = re.compile(r"n['’]t\b")
#: A capitalized word that does not begin a sentence.
_NAME = re.compile(r"(?<=[^.!?:\n] )([^\W\d_a-zß-öø-ÿ][^\W\d_]{2,})")
_CODE = re.compile(r"(?<!\w)(?=[\w.,:/-]*\d)[^\W_][\w.,:/-]*")
_BEGINNING = re.compile(r"\s*(?:the|this|that|an?|our|each|every)\s+([^\W\d_]{3,})", re.IGNORECASE)
_PRONOUN = re.compile(r"\s*(?:it|its|they|their|this|these|that|those|he|she|his|her)\b", re.IGNORECASE)
_CITED = re.compile(r"\s*\[(\d{1,2}(?:\s*[,;]\s*\d{1,2})*)\]")


@dataclass(frozen=True, slots=True)
class Support:
    """How far a passage supports a sentence."""

    #: the share of the sentence's words in the passage, 0 to 1; 0 if the passage contradicts it or lacks a number or a name
    score: float
    #: the missing words, to display
    missing: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the passage supports the sentence."""
        return self.score >= ENOUGH


#: Words, numbers with their separators, and signs that carry meaning, such as currencies, % and <. Other punctuation is skipped.
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|[^\w\s.,;:!?\"'“”„‘’«»()\[\]*_`#|]")
#: The mark of a list item or a clause before its first word: "- ", "2. ", "5.1 ".
_ITEM = re.compile(r"\s*(?:[-*+•]\s+|(?:\d+[.)]|\d+(?:\.\d+)+\.?)\s+(?=[^\W\d_a-zß-öø-ÿ]))")


def says(sentence: str, passage: str) -> bool:
    """Whether a passage says a sentence word for word: as one or a few whole sentences, or as a whole line."""
    own = _tokens(sentence)
    if not own:
        return False
    ranges = [(start, end) for start, end in sentences(passage) if _tokens(passage[start:end])]
    runs = (ranges[first : first + count] for count in range(1, _TOGETHER + 1) for first in range(len(ranges) - count + 1))
    parts = (passage[run[0][0] : run[-1][1]] for run in runs)
    # Only the passage may have a mark that the sentence leaves out: a sentence with the number of another clause is another one.
    return any(own in (_tokens(part), _tokens(_without_mark(part))) for part in (*parts, *passage.splitlines()))


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())


def _without_mark(part: str) -> str:
    mark = _ITEM.match(part)
    return part if mark is None else part[mark.end() :]


def support(sentence: str, passage: str, languages: Sequence[str] = (DEFAULT_LANGUAGE,), context: str = "") -> Support:
    """How far a passage supports a sentence, by its best adjacent sentences.

    `context` is the name of the document and the headings above the passage, which may name the subject of its sentences.
    """
    facts = [fact for fact in facts_of(sentence) if not _has_fact(f"{passage} {context}", fact)]
    if facts:
        return Support(0.0, tuple(facts))
    wanted = [forms for forms in query_words(sentence, languages) if not set(forms) <= _NEGATIONS]
    if not wanted:
        return Support(0.0)
    ranges = list(sentences(passage))
    best = Support(0.0)
    for first in range(len(ranges)):
        part = passage[ranges[first][0] : ranges[min(first + _TOGETHER, len(ranges)) - 1][1]]
        found = _covered(sentence, wanted, part, languages, context)
        if found.score > best.score:
            best = found
    return best


def _covered(sentence: str, wanted: list[tuple[str, ...]], part: str, languages: Sequence[str], context: str) -> Support:
    held = {word for language in languages for word in analyse(part, language)}
    missing = [forms[0] for forms in wanted if held.isdisjoint(forms)]
    nearest = _nearest(sentence, part, languages)
    if denies(sentence) != denies(nearest):
        return Support(0.0, ("a denial" if denies(sentence) else "an affirmation",))
    subject = _subject(sentence)
    if subject and not _is_about(subject, nearest, part, context):
        return Support(0.0, (subject,))
    return Support(1 - len(missing) / len(wanted), tuple(missing))


def _subject(sentence: str) -> str:
    """The noun after an article at the beginning of a sentence; empty if it begins otherwise."""
    found = _BEGINNING.match(sentence)
    return "" if found is None else found[1]


def _is_about(subject: str, nearest: str, part: str, context: str) -> bool:
    """Whether the nearest sentence is about the subject: it or a heading names it, or it begins with a pronoun and the part names it."""
    said = f"{part if _PRONOUN.match(nearest) else nearest} {context}"
    return set(analyse(subject)) <= set(analyse(said))


def _nearest(statement: str, part: str, languages: Sequence[str]) -> str:
    """The sentence that shares most words with a statement."""
    own = {form for forms in query_words(statement, languages) for form in forms}
    nearest, best = "", 0
    for start, end in sentences(part):
        shared = len(own & {word for language in languages for word in analyse(part[start:end], language)})
        if shared > best:
            nearest, best = part[start:end], shared
    return nearest


def denies(text: str) -> bool:
    """Whether a text contains a negation."""
    return bool(_CONTRACTED.search(text)) or any(word in _NEGATIONS for word in split_words(text))


def facts_of(text: str) -> list[str]:
    """The numbers and codes of a text, and its names, except at the beginning of a sentence."""
    plain = _CITED.sub("", text)
    codes = [match.group().strip(".,:;") for match in _CODE.finditer(plain)]
    names = [match.group(1) for match in _NAME.finditer(plain) if match.group(1)]
    stops = stop_words(DEFAULT_LANGUAGE)
    return list(dict.fromkeys([*codes, *(name for name in names if name.casefold() not in stops)]))


def _has_fact(passage: str, fact: str) -> bool:
    """Whether a number, code or name is in a passage, ignoring case and thousands separators."""
    if re.search(rf"(?<!\w){re.escape(fact)}(?!\w)", passage, re.IGNORECASE):
        return True
    if any(letter.isdigit() for letter in fact):
        squeezed = re.sub(r"[,\s_]", "", fact)
        return (
            re.search(rf"(?<![\w.]){re.escape(squeezed)}(?!\w)", re.sub(r"(?<=\d)[,_\s](?=\d{3})", "", passage), re.IGNORECASE) is not None
        )
    # Inflected forms of names.
    return set(analyse(fact)) <= set(analyse(passage))


def cited_numbers(sentence: str) -> list[int]:
    """The numbers of the passages that a sentence cites: [1], [2, 3]."""
    return list(dict.fromkeys(int(number) for match in _CITED.finditer(sentence) for number in re.split(r"\s*[,;]\s*", match.group(1))))


def without_citations(sentence: str) -> str:
    """A sentence without its citation marks."""
    return " ".join(_CITED.sub("", sentence).split())
