"""What a question gets: sentences, each with the passages that support it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, computed_field

from gateleg.apps.rag.searching.results import ResponseModel, SearchHit

#: What is said when the documents do not answer.
NOT_FOUND = "This is not in these documents."
Way = Literal["extracted", "generated"]


class AnswerSentence(ResponseModel):
    """A sentence of an answer."""

    #: what it says, without markup
    text: str
    #: passages that support it, by their number in `Answer.hits`, from 1
    citations: list[int]
    #: how much of it the best of these has, 0 to 1: see `support`
    support: float
    #: where it is in its document, for a sentence that was taken from one: [start, end) of the extracted text
    start: int | None = None
    end: int | None = None
    #: these characters as they are written there
    quote: str | None = None
    #: the page that it begins on, where its document has pages
    page: int | None = None


class Answer(ResponseModel):
    """An answer. What no passage supports is not in it."""

    question: str
    #: what was searched for: a follow-up question is completed by those before it
    searched: str
    found: bool
    sentences: list[AnswerSentence] = Field(default_factory=list)
    #: the passages, numbered from 1
    hits: list[SearchHit] = Field(default_factory=list)
    way: Way = "extracted"
    model: str | None = None
    #: sentences that a model wrote and no passage supports
    dropped: int = 0
    note: str | None = None
    conversation_id: str | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The answer in one piece, with its citations."""
        if not self.found:
            return NOT_FOUND
        return " ".join(f"{one.text} {''.join(f'[{number}]' for number in one.citations)}" for one in self.sentences)


class AnswerEvent(ResponseModel):
    """A piece of an answer as it comes: the passages, then sentence by sentence, then the whole."""

    kind: Literal["passages", "sentence", "answer"]
    hits: list[SearchHit] | None = None
    sentence: AnswerSentence | None = None
    answer: Answer | None = None
