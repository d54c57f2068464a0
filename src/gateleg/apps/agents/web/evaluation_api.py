"""`/api/agents/evaluation-sets` and `/api/agents/evaluations`: questions with checks, and comparisons of two versions."""

from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from gateleg.apps.agents.evaluating.cases import Case
from gateleg.apps.agents.evaluating.sets import begin_evaluation, delete_set, find_evaluation, find_set, save_set
from gateleg.apps.agents.evaluation_tables import MOST_CASES, Evaluation, EvaluationSet
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.tenancy import Context
from gateleg.apps.agents.web.contexts import context_of
from gateleg.apps.agents.web.views import View
from gateleg.host import Resources
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter()


class NewSet(View):
    """Questions, each with checks for its answer."""

    name: str = Field(min_length=1, max_length=200)
    cases: list[Case] = Field(min_length=1, max_length=MOST_CASES)


class NewEvaluation(View):
    """The versions of an agent that answer a set; by default the active one."""

    agent_uuid: str
    agent_version_uuids: list[str] = Field(default=[], max_length=2)


class SetView(View):
    """An evaluation set."""

    evaluation_set_uuid: str
    name: str
    cases: list[dict[str, Any]]
    updated_by: str
    updated_at: datetime

    @classmethod
    def of(cls, stored: EvaluationSet) -> "SetView":
        """A stored set."""
        return cls.model_validate({name: getattr(stored, name) for name in cls.model_fields})


class EvaluationView(View):
    """An evaluation: for each question the answers of the versions, and the checks that they pass."""

    evaluation_uuid: str
    evaluation_set_uuid: str
    name: str
    agent_uuid: str
    agent_version_uuids: list[str]
    status: str
    passed: dict[str, int]
    results: list[dict[str, Any]]
    error: str | None
    job_id: str | None
    created_at: datetime

    @classmethod
    def of(cls, stored: Evaluation) -> "EvaluationView":
        """A stored evaluation."""
        return cls.model_validate({name: getattr(stored, name) for name in cls.model_fields})


def _own(call: ApiCall, request: Request) -> tuple[Resources[AgentsSettings], Context]:
    resources: Resources[AgentsSettings] = call.host.resources["agents"]
    return resources, context_of(request, resources)


@router.post("/evaluation-sets", status_code=201)
async def create_set(call: Using, request: Request, given: NewSet) -> SetView:
    """Create an evaluation set."""
    resources, context = _own(call, request)
    return SetView.of(await save_set(resources.store, context, given.name, given.cases))


@router.get("/evaluation-sets")
async def list_sets(call: Using, request: Request, cursor: Cursor = None, limit: Limit = 50) -> Listing[SetView]:
    """List the evaluation sets of the tenant, newest first."""
    resources, context = _own(call, request)
    page = await resources.store.page(EvaluationSet.in_partition(partition=context.partition), limit=limit, cursor=cursor)
    return Listing(items=[SetView.of(one) for one in page.items], next=page.next)


@router.get("/evaluation-sets/{evaluation_set_uuid}")
async def read_set(call: Using, request: Request, evaluation_set_uuid: str) -> SetView:
    """An evaluation set."""
    resources, context = _own(call, request)
    return SetView.of(await find_set(resources.store, context, evaluation_set_uuid))


@router.put("/evaluation-sets/{evaluation_set_uuid}")
async def change_set(call: Using, request: Request, evaluation_set_uuid: str, given: NewSet) -> SetView:
    """Change the name and questions of a set. Existing evaluations keep theirs."""
    resources, context = _own(call, request)
    return SetView.of(await save_set(resources.store, context, given.name, given.cases, evaluation_set_uuid))


@router.delete("/evaluation-sets/{evaluation_set_uuid}", status_code=204)
async def remove_set(call: Using, request: Request, evaluation_set_uuid: str) -> Response:
    """Delete a set."""
    resources, context = _own(call, request)
    await delete_set(resources.store, context, evaluation_set_uuid)
    return Response(status_code=204)


@router.post("/evaluation-sets/{evaluation_set_uuid}/evaluations", status_code=202)
async def begin(call: Using, request: Request, evaluation_set_uuid: str, given: NewEvaluation) -> EvaluationView:
    """Start a job in which one or two versions of an agent answer a set. The questions are asked in the caller's name."""
    resources, context = _own(call, request)
    found = await begin_evaluation(resources, context, evaluation_set_uuid, given.agent_uuid, given.agent_version_uuids)
    return EvaluationView.of(found)


@router.get("/evaluations")
async def list_evaluations(call: Using, request: Request, cursor: Cursor = None, limit: Limit = 20) -> Listing[EvaluationView]:
    """List the caller's evaluations, newest first; viewers see all evaluations of the tenant."""
    resources, context = _own(call, request)
    question = Evaluation.in_partition(partition=context.partition)
    if not context.sees_all:
        question = question.filter(Evaluation.owner_id == context.owner)
    page = await resources.store.page(question, limit=limit, cursor=cursor)
    return Listing(items=[EvaluationView.of(one) for one in page.items], next=page.next)


@router.get("/evaluations/{evaluation_uuid}")
async def read_evaluation(call: Using, request: Request, evaluation_uuid: str) -> EvaluationView:
    """Get an evaluation."""
    resources, context = _own(call, request)
    return EvaluationView.of(await find_evaluation(resources.store, context, evaluation_uuid))
