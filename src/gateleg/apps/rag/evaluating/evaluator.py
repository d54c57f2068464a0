"""Search and answer the questions of a golden set, and measure the results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.answering.answer_stream import AnswerTools, AskRequest, answer
from gateleg.apps.rag.answering.support import ENOUGH, facts_of, support
from gateleg.apps.rag.evaluating.measures import Measures, mean, measure
from gateleg.apps.rag.searching.requests import SearchRequest
from gateleg.apps.rag.searching.search import search

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from gateleg.apps.rag.answering.answers import Answer
    from gateleg.apps.rag.evaluating.tables import GoldenQuestion
    from gateleg.apps.rag.tables import Collection

#: Chunks to retrieve for each document that is measured, because several may belong to one document.
_CHUNKS = 4


@dataclass(frozen=True, slots=True)
class EvaluatedQuestion:
    """A question with the documents that were found, and their metrics."""

    question: GoldenQuestion
    documents: list[str]
    measures: Measures
    milliseconds: float
    answer: Answer | None = None


@dataclass(slots=True)
class Outcome:
    """The results of all questions with one configuration."""

    results: list[EvaluatedQuestion] = field(default_factory=list)

    @property
    def measured(self) -> list[Measures]:
        """The metrics of all questions with relevant documents."""
        return [one.measures for one in self.results if one.question.documents]

    @property
    def mean(self) -> Measures:
        """The means of these metrics."""
        return mean(self.measured)

    @property
    def milliseconds(self) -> float:
        """The mean time of a search."""
        return sum(one.milliseconds for one in self.results) / len(self.results) if self.results else 0.0

    def share(self, holds: Callable[[EvaluatedQuestion], bool | None]) -> float | None:
        """The share of questions for which `holds` is true, among those for which it is not None; None if there are none."""
        decided = [found for one in self.results if (found := holds(one)) is not None]
        return sum(decided) / len(decided) if decided else None


async def run_questions(
    tools: AnswerTools,
    collection: Collection,
    questions: Sequence[GoldenQuestion],
    options: Mapping[str, Any],
    k: int,
    *,
    answers: bool = False,
    progress: Callable[[int], Awaitable[None]] | None = None,
) -> Outcome:
    """Search every question with one configuration; with `answers`, also answer them."""
    outcome = Outcome()
    for number, question in enumerate(questions, 1):
        request = SearchRequest.model_validate({**options, "query": question.question, "topK": min(_CHUNKS * k, 100), "highlight": False})
        result = await search(tools.search, [collection], request)
        documents = list(dict.fromkeys(hit.document_id for hit in result.hits))
        found = await _answer(tools, collection, question) if answers else None
        outcome.results.append(
            EvaluatedQuestion(question, documents, measure(documents, question.documents, k), result.milliseconds, found)
        )
        if progress is not None:
            await progress(number)
    return outcome


async def _answer(tools: AnswerTools, collection: Collection, question: GoldenQuestion) -> Answer | None:
    found = None
    async for event in answer(tools, [collection], AskRequest(question=question.question)):
        found = event.answer or found
    return found


def is_answered(one: EvaluatedQuestion) -> bool | None:
    """Whether a question with relevant documents was answered."""
    return one.answer.found if one.answer is not None and one.question.documents else None


def is_correct(one: EvaluatedQuestion) -> bool | None:
    """Whether an answer has the numbers and names of the expected answer, and most of its words."""
    if one.answer is None or one.question.answer is None:
        return None
    if not one.answer.found:
        return False
    said = " ".join(sentence.text for sentence in (*one.answer.sentences, *one.answer.unverified))
    if not facts_of(one.question.answer) and len(one.question.answer.split()) <= 2:
        return one.question.answer.casefold() in said.casefold()
    return support(one.question.answer, said).score >= ENOUGH


def cites_relevant(one: EvaluatedQuestion) -> bool | None:
    """Whether an answer cites a relevant document."""
    if one.answer is None or not one.answer.found or not one.question.documents:
        return None
    written = (*one.answer.sentences, *one.answer.unverified)
    cited = {one.answer.hits[number - 1].document_id for sentence in written for number in sentence.citations}
    return not cited.isdisjoint(one.question.documents)


def is_refused(one: EvaluatedQuestion) -> bool | None:
    """Whether a question without relevant documents was correctly refused."""
    return not one.answer.found if one.answer is not None and not one.question.documents else None
