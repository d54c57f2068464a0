"""Decide by words whether a candidate answers a question. Pure.

Every significant word of the question must occur in the candidate, in the headings above it or in the sentences that it continues; a
synonym also counts. The candidate must also contain a value of the expected answer type: a number, a time, a colour.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.answer_types import has_answer_type
from gateleg.apps.rag.answering.instructions import identifier_stems, is_about
from gateleg.apps.rag.answering.vocabulary import are_opposites, message_stems, relatives
from gateleg.apps.rag.index.analysis import analyse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateleg.apps.rag.answering.candidates import Candidate
    from gateleg.apps.rag.answering.questions import Question

    #: The similarity of two stems, 0 to 1.
    WordSimilarity = Callable[[str, str], float]

#: The similarity from which two words count as synonyms (measured: docs/why/rag.md).
SAME_WORD = 0.7
_PRONOUN = re.compile(r"(?:it|its|they|their|this|these|that|those|he|she|his|her|then|otherwise)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Relevance:
    """How far a candidate matches a question."""

    #: the share of the question's words in the candidate, its headings and the sentences that it continues, 0 to 1
    coverage: float
    #: the share in the candidate itself
    own_coverage: float
    #: the missing words, as stems
    missing: tuple[tuple[str, ...], ...]
    #: whether it has a value of the expected answer type
    has_answer_type: bool
    #: whether it has the numbers, codes and names of the question
    has_facts: bool
    #: for how-to questions: whether it continues a sentence with a word of the question
    continues_instruction: bool = False
    #: for code: whether it is about the task
    is_about_task: bool = True
    #: whether it is a command; all words may be in its headings
    is_command: bool = False

    @property
    def answers(self) -> bool:
        """Whether the candidate answers the question."""
        return (
            self.has_answer_type
            and self.has_facts
            and self.is_about_task
            and not self.missing
            and (self.own_coverage > 0 or self.continues_instruction or self.is_command)
        )


def _no_similarity(one: str, other: str) -> float:
    return 0.0


def relevance(question: Question, candidate: Candidate, word_similarity: WordSimilarity = _no_similarity) -> Relevance:
    """Compare a candidate with a question."""
    own, above = set(analyse(candidate.text)), set(analyse(candidate.context))
    if question.answer_type == "steps":
        own |= set(identifier_stems(candidate.text))
        above |= set(analyse(candidate.passage))
    if candidate.kind == "header":
        own |= message_stems()
    if not candidate.before:
        # The first sentence below a heading is about the heading.
        own |= set(analyse(candidate.heading))
    before = set(analyse(candidate.before)) if _continues_previous(question, candidate, own) else set()
    held = [word for word in question.words if _has(own, word, word_similarity)]
    elsewhere = [word for word in question.words if word not in held and (_has(above, word) or _has(before, word))]
    missing = tuple(word for word in question.words if word not in held and word not in elsewhere)
    total = len(question.words) or 1
    has_facts = all((own | above | before).issuperset(analyse(fact)) for fact in question.facts)
    continues_instruction = question.answer_type == "steps" and bool(before) and any(_has(before, word) for word in question.words)
    return Relevance(
        coverage=1 - len(missing) / total,
        own_coverage=len(held) / total,
        missing=missing,
        has_answer_type=has_answer_type(question, candidate),
        has_facts=has_facts,
        continues_instruction=continues_instruction,
        is_about_task=is_about(question, candidate),
        is_command=candidate.kind == "command",
    )


def is_mentioned(question: Question, passages: Iterable[str]) -> bool:
    """Whether the passages contain all numbers, codes and names of a question and one of its words. If not, they cannot answer it."""
    held = {stem for passage in passages for stem in analyse(passage)}
    if not all(held.issuperset(analyse(fact)) for fact in question.facts):
        return False
    return not question.english or not question.words or any(_has(held, word) for word in question.words)


def _continues_previous(question: Question, candidate: Candidate, own: set[str]) -> bool:
    """Whether a candidate continues the sentences before it: it begins with a pronoun, is an instruction, or has half of the question's
    words."""
    if question.answer_type == "steps" or candidate.kind == "line" or _PRONOUN.match(candidate.text):
        return True
    return 2 * sum(own.issuperset(word) for word in question.words) >= len(question.words) > 1


def _has(stems: set[str], word: tuple[str, ...], word_similarity: WordSimilarity = _no_similarity) -> bool:
    if stems.issuperset(word):
        return True
    return len(word) == 1 and (not stems.isdisjoint(relatives(word[0])) or _is_near(word[0], stems, word_similarity))


def _is_near(word: str, stems: set[str], word_similarity: WordSimilarity) -> bool:
    return any(word_similarity(word, stem) >= SAME_WORD and not are_opposites(word, stem) for stem in stems)
