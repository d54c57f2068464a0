"""Rewrite follow-up questions so that they stand alone. Pure.

A pronoun refers to the subject of the previous question. A question that only names another thing ("And in Porto?") repeats the previous
question for that thing.
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

#: Words that refer to earlier questions, and phrases that continue them.
_PRONOUN = re.compile(r"\b(?:it|they|them|this|that|these|those|he|she|him)\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\b(?:its|their|his|her)\b", re.IGNORECASE)
_REFERS = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|he|she|him|her|his|there|then|one|ones|same|former|latter|er|sie|es|ihn|ihr|dieser?|"
    r"dieses|il|elle|ils|elles|cela|ça|ello|ella|eso|esto)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"^\s*(?:and|but|or|so|then|what about|how about|why|und|aber|was ist mit|et|mais|y|pero)\b", re.IGNORECASE)
#: The words before another thing: "And in Porto?", "What about the P-200?", "And E99?".
_BEFORE_OTHER = re.compile(r"(?:(?:and|but|or|so|then)\b ?)?(?:(?:what|how) about\b ?)?", re.IGNORECASE)
_PREPOSITION = re.compile(r"^(of|for|in|on|at|by|with|from|to|about|under|during)\b", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must)\b",
    re.IGNORECASE,
)
#: The end of a prepositional phrase.
_NEXT_PART = r"(?= (?:of|for|in|on|at|by|with|from|to|when|if)\b| ?\?|$)"
#: A question with fewer significant words is a follow-up question.
_FEWEST = 2
#: Number of earlier questions that the model gets for rewriting a follow-up.
MAX_PREVIOUS_TURNS = 3


@dataclass(frozen=True, slots=True)
class PreviousTurn:
    """A turn of a conversation: its question, as asked and as rewritten, and the sentences that answered it."""

    question: str
    searched: str = ""
    #: document and start position of each sentence of the answer
    said: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, answer: Answer) -> PreviousTurn:
        """The turn that ends with an answer."""
        hits = answer.hits
        said = tuple((hits[one.citations[0] - 1].document_id, one.start) for one in answer.sentences if one.start is not None)
        return cls(answer.question, answer.searched, said)

    @property
    def standalone(self) -> str:
        """The question in its rewritten form."""
        return self.searched or self.question


def is_followup(question: str) -> bool:
    """Whether a question depends on earlier questions."""
    own = query_words(question)
    return len(own) < _FEWEST or bool(_GOES_ON.search(question)) or (len(own) < 6 and bool(_REFERS.search(question)))


def resolve_followup(question: str, earlier: Sequence[PreviousTurn]) -> str:
    """Rewrite a follow-up question so that it stands alone; return other questions unchanged."""
    if not earlier or not is_followup(question):
        return question
    before, question = _on_one_line(earlier[-1].standalone), _on_one_line(question)
    other = _other_thing(question)
    if other and not _VERB.search(other):
        replaced = _substitute(before, other)
        if replaced is not None:
            return replaced
    subject = _subject(before)
    if subject is None:
        return f"{before} {question}"
    found = _POSSESSIVE.sub(lambda _: f"{subject}'s", _PRONOUN.sub(lambda _: subject, question))
    return found if found != question else f"{question.rstrip(' ?')}: {subject}?"


def _on_one_line(text: str) -> str:
    """A text with single blanks: expressions that allow any number of them would take the square of that number."""
    return " ".join(text.split())


def _other_thing(question: str) -> str | None:
    """What a question names, without the words before it and its question mark; None if it consists of several questions."""
    rest = question.removesuffix("?").rstrip()
    words = _BEFORE_OTHER.match(rest)
    rest = rest if words is None else rest[words.end() :]
    return None if "?" in rest else rest


def _subject(question: str) -> str | None:
    """The subject of a question: the last phrase with a name or a code, or the last phrase."""
    parsed = parse_question(question)
    named = [phrase for phrase in parsed.phrases if any(fact in phrase for fact in parsed.facts)]
    found = named or list(parsed.phrases)
    return found[-1] if found else None


def _substitute(before: str, rest: str) -> str | None:
    """Repeat the question `before` with another prepositional phrase or another subject; None if it has nothing to replace."""
    preposition = _PREPOSITION.match(rest)
    if preposition is not None:
        parts = list(re.finditer(rf"\b{preposition[1]}\b[^?]*?{_NEXT_PART}", before, re.IGNORECASE))
        return before[: parts[-1].start()] + rest + before[parts[-1].end() :] if parts else None
    subject = _subject(before)
    return None if subject is None else before.replace(subject, rest)
