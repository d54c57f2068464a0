"""`/api/rag`: golden sets and evaluation runs of a collection."""

from datetime import datetime
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field

from gateleg.apps.rag.api import mine
from gateleg.apps.rag.evaluating.service import (
    Configuration,
    SetDraft,
    create_set,
    delete_set,
    list_runs,
    list_sets,
    start_evaluation,
)
from gateleg.apps.rag.evaluating.tables import ConfigurationResult, EvaluationRun, GoldenSet
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.web.views import View
from gateleg.web.api.calls import Using
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter()
_COLLECTION = "/repository/{repository_id}/collections/{collection_id}"


class GoldenSetView(View):
    """A golden set."""

    set_id: str
    name: str
    origin: str
    questions: int
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, golden: GoldenSet) -> "GoldenSetView":
        """The view of a golden set."""
        return cls(**{name: getattr(golden, name) for name in cls.model_fields})


class ResultView(View):
    """A configuration and how good it was, on average."""

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
    def of(cls, result: ConfigurationResult) -> "ResultView":
        """The view of a configuration's result."""
        return cls(**{name: getattr(result, name) for name in cls.model_fields})


class RunView(View):
    """An evaluation run: each configuration with its measures, and how the others compare with the first."""

    run_id: str
    set_id: str
    set_name: str
    questions: int
    k: int
    results: list[ResultView]
    comparisons: list[dict[str, float]]
    details: list[dict[str, Any]]
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, run: EvaluationRun) -> "RunView":
        """The view of a run."""
        plain = {name: getattr(run, name) for name in cls.model_fields if name != "results"}
        return cls(results=[ResultView.of(result) for result in run.results], **plain)


class EvaluationBody(View):
    """A golden set, and the configurations to measure with it, side by side."""

    set_id: str = Field(max_length=100)
    configurations: list[Configuration] = Field(
        default_factory=lambda: [Configuration(name="hybrid"), Configuration(name="vector", request={"searchMode": "vector"})],
        min_length=1,
        max_length=4,
    )
    k: int = Field(default=10, ge=1, le=25)
    answers: bool = False


class EvaluationStarted(View):
    """The run that will be there when the job has ended."""

    run_id: str
    job_id: UUID


@router.post(f"{_COLLECTION}/golden-sets", status_code=201)
async def create_golden_set(call: Using, repository_id: str, collection_id: str, body: SetDraft) -> GoldenSetView:
    """Write a golden set, or have one made from the documents; for those who may change the collection."""
    return GoldenSetView.of(await create_set(mine(call), call.principal, repository_id, collection_id, body))


@router.get(f"{_COLLECTION}/golden-sets")
async def list_golden_sets(
    call: Using, repository_id: str, collection_id: str, limit: Limit = 50, cursor: Cursor = None
) -> Listing[GoldenSetView]:
    """The golden sets of a collection."""
    page = await list_sets(mine(call), call.principal, repository_id, collection_id, limit=limit, cursor=cursor)
    return Listing(items=[GoldenSetView.of(one) for one in page], next=page.next)


@router.delete(f"{_COLLECTION}/golden-sets/{{set_id}}", status_code=204)
async def delete_golden_set(call: Using, repository_id: str, collection_id: str, set_id: str) -> None:
    """Remove a golden set; its runs stay."""
    await delete_set(mine(call), call.principal, repository_id, collection_id, set_id)


@router.post(f"{_COLLECTION}/evaluations", status_code=202)
async def evaluate(call: Using, repository_id: str, collection_id: str, body: EvaluationBody) -> EvaluationStarted:
    """Have a job search a golden set with each configuration."""
    place = Subject(repository_id, collection_id)
    run_id, job_id = await start_evaluation(
        mine(call), call.principal, place, body.set_id, body.configurations, k=body.k, answers=body.answers
    )
    return EvaluationStarted(run_id=run_id, job_id=job_id)


@router.get(f"{_COLLECTION}/evaluations")
async def list_evaluations(
    call: Using, repository_id: str, collection_id: str, limit: Limit = 50, cursor: Cursor = None
) -> Listing[RunView]:
    """The evaluation runs of a collection."""
    page = await list_runs(mine(call), call.principal, repository_id, collection_id, limit=limit, cursor=cursor)
    return Listing(items=[RunView.of(one) for one in page], next=page.next)
