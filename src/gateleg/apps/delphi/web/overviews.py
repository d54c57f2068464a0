"""The data of every page of a conversation: its runs, the stages of the selected run, and its active jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.delphi import service
from gateleg.apps.delphi.errors import RunMissing
from gateleg.apps.delphi.runs.origin import REPORT_STAGE, TOPICS_STAGE, VOTES_STAGE, Origin, artifact_key
from gateleg.apps.delphi.runs.run_tables import Run, RunStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime
    from uuid import UUID

    from gateleg.apps.delphi.runs.run_tables import StoredConversation, Upload
    from gateleg.jobs import AsyncQueue, Job
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore

#: The maximum numbers of runs and jobs of a conversation that are read, newest first.
_MAX_RUNS, _MAX_JOBS = 200, 20
#: The titles of job types.
_JOB_TITLES = {
    "PCA": "Groups from the votes",
    "UMAP": "Topics of the comments",
    "REPORT": "Maps and report",
    "FULL_PIPELINE": "The whole map",
    "REDACTION": "Reports without rejected comments",
}


def job_title(job_type: str) -> str:
    """The title of a job type."""
    return _JOB_TITLES.get(job_type, job_type)


@dataclass(frozen=True)
class PipelineRun:
    """The runs of one job, or of all stages of one pipeline."""

    job_id: UUID
    #: newest first
    runs: tuple[Run, ...]

    @property
    def at(self) -> datetime:
        """When the first run was submitted."""
        return min(run.created_at for run in self.runs)

    def completed(self, stage: str) -> Run | None:
        """Its completed run of a stage."""
        return next((run for run in self.runs if run.stage == stage and run.status is RunStatus.COMPLETED), None)

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages in the order in which they started."""
        return tuple(dict.fromkeys(run.stage for run in reversed(self.runs)))


def by_pipeline(runs: Iterable[Run]) -> list[PipelineRun]:
    """Runs, newest first, grouped by the job or pipeline that they belong to."""
    found: dict[UUID, list[Run]] = {}
    for run in runs:
        found.setdefault(run.root_job_id or run.job_id, []).append(run)
    return [PipelineRun(job_id, tuple(own)) for job_id, own in found.items()]


def select_run(found: Sequence[PipelineRun], wanted: str | None) -> PipelineRun | None:
    """The run with a job id; otherwise the newest with a report, then the newest with groups, then the newest."""
    asked = next((one for one in found if str(one.job_id) == wanted), None)
    reported = next((one for one in found if one.completed(REPORT_STAGE)), None)
    grouped = next((one for one in found if one.completed(VOTES_STAGE)), None)
    return asked or reported or grouped or next(iter(found), None)


@dataclass(frozen=True)
class Overview:
    """A conversation as its pages show it."""

    conversation: StoredConversation
    upload: Upload
    pipeline_runs: tuple[PipelineRun, ...]
    selected: PipelineRun | None
    #: the stages of the selected run, or those that its report was made from
    stages: StageRuns
    #: waiting and running, newest first
    active_jobs: tuple[Job, ...]


@dataclass(frozen=True)
class StageRuns:
    """The completed runs that a page is made from."""

    votes: Run | None = None
    topics: Run | None = None
    report: Run | None = None


async def load_overview(queue: AsyncQueue, conversation: StoredConversation, wanted: str | None = None) -> Overview:
    """Load the data of a conversation's pages, from the queue and its store."""
    store = queue.store
    name = conversation.conversation_id
    found = by_pipeline([run async for run in service.runs(store, name, limit=_MAX_RUNS)])
    run = select_run(found, wanted)
    return Overview(
        conversation,
        await service.find_upload(store, name, conversation.upload_id),
        tuple(found),
        run,
        StageRuns() if run is None else await stage_runs_of(store, run),
        await active_jobs(queue, name),
    )


async def stage_runs_of(store: AsyncStore, run: PipelineRun) -> StageRuns:
    """The stages to show for a run. A missing stage comes from the sources of its report, or without a report from the latest run."""
    report = run.completed(REPORT_STAGE)
    sources = {} if report is None else report.summary
    return StageRuns(
        run.completed(VOTES_STAGE) or await _source(store, run, VOTES_STAGE, sources.get("votes_job")),
        run.completed(TOPICS_STAGE) or await _source(store, run, TOPICS_STAGE, sources.get("topics_job")),
        report,
    )


async def _source(store: AsyncStore, run: PipelineRun, stage: str, job_id: str | None) -> Run | None:
    if job_id is not None:
        return await store.find(Run, job_id=job_id, stage=stage)
    if run.completed(REPORT_STAGE) is not None:
        return None
    try:
        return await service.latest_run(store, run.runs[0].conversation_id, stage)
    except RunMissing:
        return None


async def active_jobs(queue: AsyncQueue, conversation_id: str) -> tuple[Job, ...]:
    """The waiting and running jobs of a conversation, newest first."""
    jobs = await queue.jobs_where(lambda job: job.of_subject(subject=conversation_id), limit=_MAX_JOBS)
    newest_first = sorted(jobs, key=lambda job: job.created_at, reverse=True)
    return tuple(job for job in newest_first if not job.finished)


async def files_of(objects: AsyncObjects, report: Run) -> dict[str, str]:
    """The files of a report by name, each with a link that is valid for an hour."""
    origin = Origin(report.job_id, report.conversation_id, report.created_at)
    return {name: await objects.presign(artifact_key(origin, name)) for name in report.summary.get("artifacts", [])}
