"""Write or generate golden sets, and start evaluations. Running one requires the right to search the collection; writing a set requires the
right to change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from gateleg.apps.rag.access import Action, Caller
from gateleg.apps.rag.collections import open_collection
from gateleg.apps.rag.errors import BadSearch, UnknownGoldenSet
from gateleg.apps.rag.evaluating.question_generator import generate_questions
from gateleg.apps.rag.evaluating.tables import MOST_QUESTIONS, EvaluationRun, GoldenQuestion, GoldenSet
from gateleg.apps.rag.searching.requests import SearchRequest
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import Chunk, Document
from gateleg.host import submitted_by
from gateleg.jobs import Submission

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Collection
    from gateleg.host import Principal, Resources
    from gateleg.store import AsyncStore

EVALUATE = "rag_evaluate"
#: Maximum chunks to generate questions from.
_MOST_PASSAGES = 5_000
_CAMEL = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid")


class QuestionDraft(BaseModel):
    """A question of a golden set, as sent."""

    model_config = _CAMEL

    question: str = Field(min_length=1, max_length=4_000)
    documents: list[str] = Field(
        default_factory=list,
        max_length=1_000,
        description="ids or names of the documents that answer it; empty for a question that should be refused",
    )
    answer: str | None = Field(default=None, max_length=4_000, description="the expected answer")


class SetDraft(BaseModel):
    """A golden set, as sent: questions, or the number of questions to generate from the documents."""

    model_config = _CAMEL

    name: str = Field(min_length=1, max_length=100)
    questions: list[QuestionDraft] = Field(default_factory=list, max_length=MOST_QUESTIONS)
    make: int = Field(default=0, ge=0, le=MOST_QUESTIONS, description="number of questions to generate from the documents")
    seed: int = 1


class Configuration(BaseModel):
    """A configuration to measure: the fields of a search request, without its query."""

    model_config = _CAMEL

    name: str = Field(min_length=1, max_length=60)
    request: dict[str, Any] = Field(default_factory=dict)

    @field_validator("request")
    @classmethod
    def _can_be_searched(cls, request: dict[str, Any]) -> dict[str, Any]:
        SearchRequest.model_validate({**request, "query": "x"})
        return {name: value for name, value in request.items() if name != "query"}


class EvaluationConfig(BaseModel):
    """The config of an evaluation job."""

    model_config = _CAMEL

    run_id: str
    repository_id: str
    collection_id: str
    set_id: str
    configurations: list[Configuration] = Field(min_length=1, max_length=4)
    k: int = Field(default=10, ge=1, le=25)
    answers: bool = Field(default=False, description="also answer the questions")
    created_by: str


class EvaluationResult(BaseModel):
    """The result of an evaluation job."""

    run_id: str
    ndcg: list[float]


async def create_set(
    resources: Resources[RagSettings], principal: Principal, repository_id: str, collection_id: str, draft: SetDraft
) -> GoldenSet:
    """Write a golden set, or generate one from the documents of the collection."""
    caller = Caller(principal, resources.settings.admin_group)
    opened = await open_collection(resources.store, caller, repository_id, collection_id, Action.CHANGE_COLLECTION)
    written = [(one.question, one.documents, one.answer) for one in draft.questions]
    if draft.make:
        made = generate_questions(await _passages(resources.store, opened.collection), draft.make, seed=draft.seed)
        written += [(question, documents, None) for question, documents in made]
    if not written:
        raise BadSearch("The golden set would have no questions.", fix="Write questions, or add documents to generate them from.")
    names = await _document_ids(resources.store, opened.collection) if draft.questions else {}
    golden = GoldenSet(
        repository_id=opened.collection.repository_id,
        collection_id=opened.collection.collection_id,
        name=draft.name,
        origin="made" if draft.make else "written",
        questions=len(written),
        created_by=caller.user,
    )
    rows = [
        GoldenQuestion(
            repository_id=golden.repository_id,
            collection_id=golden.collection_id,
            set_id=golden.set_id,
            number=number,
            question=question,
            documents=[names.get(document, document) for document in documents],
            answer=answer,
        )
        for number, (question, documents, answer) in enumerate(written[:MOST_QUESTIONS], 1)
    ]
    await resources.store.batch_write(rows)
    return await resources.store.create(golden)


async def questions_of(store: AsyncStore, golden: GoldenSet) -> list[GoldenQuestion]:
    """The questions of a golden set, in order."""
    query = GoldenQuestion.of_set(repository_id=golden.repository_id, collection_id=golden.collection_id, set_id=golden.set_id)
    return [row async for row in store.query(query, consistent=True)]


async def delete_set(resources: Resources[RagSettings], principal: Principal, repository_id: str, collection_id: str, set_id: str) -> None:
    """Remove a golden set with its questions. Its runs are kept."""
    caller = Caller(principal, resources.settings.admin_group)
    opened = await open_collection(resources.store, caller, repository_id, collection_id, Action.CHANGE_COLLECTION)
    golden = await find_set(resources.store, opened.collection, set_id)
    await _remove_set(resources.store, golden)


async def start_evaluation(
    resources: Resources[RagSettings],
    principal: Principal,
    place: Subject,
    set_id: str,
    configurations: Sequence[Configuration],
    *,
    k: int = 10,
    answers: bool = False,
) -> tuple[str, UUID]:
    """Start a job that runs a golden set with one or more configurations. Return the ids of the run and of the job."""
    collection = await _searchable(resources, principal, place.repository_id, place.collection_id or "")
    await find_set(resources.store, collection, set_id)
    config = EvaluationConfig(
        run_id=_run_id(resources),
        repository_id=collection.repository_id,
        collection_id=collection.collection_id,
        set_id=set_id,
        configurations=list(configurations),
        k=k,
        answers=answers,
        created_by=Caller(principal).user,
    )
    subject = str(Subject(collection.repository_id, collection.collection_id))
    submission = Submission(EVALUATE, config.model_dump(mode="json"), subject=subject)
    return config.run_id, (await resources.queue.submit(submitted_by(principal, submission))).job.job_id


def _run_id(resources: Resources[RagSettings]) -> str:
    """An id that sorts by time."""
    return f"{resources.store.setup.now():%Y%m%dT%H%M%S%f}-{uuid4().hex[:8]}"


async def find_set(store: AsyncStore, collection: Collection, set_id: str) -> GoldenSet:
    """Read a golden set of a collection, or raise `UnknownGoldenSet`."""
    found = await store.find(
        GoldenSet, repository_id=collection.repository_id, collection_id=collection.collection_id, set_id=set_id, consistent=True
    )
    if found is None:
        raise UnknownGoldenSet(f"There is no golden set {set_id!r} for the collection {collection.collection_id!r}.")
    return found


async def remove_evaluations(store: AsyncStore, repository_id: str, collection_id: str) -> int:
    """Remove all golden sets and runs of a collection that is being purged. Return the number of removed items."""
    removed = 0
    place = {"repository_id": repository_id, "collection_id": collection_id}
    for golden in [row async for row in store.query(GoldenSet.of_collection(**place))]:
        removed += await _remove_set(store, golden)
    for run in [row async for row in store.query(EvaluationRun.of_collection(**place))]:
        await store.delete(run.key)
        removed += 1
    return removed


async def _remove_set(store: AsyncStore, golden: GoldenSet) -> int:
    questions = await questions_of(store, golden)
    for question in questions:
        await store.delete(question.key)
    await store.delete(golden.key)
    return len(questions) + 1


async def _searchable(resources: Resources[RagSettings], principal: Principal, repository_id: str, collection_id: str) -> Collection:
    caller = Caller(principal, resources.settings.admin_group)
    return (await open_collection(resources.store, caller, repository_id, collection_id, Action.SEARCH)).collection


async def _documents(store: AsyncStore, collection: Collection) -> list[Document]:
    query = Document.in_partition(repository_id=collection.repository_id, collection_id=collection.collection_id)
    return [row async for row in store.query(query) if row.generation is not None]


async def _document_ids(store: AsyncStore, collection: Collection) -> dict[str, str]:
    """Document ids by document name."""
    return {document.document_name: document.document_id for document in await _documents(store, collection)}


async def _passages(store: AsyncStore, collection: Collection) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for document in await _documents(store, collection):
        query = Chunk.of_document(document_id=document.document_id, generation=document.generation)
        found += [(document.document_id, chunk.text) async for chunk in store.query(query)]
        if len(found) >= _MOST_PASSAGES:
            break
    return found[:_MOST_PASSAGES]
