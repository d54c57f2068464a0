"""Extractive answers: score the candidates and select sentences, rows and lines of the documents. No model writes any of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.answers import AnswerSentence
from gateleg.apps.rag.answering.instructions import instruction_bonus, is_instruction_or_code
from gateleg.apps.rag.answering.questions import Question, parse_question
from gateleg.apps.rag.answering.relevance import Relevance, relevance
from gateleg.apps.rag.index.analysis import analyse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gateleg.apps.rag.answering.candidates import Candidate
    from gateleg.apps.rag.answering.followups import PreviousTurn

#: Maximum sentences of an answer, candidates that are embedded, and candidates whose words are compared by embedding.
_MAX_SENTENCES, _MAX_EMBEDDED, _MAX_WORD_COMPARED = 3, 60, 6
#: The penalty for long sentences: it begins at this length and reaches its maximum at the second.
_LONG, _LONGEST, _LONG_PENALTY = 200, 600, 0.1
#: Weights of meaning (lower for how-to questions, because embeddings of code are far from every question) and words.
_MEANING, _MEANING_OF_STEPS, _WORDS = 0.6, 0.4, 0.4
#: Minimum score of a further sentence relative to the best (higher for how-to questions); similarity from which it is a duplicate.
_MIN_RELATIVE_SCORE, _MIN_RELATIVE_SCORE_STEPS, _DUPLICATE_SIMILARITY = 0.93, 0.95, 0.92
#: For questions in other languages: below the first similarity, a candidate is unrelated (measured: docs/why/rag.md); between both, this
#: share of the question's words must match.
_UNRELATED, _RELATED, _MIN_COVERAGE = 0.30, 0.45, 0.5
#: Minimum similarity of a candidate that has all words of the question.
_MIN_SIMILARITY = 0.2


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """A candidate with its relevance and its cosine similarity to the question; None without an embedding model."""

    candidate: Candidate
    relevance: Relevance
    similarity: float | None = None
    vector: NDArray[np.float32] | None = field(default=None, repr=False)
    #: the bonus for instructions; None unless the question asks how to do something
    instruction_bonus: float | None = None

    @property
    def score(self) -> float:
        """The score by which candidates are ranked."""
        worded = 0.7 * self.relevance.coverage + 0.3 * self.relevance.own_coverage
        long = _LONG_PENALTY * min(1.0, max(0, len(self.candidate.text) - _LONG) / (_LONGEST - _LONG))
        meaning = _MEANING if self.instruction_bonus is None else _MEANING_OF_STEPS
        compared = worded if self.similarity is None else meaning * max(self.similarity, 0.0) + _WORDS * worded
        return compared + (self.instruction_bonus or 0.0) - long


def shortlist(question: Question, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates to embed: those that share most words with the question, in their original order."""
    ranked = sorted(range(len(candidates)), key=lambda place: -relevance(question, candidates[place]).coverage)
    return [candidates[place] for place in sorted(ranked[:_MAX_EMBEDDED])]


def score_candidates(
    question: Question,
    candidates: Sequence[Candidate],
    own: NDArray[np.float32] | None = None,
    vectors: NDArray[np.float32] | None = None,
) -> list[ScoredCandidate]:
    """Score the candidates, best first. `own` is the vector of the question; `vectors` are those of the candidates."""
    found = []
    for place, one in enumerate(candidates):
        vector = None if vectors is None else vectors[place]
        similarity = None if vector is None or own is None else float(vector @ own)
        gain = instruction_bonus(question, one) if question.answer_type == "steps" else None
        found.append(ScoredCandidate(one, relevance(question, one), similarity, vector, gain))
    return sorted(found, key=lambda one: -one.score)


def unmatched_words(scored: Sequence[ScoredCandidate]) -> tuple[list[str], list[str]]:
    """Question words that the best candidates lack, and the words of these candidates, which may be synonyms."""
    best = [one for one in scored if one.relevance.has_answer_type and one.relevance.has_facts and one.relevance.missing][
        :_MAX_WORD_COMPARED
    ]
    missing = dict.fromkeys(word[0] for one in best for word in one.relevance.missing if len(word) == 1)
    held = dict.fromkeys(word for one in best for word in analyse(one.candidate.text) if len(word) > 2 and word.isalpha())
    return list(missing), list(held)


def rescore_candidates(
    question: Question, scored: Sequence[ScoredCandidate], similarities: Mapping[tuple[str, str], float]
) -> list[ScoredCandidate]:
    """Score the candidates again, given the similarities of some pairs of words."""

    def word_similarity(one: str, other: str) -> float:
        return similarities.get((one, other), 0.0)

    found = [replace(one, relevance=relevance(question, one.candidate, word_similarity)) for one in scored]
    return sorted(found, key=lambda one: -one.score)


def select_sentences(question: Question, scored: Sequence[ScoredCandidate], earlier: Sequence[PreviousTurn] = ()) -> list[AnswerSentence]:
    """Select the sentences that answer a question, in the order of their passages; none if the documents do not answer it.

    A sentence of an `earlier` answer is repeated only if it also answers what is new in this question.
    """
    said = {place for one in earlier for place in one.said}
    new = _new_words(question, earlier)
    passing = [
        one
        for one in scored
        if _answers(question, one) and ((one.candidate.document_id, one.candidate.start) not in said or _answers_anew(question, one, new))
    ]
    chosen: list[ScoredCandidate] = []
    for one in passing:
        if (
            len(chosen) == _MAX_SENTENCES
            or one.score < (_MIN_RELATIVE_SCORE_STEPS if question.answer_type == "steps" else _MIN_RELATIVE_SCORE) * passing[0].score
        ):
            break
        if not any(_is_duplicate(one, other) for other in chosen) and (
            question.answer_type != "steps" or _is_in_same_section(one, passing[0])
        ):
            chosen.append(one)
    chosen.sort(key=lambda one: (one.candidate.number, one.candidate.start))
    return [_sentence(one.candidate) for one in chosen]


def _answers(question: Question, one: ScoredCandidate) -> bool:
    found = one.relevance
    if question.english:
        return found.answers and (one.similarity is None or found.continues_instruction or one.similarity >= _MIN_SIMILARITY)
    if not found.has_facts or one.similarity is None:
        return found.has_facts and found.own_coverage >= _MIN_COVERAGE
    return one.similarity >= _RELATED or (one.similarity >= _UNRELATED and found.own_coverage >= _MIN_COVERAGE)


def _new_words(question: Question, earlier: Sequence[PreviousTurn]) -> list[tuple[str, ...]]:
    asked = {word for one in earlier for word in parse_question(one.standalone).words}
    return [word for word in question.words if word not in asked]


def _answers_anew(question: Question, one: ScoredCandidate, new: Sequence[tuple[str, ...]]) -> bool:
    """Whether a sentence of an earlier answer also answers this question: with the words that are new in it, or with a value."""
    if question.answer_type in (None, "steps", "reason"):
        return bool(new) and all(set(analyse(one.candidate.text)).issuperset(word) for word in new)
    return True


def _sentence(one: Candidate) -> AnswerSentence:
    return AnswerSentence(text=one.text, citations=[one.number], support=1.0, start=one.start, end=one.end, quote=one.quote, page=one.page)


def _is_in_same_section(one: ScoredCandidate, best: ScoredCandidate) -> bool:
    """Whether a candidate is an instruction in the section of the best one: the steps of a task are in one section."""
    own, other = one.candidate, best.candidate
    return own is other or (own.document_id == other.document_id and own.path == other.path and is_instruction_or_code(own))


def _is_duplicate(one: ScoredCandidate, other: ScoredCandidate) -> bool:
    if one.candidate.text in other.candidate.text or other.candidate.text in one.candidate.text:
        return True
    if one.vector is not None and other.vector is not None:
        return float(one.vector @ other.vector) >= _DUPLICATE_SIMILARITY
    return one.candidate.text.casefold() == other.candidate.text.casefold()
