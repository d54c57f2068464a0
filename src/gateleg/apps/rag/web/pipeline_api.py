"""The routes of `/api/rag` that show and run pipelines. Pipelines are changed with their repository or collection."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from gateleg.apps.rag.api import JobStarted, caller_of, resources_of
from gateleg.apps.rag.pipelines.job_types import PipelineConfig
from gateleg.apps.rag.pipelines.run import state_of
from gateleg.apps.rag.pipelines.schedules import open_pipeline, start_run
from gateleg.apps.rag.web.views import PipelineView, View
from gateleg.web.api.calls import Using

router = APIRouter()
_ONE = "/repository/{repository_id}/pipelines/{pipeline_id}"
Owner = Annotated[
    str | None,
    Query(
        alias="collectionId",
        max_length=200,
        description="The collection that declares the pipeline; by default, the repository declares it.",
    ),
]


class PipelineStatus(View):
    """A pipeline, and the result of its last complete run."""

    pipeline: PipelineView
    looked_at: datetime | None
    last_job_id: UUID | None
    found: int
    ingested: int
    removed: int
    error_message: str | None


@router.get(_ONE)
async def get_pipeline(call: Using, repository_id: str, pipeline_id: str, collection_id: Owner = None) -> PipelineStatus:
    """Read a pipeline and the result of its last run. Requires the right to change it."""
    resources = resources_of(call)
    opened = await open_pipeline(resources.store, caller_of(call), repository_id, pipeline_id, collection_id)
    config = PipelineConfig(repository_id=repository_id, owner_collection=opened.owner, pipeline_id=pipeline_id)
    state = await state_of(resources, config)
    own = {name: getattr(state, name) for name in ("looked_at", "last_job_id", "found", "ingested", "removed", "error_message")}
    return PipelineStatus(pipeline=PipelineView.of(opened.pipeline), **own)


@router.post(f"{_ONE}/run", status_code=202)
async def run_pipeline(
    call: Using,
    repository_id: str,
    pipeline_id: str,
    collection_id: Owner = None,
    dry_run: Annotated[bool, Query(alias="dryRun", description="Only report what a run would do, in the result of the job.")] = False,
) -> JobStarted:
    """Run a pipeline now, even if it is paused, and compare all objects; or do a dry run."""
    resources, caller = resources_of(call), caller_of(call)
    job = await start_run(resources, caller, repository_id, pipeline_id, collection=collection_id, dry_run=dry_run)
    await call.note("rag.run-pipeline", f"{repository_id}/{pipeline_id}", job=str(job.job_id), dry_run=dry_run)
    return JobStarted(job_id=job.job_id, status=job.status.value)
