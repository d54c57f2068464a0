"""Answers made of the documents' own sentences, rows and lines. No model writes anything, so nothing is invented."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.answers import AnswerSentence
from gateleg.apps.rag.answering.procedures import instruction, tells
from gateleg.apps.rag.answering.questions import Question, parse_question
from gateleg.apps.rag.answering.relevance import Relevance, relevance
from gateleg.apps.rag.index.analysis import analyse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gateleg.apps.rag.answering.candidates import Candidate
    from gateleg.apps.rag.answering.followups import PreviousTurn

#: Sentences of an answer, candidates that are compared by meaning, and those whose words are compared one by one.
_MOST, _COMPARED, _LOOKED_AT = 3, 60, 6
#: Characters from which a sentence is long, and what the longest ones lose by that: who reads an answer wants its point.
_LONG, _LONGEST, _LOSS = 200, 600, 0.1
#: Weights of meaning and words, as in searches; code is far from every question.
_MEANING, _MEANING_OF_STEPS, _WORDS = 0.6, 0.4, 0.4
#: A further sentence must be this good beside the best one, and no copy of one that is there.
_BESIDE, _BESIDE_STEPS, _SAME = 0.93, 0.95, 0.92
#: For questions in other languages: below the first similarity the documents are about something else (measured: docs/why/rag.md);
#: between both, words must agree.
_UNRELATED, _RELATED, _AGREEING = 0.30, 0.45, 0.5
#: The least similarity of an answer that has all words of its question.
_LEAST = 0.2


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """A candidate, what it has of the question, and how near it is to it; without a model, that is not known."""

    candidate: Candidate
    relevance: Relevance
    near: float | None = None
    vector: NDArray[np.float32] | None = field(default=None, repr=False)
    #: what it gains by saying what to do; None where that is not asked
    instruction: float | None = None

    @property
    def worth(self) -> float:
        """What candidates are ordered by."""
        worded = 0.7 * self.relevance.coverage + 0.3 * self.relevance.own
        long = _LOSS * min(1.0, max(0, len(self.candidate.text) - _LONG) / (_LONGEST - _LONG))
        meaning = _MEANING if self.instruction is None else _MEANING_OF_STEPS
        compared = worded if self.near is None else meaning * max(self.near, 0.0) + _WORDS * worded
        return compared + (self.instruction or 0.0) - long


def shortlist(question: Question, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that are worth comparing by meaning: those that share most words with a question, in their order."""
    ranked = sorted(range(len(candidates)), key=lambda place: -relevance(question, candidates[place]).coverage)
    return [candidates[place] for place in sorted(ranked[:_COMPARED])]


def judge(
    question: Question,
    candidates: Sequence[Candidate],
    own: NDArray[np.float32] | None = None,
    vectors: NDArray[np.float32] | None = None,
) -> list[ScoredCandidate]:
    """The candidates, best first. `own` is the question's vector and `vectors` are those of the candidates."""
    found = []
    for place, one in enumerate(candidates):
        vector = None if vectors is None else vectors[place]
        near = None if vector is None or own is None else float(vector @ own)
        gain = instruction(question, one) if question.wanted == "steps" else None
        found.append(ScoredCandidate(one, relevance(question, one), near, vector, gain))
    return sorted(found, key=lambda one: -one.worth)


def open_words(judged: Sequence[ScoredCandidate]) -> tuple[list[str], list[str]]:
    """Words of the question that the best candidates lack, and the words of these candidates: they may mean the same."""
    best = [one for one in judged if one.relevance.fits and one.relevance.facts and one.relevance.missing][:_LOOKED_AT]
    missing = dict.fromkeys(word[0] for one in best for word in one.relevance.missing if len(word) == 1)
    held = dict.fromkeys(word for one in best for word in analyse(one.candidate.text) if len(word) > 2 and word.isalpha())
    return list(missing), list(held)


def judge_again(question: Question, judged: Sequence[ScoredCandidate], near: Mapping[tuple[str, str], float]) -> list[ScoredCandidate]:
    """The candidates judged once more, knowing how near some words are in meaning."""

    def nearness(one: str, other: str) -> float:
        return near.get((one, other), 0.0)

    found = [replace(one, relevance=relevance(question, one.candidate, nearness)) for one in judged]
    return sorted(found, key=lambda one: -one.worth)


def choose(question: Question, judged: Sequence[ScoredCandidate], earlier: Sequence[PreviousTurn] = ()) -> list[AnswerSentence]:
    """The sentences that answer a question, in the order of their passages; none if the documents do not.

    What the answers to `earlier` questions said is said again only where it has what is new in this question.
    """
    said = {place for one in earlier for place in one.said}
    new = _new_words(question, earlier)
    passing = [
        one
        for one in judged
        if _answers(question, one) and ((one.candidate.document_id, one.candidate.start) not in said or _has_news(question, one, new))
    ]
    chosen: list[ScoredCandidate] = []
    for one in passing:
        if len(chosen) == _MOST or one.worth < (_BESIDE_STEPS if question.wanted == "steps" else _BESIDE) * passing[0].worth:
            break
        if not any(_same(one, other) for other in chosen) and (question.wanted != "steps" or _is_beside(one, passing[0])):
            chosen.append(one)
    chosen.sort(key=lambda one: (one.candidate.number, one.candidate.start))
    return [_sentence(one.candidate) for one in chosen]


def _answers(question: Question, one: ScoredCandidate) -> bool:
    found = one.relevance
    if question.english:
        return found.answers and (one.near is None or found.follows or one.near >= _LEAST)
    if not found.facts or one.near is None:
        return found.facts and found.own >= _AGREEING
    return one.near >= _RELATED or (one.near >= _UNRELATED and found.own >= _AGREEING)


def _new_words(question: Question, earlier: Sequence[PreviousTurn]) -> list[tuple[str, ...]]:
    asked = {word for one in earlier for word in parse_question(one.whole).words}
    return [word for word in question.words if word not in asked]


def _has_news(question: Question, one: ScoredCandidate, new: Sequence[tuple[str, ...]]) -> bool:
    """Whether a candidate that was said before answers this question as well: by a word that is new in it, or with a value of its kind."""
    if question.wanted in (None, "steps", "reason"):
        return bool(new) and all(set(analyse(one.candidate.text)).issuperset(word) for word in new)
    return True


def _sentence(one: Candidate) -> AnswerSentence:
    return AnswerSentence(text=one.text, citations=[one.number], support=1.0, start=one.start, end=one.end, quote=one.quote, page=one.page)


def _is_beside(one: ScoredCandidate, best: ScoredCandidate) -> bool:
    """Whether a candidate stands in the section of the best one: the steps of a task stand together."""
    own, other = one.candidate, best.candidate
    return own is other or (own.document_id == other.document_id and own.path == other.path and tells(own))


def _same(one: ScoredCandidate, other: ScoredCandidate) -> bool:
    if one.candidate.text in other.candidate.text or other.candidate.text in one.candidate.text:
        return True
    if one.vector is not None and other.vector is not None:
        return float(one.vector @ other.vector) >= _SAME
    return one.candidate.text.casefold() == other.candidate.text.casefold()
