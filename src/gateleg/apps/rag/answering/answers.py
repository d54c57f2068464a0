"""The answer to a question, and the events that stream it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, computed_field

from gateleg.apps.rag.searching.results import ResponseModel, SearchHit

#: The text of an answer if no sentence answers the question: the documents may still say it in a way that was not recognized.
NOT_FOUND = "No sentence in these documents answers this."
#: Passages that are named if no sentence answers the question.
_NEAREST = 3
Way = Literal["extracted", "generated"]


class AnswerSentence(ResponseModel):
    """A sentence of an answer."""

    #: plain text without markup
    text: str
    #: numbers of passages in `Answer.hits`, starting at 1: those that say the sentence, or for an unverified one those that the model names
    citations: list[int]
    #: 1 if a passage says the sentence word for word; otherwise the share of its words in the nearest passage, 0 to 1
    support: float
    #: whether a cited passage says the sentence word for word
    checked: bool = True
    #: for an extracted sentence, its position [start, end) in the document's extracted text
    start: int | None = None
    end: int | None = None
    #: the exact characters of the document at this position
    quote: str | None = None
    #: the page on which it begins, if the document has pages
    page: int | None = None


class Answer(ResponseModel):
    """An answer. `sentences` are in the documents word for word; what a model wrote in other words is in `unverified`."""

    question: str
    #: the text that was searched for: the question, or a follow-up question rewritten to stand alone
    searched: str
    #: whether there are sentences, verified or not
    found: bool
    sentences: list[AnswerSentence] = Field(default_factory=list)
    #: sentences of a model that no passage says word for word; they may be wrong
    unverified: list[AnswerSentence] = Field(default_factory=list)
    #: the passages; citations number them from 1
    hits: list[SearchHit] = Field(default_factory=list)
    way: Way = "extracted"
    model: str | None = None
    #: the number of generated sentences that were left out, because they address a model
    dropped: int = 0
    note: str | None = None
    conversation_id: str | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def nearest(self) -> list[int]:
        """The numbers of the passages that are nearest to the question, if no verified sentence answers it."""
        return [] if self.sentences else list(range(1, min(len(self.hits), _NEAREST) + 1))

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The whole answer with its citations; or that no sentence answers the question, and the nearest passages."""
        parts = [_cited(sentence) for sentence in self.sentences] or [NOT_FOUND]
        if self.unverified:
            parts += [f"Not verified, written by {self.model}:", *(_cited(sentence) for sentence in self.unverified)]
        if self.nearest:
            parts += [
                "The nearest passages are",
                ", ".join(f"[{number}] {self.hits[number - 1].citation}" for number in self.nearest) + ".",
            ]
        return " ".join(parts)


def _cited(sentence: AnswerSentence) -> str:
    return f"{sentence.text} {''.join(f'[{number}]' for number in sentence.citations)}".rstrip()


class AnswerEvent(ResponseModel):
    """An event of a streamed answer: the passages, a sentence, or the whole answer."""

    kind: Literal["passages", "sentence", "answer"]
    hits: list[SearchHit] | None = None
    sentence: AnswerSentence | None = None
    answer: Answer | None = None
