"""Questions that need those before them. Pure.

A pronoun stands for what the last question was about. One that only names something else ("And in Porto?") asks the last one about that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.questions import parse_question
from gateleg.apps.rag.index.analysis import query_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.answering.answers import Answer

#: Words that stand for something that was named before, and beginnings that go on from there.
_PRONOUN = re.compile(r"\b(?:it|they|them|this|that|these|those|he|she|him)\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\b(?:its|their|his|her)\b", re.IGNORECASE)
_REFERS = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|he|she|him|her|his|there|then|one|ones|same|former|latter|er|sie|es|ihn|ihr|dieser?|"
    r"dieses|il|elle|ils|elles|cela|ça|ello|ella|eso|esto)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"^\s*(?:and|but|or|so|then|what about|how about|why|und|aber|was ist mit|et|mais|y|pero)\b", re.IGNORECASE)
#: "And in Porto?", "What about the P-200?", "And E99?": something else, without a verb.
_OTHER = re.compile(r"^\s*(?:and|but|or|so|then)?\s*(?:what about|how about)?\s*(?P<rest>[^?]*?)\s*\??\s*$", re.IGNORECASE)
_PREPOSITION = re.compile(r"^(of|for|in|on|at|by|with|from|to|about|under|during)\b", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must)\b",
    re.IGNORECASE,
)
#: Where the words behind a preposition end.
_NEXT_PART = r"(?=\s+(?:of|for|in|on|at|by|with|from|to|when|if)\b|\s*\?|$)"
#: A question with fewer words of its own is taken to go on from the one before.
_FEWEST = 2
#: Earlier questions of a conversation that a follow-up may refer to.
LOOKED_BACK = 3


@dataclass(frozen=True, slots=True)
class PreviousTurn:
    """A turn of a conversation: its question, the question as it was completed, and the places that its answer consisted of."""

    question: str
    searched: str = ""
    #: document and start of each sentence
    said: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, answer: Answer) -> PreviousTurn:
        """The turn that an answer ends."""
        hits = answer.hits
        said = tuple((hits[one.citations[0] - 1].document_id, one.start) for one in answer.sentences if one.start is not None)
        return cls(answer.question, answer.searched, said)

    @property
    def whole(self) -> str:
        """The question as it can be understood alone."""
        return self.searched or self.question


def needs_earlier(question: str) -> bool:
    """Whether a question can hardly be understood without those before it."""
    own = query_words(question)
    return len(own) < _FEWEST or bool(_GOES_ON.search(question)) or (len(own) < 6 and bool(_REFERS.search(question)))


def complete(question: str, earlier: Sequence[PreviousTurn]) -> str:
    """A question that can be understood without those before it."""
    if not earlier or not needs_earlier(question):
        return question
    before = earlier[-1].whole
    other = _OTHER.match(question)
    if other is not None and other["rest"] and not _VERB.search(other["rest"]):
        replaced = _replaced(before, other["rest"])
        if replaced is not None:
            return replaced
    subject = _subject(before)
    if subject is None:
        return f"{before} {question}"
    found = _POSSESSIVE.sub(lambda _: f"{subject}'s", _PRONOUN.sub(lambda _: subject, question))
    return found if found != question else f"{question.rstrip(' ?')}: {subject}?"


def _subject(question: str) -> str | None:
    """What a question is about: the phrase with a name or a code, or the last one."""
    parsed = parse_question(question)
    named = [phrase for phrase in parsed.phrases if any(fact in phrase for fact in parsed.facts)]
    found = named or list(parsed.phrases)
    return found[-1] if found else None


def _replaced(before: str, rest: str) -> str | None:
    """The question before, asked about something else: behind the same preposition, or in the place of its subject."""
    preposition = _PREPOSITION.match(rest)
    if preposition is not None:
        parts = list(re.finditer(rf"\b{preposition[1]}\b[^?]*?{_NEXT_PART}", before, re.IGNORECASE))
        return before[: parts[-1].start()] + rest + before[parts[-1].end() :] if parts else None
    subject = _subject(before)
    return None if subject is None else before.replace(subject, rest)
