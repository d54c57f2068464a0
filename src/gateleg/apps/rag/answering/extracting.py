"""Answers made of the documents' own sentences. No model writes anything, so nothing is invented."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.rag.answering.answers import AnswerSentence
from gateleg.apps.rag.answering.injection import speaks_to_a_model
from gateleg.apps.rag.answering.support import facts_of
from gateleg.apps.rag.chunking.sentences import sentences
from gateleg.apps.rag.index.analysis import analyse, query_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gateleg.apps.rag.searching.results import SearchHit

#: Sentences of an answer, and sentences that are looked at.
_MOST, _LOOKED_AT = 3, 60
_SHORTEST, _LONGEST, _FEWEST_WORDS = 20, 600, 4
#: The part of a sentence that is letters and spaces, and the length from which it needs no full stop.
_LETTERS, _SPEAKS_FOR_ITSELF = 0.75, 80
_NOT_PROSE = ("#", "|", "```", "from ", "import ", "def ", "class ", "{", "<")
#: The mark of an item of a list.
_MARKER = re.compile(r"\s*(?:[-*•+]|\d{1,3}[.)])?\s*")
#: Weights of meaning and words, as in searches.
_MEANING, _WORDS = 0.6, 0.4
#: A further sentence must be this good beside the best one, and no copy of one that is there.
_BESIDE, _SAME = 0.8, 0.92
#: Below the first similarity the documents are about something else (measured: docs/why/rag.md); between both, words must agree.
_UNRELATED, _RELATED, _AGREEING = 0.30, 0.45, 0.5


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a hit."""

    #: the number of the hit, from 1
    number: int
    text: str
    #: of the document's extracted text
    start: int
    end: int
    page: int | None = None


def sentences_of(hits: Sequence[SearchHit]) -> list[Sentence]:
    """The sentences of hits that may answer: neither fragments nor instructions to a model."""
    found = []
    for number, hit in enumerate(hits, 1):
        for start, end in sentences(hit.text):
            text = hit.text[start:end]
            first = _MARKER.match(text)
            begin = first.end() if first else 0
            bare = " ".join(text[begin:].split())
            if is_prose(bare) and not speaks_to_a_model(bare):
                place = hit.start + start + begin
                found.append(Sentence(number, bare, place, hit.start + start + len(text.rstrip()), hit.page_at(place)))
    return found[:_LOOKED_AT]


def is_prose(text: str) -> bool:
    """Whether a text reads as a sentence: not a heading, a row of a table, a line of code or a fragment."""
    if not _SHORTEST <= len(text) <= _LONGEST or len(text.split()) < _FEWEST_WORDS or text.startswith(_NOT_PROSE):
        return False
    letters = sum(letter.isalpha() or letter.isspace() for letter in text)
    ended = text.rstrip("*_`\"'”’»)]").endswith((".", "!", "?", "…", "。", "！", "？"))
    return letters >= _LETTERS * len(text) and text.count("|") < 2 and (ended or len(text) >= _SPEAKS_FOR_ITSELF)


def choose(
    questions: Sequence[str], candidates: Sequence[Sentence], own: NDArray[np.float32] | None, vectors: NDArray[np.float32] | None
) -> list[AnswerSentence]:
    """The sentences that answer a question, in the order of their passages; none if the documents do not.

    `questions` are the question as it was asked and as it was completed by those before it. `own` is the question's vector and
    `vectors` are those of the candidates; without them words alone decide.
    """
    if not candidates:
        return []
    asked = next((question for question in questions if query_words(question)), questions[-1])
    worded = np.array([_overlap(asked, one.text) for one in candidates], dtype=np.float32)
    near = vectors @ own if vectors is not None and own is not None else None
    worth = worded if near is None else _MEANING * np.maximum(near, 0) + _WORDS * worded
    order = np.argsort(-worth, kind="stable").tolist()
    best = order[0]
    if not _answers(float(near[best]) if near is not None else None, float(worded[best])):
        return []
    chosen: list[int] = []
    for place in order:
        if len(chosen) == _MOST or worth[place] < _BESIDE * worth[best]:
            break
        if not any(_same(candidates, vectors, place, other) for other in chosen):
            chosen.append(place)
    if not _has_facts(questions[-1], [candidates[place].text for place in chosen]):
        return []
    chosen.sort(key=lambda place: (candidates[place].number, candidates[place].start))
    return [_sentence(candidates[place]) for place in chosen]


def _sentence(one: Sentence) -> AnswerSentence:
    return AnswerSentence(text=one.text, citations=[one.number], support=1.0, start=one.start, end=one.end, page=one.page)


def _answers(near: float | None, worded: float) -> bool:
    if near is None:
        return worded >= _AGREEING
    return near >= _RELATED or (near >= _UNRELATED and worded >= _AGREEING)


def _overlap(question: str, text: str) -> float:
    """The part of a question's words that a sentence has."""
    wanted = query_words(question)
    held = set(analyse(text))
    return sum(not held.isdisjoint(forms) for forms in wanted) / len(wanted) if wanted else 0.0


def _same(candidates: Sequence[Sentence], vectors: NDArray[np.float32] | None, one: int, other: int) -> bool:
    if vectors is not None:
        return float(vectors[one] @ vectors[other]) >= _SAME
    return candidates[one].text.casefold() == candidates[other].text.casefold()


def _has_facts(question: str, texts: Sequence[str]) -> bool:
    """Whether the numbers, codes and names that a question asks about are in what is to answer it."""
    together = set(analyse(" ".join(texts)))
    return all(set(analyse(fact)) <= together for fact in facts_of(question))
