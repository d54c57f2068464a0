"""The routes of `/api/rag` for golden sets and evaluations."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import Field

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.api import caller_of, resources_of
from gateleg.apps.rag.collections import open_collection
from gateleg.apps.rag.drafts import Draft
from gateleg.apps.rag.evaluating.service import Configuration, SetDraft, create_set, delete_set, find_set, start_evaluation
from gateleg.apps.rag.evaluating.tables import ConfigurationResult, EvaluationRun, GoldenQuestion, GoldenSet
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import Collection
from gateleg.apps.rag.web.views import View
from gateleg.host.errors import Unknown
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter()
_ROOT = "/repository/{repository_id}/collections/{collection_id:path}/golden-sets"
_RUNS = "/repository/{repository_id}/collections/{collection_id:path}/evaluations"
SetId = Annotated[str, Path(max_length=100)]


class SetView(View):
    """A golden set."""

    set_id: str
    name: str
    origin: str
    questions: int
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, golden: GoldenSet) -> "SetView":
        """The view of a golden set."""
        return cls(**{name: getattr(golden, name) for name in cls.model_fields})


class QuestionView(View):
    """A question of a golden set, with the documents that answer it."""

    number: int
    question: str
    documents: list[str]
    answer: str | None

    @classmethod
    def of(cls, question: GoldenQuestion) -> "QuestionView":
        """The view of a question."""
        return cls(**{name: getattr(question, name) for name in cls.model_fields})


class NewEvaluation(Draft):
    """One or more configurations to measure with a golden set."""

    set_id: str = Field(max_length=100)
    configurations: list[Configuration] = Field(min_length=1, max_length=4)
    k: int = Field(default=10, ge=1, le=25)
    answers: bool = Field(default=False, description="Also answer the questions.")


class EvaluationStarted(View):
    """The run, and its job."""

    run_id: str
    job_id: UUID


class MeasuredView(View):
    """A configuration with its mean metrics."""

    name: str
    request: dict[str, Any]
    recall: float
    precision: float
    mrr: float
    ndcg: float
    hit_rate: float
    milliseconds: float
    answered: float | None
    correct: float | None
    cited: float | None
    refused: float | None

    @classmethod
    def of(cls, result: ConfigurationResult) -> "MeasuredView":
        """The view of a result."""
        return cls(**{name: getattr(result, name) for name in cls.model_fields})


class RunView(View):
    """A completed evaluation."""

    run_id: str
    set_id: str
    set_name: str
    questions: int
    k: int
    results: list[MeasuredView]
    comparisons: list[dict[str, float]]
    details: list[dict[str, Any]]
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, run: EvaluationRun) -> "RunView":
        """The view of a run."""
        own = {name: getattr(run, name) for name in cls.model_fields if name != "results"}
        return cls(**own, results=[MeasuredView.of(one) for one in run.results])


async def _searchable(call: ApiCall, repository_id: str, collection_id: str) -> Collection:
    return (await open_collection(call.host.store, caller_of(call), repository_id, collection_id, Action.SEARCH)).collection


@router.get(_ROOT)
async def list_sets(call: Using, repository_id: str, collection_id: str, limit: Limit = 50, cursor: Cursor = None) -> Listing[SetView]:
    """List the golden sets of a collection."""
    found = await _searchable(call, repository_id, collection_id)
    sets = GoldenSet.of_collection(repository_id=found.repository_id, collection_id=found.collection_id)
    page = await call.host.store.page(sets, limit=limit, cursor=cursor)
    return Listing(items=[SetView.of(one) for one in page], next=page.next)


@router.post(_ROOT, status_code=201)
async def write_set(call: Using, repository_id: str, collection_id: str, draft: SetDraft) -> SetView:
    """Write a golden set, or generate questions from the documents of the collection."""
    made = await create_set(resources_of(call), call.principal, repository_id, collection_id, draft)
    await call.note("rag.create-golden-set", f"{repository_id}/{made.collection_id}/{made.set_id}")
    return SetView.of(made)


@router.get(_ROOT + "/{set_id}")
async def list_questions(
    call: Using, repository_id: str, collection_id: str, set_id: SetId, limit: Limit = 50, cursor: Cursor = None
) -> Listing[QuestionView]:
    """List the questions of a golden set, in order."""
    golden = await find_set(call.host.store, await _searchable(call, repository_id, collection_id), set_id)
    questions = GoldenQuestion.of_set(repository_id=golden.repository_id, collection_id=golden.collection_id, set_id=set_id)
    page = await call.host.store.page(questions, limit=limit, cursor=cursor)
    return Listing(items=[QuestionView.of(one) for one in page], next=page.next)


@router.delete(_ROOT + "/{set_id}", status_code=204)
async def remove_set(call: Using, repository_id: str, collection_id: str, set_id: SetId) -> None:
    """Delete a golden set. Its evaluations are kept."""
    await delete_set(resources_of(call), call.principal, repository_id, collection_id, set_id)
    await call.note("rag.delete-golden-set", f"{repository_id}/{collection_id}/{set_id}")


@router.post(_RUNS, status_code=202)
async def evaluate(call: Using, repository_id: str, collection_id: str, new: NewEvaluation) -> EvaluationStarted:
    """Start a job that measures configurations with a golden set."""
    place = Subject(repository_id, collection_id)
    run_id, job_id = await start_evaluation(
        resources_of(call), call.principal, place, new.set_id, new.configurations, k=new.k, answers=new.answers
    )
    return EvaluationStarted(run_id=run_id, job_id=job_id)


@router.get(_RUNS)
async def list_evaluations(
    call: Using, repository_id: str, collection_id: str, limit: Limit = 50, cursor: Cursor = None
) -> Listing[RunView]:
    """List the evaluations of a collection."""
    found = await _searchable(call, repository_id, collection_id)
    runs = EvaluationRun.of_collection(repository_id=found.repository_id, collection_id=found.collection_id)
    page = await call.host.store.page(runs, limit=limit, cursor=cursor)
    return Listing(items=[RunView.of(one) for one in page], next=page.next)


@router.get(_RUNS + "/{run_id}")
async def get_evaluation(call: Using, repository_id: str, collection_id: str, run_id: Annotated[str, Path(max_length=100)]) -> RunView:
    """Read an evaluation, with the questions on which the configurations differ most, then those with the worst results."""
    place = await _searchable(call, repository_id, collection_id)
    ids = {"repository_id": place.repository_id, "collection_id": place.collection_id}
    found = await call.host.store.find(EvaluationRun.key(**ids, run_id=run_id), consistent=True)
    if found is None:
        raise Unknown(f"There is no evaluation {run_id!r}.", fix="An evaluation exists once its job has completed.")
    return RunView.of(found)
