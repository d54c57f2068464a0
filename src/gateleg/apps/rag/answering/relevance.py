"""Whether a candidate answers a question, as far as words show it. Pure.

Every word of a question that says something must be in the candidate, in the headings above it, or in the sentences that it goes on from;
a word that means the same will do. What is asked for must be there as well: a number, a time, a colour.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.procedures import identifier_words, is_about
from gateleg.apps.rag.answering.values import fits
from gateleg.apps.rag.answering.vocabulary import are_opposites, message_stems, relatives
from gateleg.apps.rag.index.analysis import analyse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateleg.apps.rag.answering.candidates import Candidate
    from gateleg.apps.rag.answering.questions import Question

    #: How near two stems are in meaning, 0 to 1.
    Nearness = Callable[[str, str], float]

#: The similarity of two words from which one may stand for the other (measured: docs/why/rag.md).
SAME_WORD = 0.7
_PRONOUN = re.compile(r"(?:it|its|they|their|this|these|that|those|he|she|his|her|then|otherwise)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Relevance:
    """What a candidate has of a question."""

    #: the part of the question's words that it has, with its headings and what it goes on from, 0 to 1
    coverage: float
    #: the part that is in the candidate itself
    own: float
    #: words that are nowhere, as stems
    missing: tuple[tuple[str, ...], ...]
    #: whether it has a number, a time, ... as the question wants it
    fits: bool
    #: whether numbers, codes and names of the question are there
    facts: bool
    #: whether it says what to do about what the sentence before it has
    follows: bool = False
    #: for code, whether it is about the task
    about: bool = True
    #: whether it is a command, which may have all words in its headings
    shows: bool = False

    @property
    def answers(self) -> bool:
        """Whether it answers."""
        return self.fits and self.facts and self.about and not self.missing and (self.own > 0 or self.follows or self.shows)


def _no_nearness(one: str, other: str) -> float:
    return 0.0


def relevance(question: Question, candidate: Candidate, nearness: Nearness = _no_nearness) -> Relevance:
    """What a candidate has of a question."""
    own, above = set(analyse(candidate.text)), set(analyse(candidate.context))
    if question.wanted == "steps":
        own |= set(identifier_words(candidate.text))
        above |= set(analyse(candidate.around))
    if candidate.kind == "header":
        own |= message_stems()
    if not candidate.before:
        # The first sentence below a heading speaks for it.
        own |= set(analyse(candidate.heading))
    before = set(analyse(candidate.before)) if _goes_on_from_before(question, candidate, own) else set()
    held = [word for word in question.words if _has(own, word, nearness)]
    elsewhere = [word for word in question.words if word not in held and (_has(above, word) or _has(before, word))]
    missing = tuple(word for word in question.words if word not in held and word not in elsewhere)
    total = len(question.words) or 1
    facts = all((own | above | before).issuperset(analyse(fact)) for fact in question.facts)
    follows = question.wanted == "steps" and bool(before) and any(_has(before, word) for word in question.words)
    return Relevance(
        coverage=1 - len(missing) / total,
        own=len(held) / total,
        missing=missing,
        fits=fits(question, candidate),
        facts=facts,
        follows=follows,
        about=is_about(question, candidate),
        shows=candidate.kind == "command",
    )


def is_mentioned(question: Question, passages: Iterable[str]) -> bool:
    """Whether passages have the numbers, codes and names of a question, and any of its words: without them, nothing can answer it."""
    held = {stem for passage in passages for stem in analyse(passage)}
    if not all(held.issuperset(analyse(fact)) for fact in question.facts):
        return False
    return not question.english or not question.words or any(_has(held, word) for word in question.words)


def _goes_on_from_before(question: Question, candidate: Candidate, own: set[str]) -> bool:
    """Whether what stands before a candidate belongs to it: it begins with a pronoun, says what to do, or has half of the question."""
    if question.wanted == "steps" or candidate.kind == "line" or _PRONOUN.match(candidate.text):
        return True
    return 2 * sum(own.issuperset(word) for word in question.words) >= len(question.words) > 1


def _has(stems: set[str], word: tuple[str, ...], nearness: Nearness = _no_nearness) -> bool:
    if stems.issuperset(word):
        return True
    return len(word) == 1 and (not stems.isdisjoint(relatives(word[0])) or _is_near(word[0], stems, nearness))


def _is_near(word: str, stems: set[str], nearness: Nearness) -> bool:
    return any(nearness(word, stem) >= SAME_WORD and not are_opposites(word, stem) for stem in stems)
