"""`/api/delphi/runs`: the results and files of a job, comparing two runs, and renaming topics."""

import asyncio
import hashlib
from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from gateleg.apps.delphi import rules
from gateleg.apps.delphi.api import Text, kind_of, run_view
from gateleg.apps.delphi.errors import RunMissing
from gateleg.apps.delphi.reports.config import TIMELINE
from gateleg.apps.delphi.runs.comparison import Comparison
from gateleg.apps.delphi.runs.origin import REPORT_STAGE, VOTES_STAGE, Origin, artifact_key
from gateleg.apps.delphi.runs.rejections import load_rejections
from gateleg.apps.delphi.runs.run_tables import Run, StoredConversation
from gateleg.apps.delphi.runs.topic_names import rename_topic
from gateleg.apps.delphi.service import delete_run
from gateleg.apps.delphi.web.loaded_runs import load_run
from gateleg.apps.delphi.web.overviews import PipelineRun, stage_runs_of
from gateleg.apps.delphi.web.run_differences import side_by_side
from gateleg.apps.delphi.web.views import Artifact, ComparisonView, RunView, SettingView, TopicChangeView, key_parts, result_view
from gateleg.host.errors import Unknown
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.etags import fits
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter()
_COMPARISON = TypeAdapter(Comparison)


class Removed(BaseModel):
    """What was deleted of a run."""

    results: int = Field(description="The number of deleted results.")


class NewName(BaseModel):
    """A new name for a topic."""

    model_config = ConfigDict(extra="forbid")

    name: Text = Field(max_length=500)


async def visible_stages(call: ApiCall, job_id: UUID) -> list[Run]:
    """The stages of a job or of a pipeline on conversations that the caller may see."""
    store = call.host.store
    runs = [run async for run in store.query(Run.of_job, job_id=job_id, consistent=True)]
    runs = runs or [run async for run in store.query(Run.of_root, root_job_id=job_id)]
    groups: dict[str, bool] = {}
    for name in {run.conversation_id for run in runs}:
        found = await store.find(StoredConversation, conversation_id=name, consistent=True)
        groups[name] = found is not None and rules.may_see(call.principal, found.group, found.tenant)
    visible = [run for run in runs if groups[run.conversation_id]]
    if not visible:
        raise Unknown(f"Job {job_id} has no runs.", fix="List runs with GET /api/delphi/conversations/{conversation}/runs.")
    return visible


@router.get("/runs/{job_id}")
async def get_run(call: Using, job_id: UUID) -> list[RunView]:
    """The stages of a job; for a pipeline, those of its child jobs, oldest first."""
    return [await run_view(call, run) for run in await visible_stages(call, job_id)]


@router.get("/runs/{job_id}/results/{table}")
async def list_results(
    call: Using,
    job_id: UUID,
    table: str,
    conversation: Annotated[str | None, Query(max_length=200, description="Only results about this conversation.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[dict[str, Any]]:
    """The results of a job in one table, by identifier, read consistently. The results of a pipeline are those of the jobs of its
    stages."""
    runs = await visible_stages(call, job_id)
    kind = kind_of(table)
    question = kind.of_job(job_id=job_id)
    if conversation is not None:
        question = question.filter(kind.conversation_id == conversation)
    page = await call.host.store.page(question, limit=limit, cursor=cursor, consistent=True)
    hidden = {name: await load_rejections(call.host.store, name) for name in {run.conversation_id for run in runs}}
    shown = [row for row in page if row.conversation_id in hidden]
    return Listing(items=[result_view(row, hidden[row.conversation_id]) for row in shown], next=page.next)


@router.get("/runs/{job_id}/results/{table}/{key}")
async def get_result(call: Using, job_id: UUID, table: str, key: Annotated[str, Path(max_length=500)]) -> dict[str, Any]:
    """One result of a job by its identifier in the table, such as a comment's id, read consistently."""
    await visible_stages(call, job_id)
    kind = kind_of(table)
    parts = key_parts(kind, key)
    found = None if parts is None else await call.host.store.find(kind, job_id=job_id, consistent=True, **parts)
    if found is None:
        raise Unknown(
            f"Job {job_id} has no result {key!r} in {table}.", fix=f"List results with GET /api/delphi/runs/{job_id}/results/{table}."
        )
    return result_view(found, await load_rejections(call.host.store, found.conversation_id))


@router.get("/runs/{job_id}/atlas", response_class=Response)
async def get_atlas(call: Using, request: Request, job_id: UUID) -> Response:
    """The data of the linked maps as one JSON: participants with packed groups and votes, comments, groups and topics. A stage that the job
    lacks is taken from the sources of its report, or from the latest run."""
    runs = await visible_stages(call, job_id)
    stages = await stage_runs_of(call.host.store, PipelineRun(job_id, tuple(reversed(runs))))
    if stages.votes is None:
        raise RunMissing(f"Job {job_id} has no completed run of {VOTES_STAGE}.")
    loaded = await load_run(call.host.store, stages.votes, stages.topics)
    body = await asyncio.to_thread(lambda: loaded.atlas)
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if fits(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


@router.get("/runs/{job_id}/timeline", response_class=Response)
async def get_timeline(call: Using, job_id: UUID) -> Response:
    """How the groups formed, as one JSON: for each moment its figures, and the packed positions and groups of people. Part of the report;
    missing if all votes have the same time."""
    for run in await visible_stages(call, job_id):
        if run.stage == REPORT_STAGE and TIMELINE in run.summary.get("artifacts", []):
            key = artifact_key(Origin(run.job_id, run.conversation_id, run.created_at), TIMELINE)
            return Response(await call.host.objects.get(key), media_type="application/json", headers={"Cache-Control": "private, no-cache"})
    raise RunMissing(f"Job {job_id} has no report with a timeline.", fix="Submit a REPORT job, and use the id of that job.")


@router.get("/runs/{job_id}/artifacts")
async def list_artifacts(
    call: Using,
    job_id: UUID,
    expires: Annotated[int, Query(ge=1, le=86_400, description="The number of seconds for which links are valid.")] = 3600,
) -> list[Artifact]:
    """The files of the report of a job or a pipeline, each with a signed link. Empty until the report is completed."""
    reports = [run for run in await visible_stages(call, job_id) if run.stage == REPORT_STAGE]
    files = [
        (name, artifact_key(Origin(run.job_id, run.conversation_id, run.created_at), name))
        for run in reports
        for name in run.summary.get("artifacts", [])
    ]
    return [Artifact(name=name, url=await call.host.objects.presign(key, expires=expires)) for name, key in files]


@router.get("/comparison")
async def compare(call: Using, before: UUID, after: UUID) -> ComparisonView:
    """Compare two runs, given by the jobs of two votes stages or of two pipelines."""
    compared = [PipelineRun(job_id, tuple(reversed(await visible_stages(call, job_id)))) for job_id in (before, after)]
    found = await side_by_side(call.host.store, *compared)
    return ComparisonView(
        before=before,
        after=after,
        settings=[SettingView(**asdict(one)) for one in found.settings],
        differences=_COMPARISON.dump_python(found.votes, mode="json"),
        topics=[
            TopicChangeView(kind=one.kind, before=list(one.before), after=list(one.after), comments=one.comments) for one in found.topics
        ],
    )


@router.put("/runs/{job_id}/topics/{topic}/name")
async def rename(call: Using, job_id: UUID, topic: Annotated[str, Path(max_length=200)], new: NewName) -> dict[str, Any]:
    """Rename a topic. Earlier names are kept in its history."""
    for run in await visible_stages(call, job_id):
        found = await call.host.store.get(StoredConversation, conversation_id=run.conversation_id, consistent=True)
        rules.check_change(call.principal, found)
    renamed = await rename_topic(call.host.store, job_id, topic, new.name, call.principal.name)
    await call.note("delphi.rename-topic", f"{job_id}/{topic}", name=renamed.topic_name)
    return result_view(renamed, await load_rejections(call.host.store, renamed.conversation_id))


@router.delete("/runs/{job_id}")
async def delete(call: Using, job_id: UUID) -> Removed:
    """Delete the results of a job; the run before it becomes the latest. For a pipeline, delete the results of each stage's job. The files
    and the job itself are kept as long as the queue keeps them."""
    for run in await visible_stages(call, job_id):
        found = await call.host.store.get(StoredConversation, conversation_id=run.conversation_id, consistent=True)
        rules.check_change(call.principal, found)
    removed = await delete_run(call.host.store, job_id)
    await call.note("delphi.delete-run", str(job_id), results=removed)
    return Removed(results=removed)
