"""The answer to a question, and the events that stream it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, computed_field

from gateleg.apps.rag.searching.results import ResponseModel, SearchHit

#: The text of an answer if the documents do not answer the question.
NOT_FOUND = "This is not in these documents."
Way = Literal["extracted", "generated"]


class AnswerSentence(ResponseModel):
    """A sentence of an answer."""

    #: plain text without markup
    text: str
    #: numbers of the supporting passages in `Answer.hits`, starting at 1
    citations: list[int]
    #: the support by the best of these passages, 0 to 1: see `support`
    support: float
    #: for an extracted sentence, its position [start, end) in the document's extracted text
    start: int | None = None
    end: int | None = None
    #: the exact characters of the document at this position
    quote: str | None = None
    #: the page on which it begins, if the document has pages
    page: int | None = None


class Answer(ResponseModel):
    """An answer. It contains only sentences that a passage supports."""

    question: str
    #: the text that was searched for: the question, or a follow-up question rewritten to stand alone
    searched: str
    found: bool
    sentences: list[AnswerSentence] = Field(default_factory=list)
    #: the passages; citations number them from 1
    hits: list[SearchHit] = Field(default_factory=list)
    way: Way = "extracted"
    model: str | None = None
    #: the number of generated sentences that no passage supports
    dropped: int = 0
    note: str | None = None
    conversation_id: str | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The whole answer with its citations."""
        if not self.found:
            return NOT_FOUND
        return " ".join(f"{one.text} {''.join(f'[{number}]' for number in one.citations)}" for one in self.sentences)


class AnswerEvent(ResponseModel):
    """An event of a streamed answer: the passages, a sentence, or the whole answer."""

    kind: Literal["passages", "sentence", "answer"]
    hits: list[SearchHit] | None = None
    sentence: AnswerSentence | None = None
    answer: Answer | None = None
