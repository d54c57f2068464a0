"""What every page of a conversation shows: its runs to pick from, the stages of the picked one, and what works on it."""

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

#: Runs and jobs that are looked at, newest first.
_RUNS, _JOBS = 200, 20
#: What the job types of the queue's document do, in the words of those who never heard of them.
_DEEDS = {
    "PCA": "Groups from the votes",
    "UMAP": "Topics of the comments",
    "REPORT": "Maps and report",
    "FULL_PIPELINE": "The whole map",
    "REDACTION": "Reports without what was rejected",
}


def deed_of(job_type: str) -> str:
    """What a job does, in a few words."""
    return _DEEDS.get(job_type, job_type)


@dataclass(frozen=True)
class Outing:
    """The runs of one job, or of all stages of one pipeline."""

    job_id: UUID
    #: newest first
    runs: tuple[Run, ...]

    @property
    def at(self) -> datetime:
        """When the first of them was submitted."""
        return min(run.created_at for run in self.runs)

    def completed(self, stage: str) -> Run | None:
        """Its completed run of a stage."""
        return next((run for run in self.runs if run.stage == stage and run.status is RunStatus.COMPLETED), None)

    @property
    def stages(self) -> tuple[str, ...]:
        """Its stages, in the order in which they began."""
        return tuple(dict.fromkeys(run.stage for run in reversed(self.runs)))


def outings(runs: Iterable[Run]) -> list[Outing]:
    """Runs, newest first, put together by the job or pipeline that they are of."""
    found: dict[UUID, list[Run]] = {}
    for run in runs:
        found.setdefault(run.root_job_id or run.job_id, []).append(run)
    return [Outing(job_id, tuple(own)) for job_id, own in found.items()]


def picked(found: Sequence[Outing], wanted: str | None) -> Outing | None:
    """The outing that is asked for; else the newest with a report, else the newest with groups, else the newest."""
    asked = next((one for one in found if str(one.job_id) == wanted), None)
    told = next((one for one in found if one.completed(REPORT_STAGE)), None)
    grouped = next((one for one in found if one.completed(VOTES_STAGE)), None)
    return asked or told or grouped or next(iter(found), None)


@dataclass(frozen=True)
class Portrait:
    """A conversation as its pages show it."""

    conversation: StoredConversation
    upload: Upload
    outings: tuple[Outing, ...]
    outing: Outing | None
    #: what the picked outing tells of: its own stages, or those that it was made from
    stages: Stages
    #: jobs that wait or run, newest first
    busy: tuple[Job, ...]


@dataclass(frozen=True)
class Stages:
    """The completed runs that a page is made from."""

    votes: Run | None = None
    topics: Run | None = None
    report: Run | None = None


async def portrait(queue: AsyncQueue, conversation: StoredConversation, wanted: str | None = None) -> Portrait:
    """Read what the pages of a conversation show, from the queue and the store that it is on."""
    store = queue.store
    name = conversation.conversation_id
    found = outings([run async for run in service.runs(store, name, limit=_RUNS)])
    outing = picked(found, wanted)
    return Portrait(
        conversation,
        await service.find_upload(store, name, conversation.upload_id),
        tuple(found),
        outing,
        Stages() if outing is None else await stages_of(store, outing),
        await busy_jobs(queue, name),
    )


async def stages_of(store: AsyncStore, outing: Outing) -> Stages:
    """The stages that an outing tells of. One that has no votes or no topics of its own tells of those that its report was made from, or
    else of the latest."""
    report = outing.completed(REPORT_STAGE)
    told = {} if report is None else report.summary
    return Stages(
        outing.completed(VOTES_STAGE) or await _beside(store, outing, VOTES_STAGE, told.get("votes_job")),
        outing.completed(TOPICS_STAGE) or await _beside(store, outing, TOPICS_STAGE, told.get("topics_job")),
        report,
    )


async def _beside(store: AsyncStore, outing: Outing, stage: str, job_id: str | None) -> Run | None:
    if job_id is not None:
        return await store.find(Run, job_id=job_id, stage=stage)
    if outing.completed(REPORT_STAGE) is not None:
        return None
    try:
        return await service.latest_run(store, outing.runs[0].conversation_id, stage)
    except RunMissing:
        return None


async def busy_jobs(queue: AsyncQueue, conversation_id: str) -> tuple[Job, ...]:
    """The jobs on a conversation that wait or run, newest first."""
    found = queue.store.query(queue.tables.job.of_subject, subject=conversation_id, limit=_JOBS)
    jobs = [job async for job in found]
    return tuple(job for job in jobs if not job.finished)


async def files_of(objects: AsyncObjects, report: Run) -> dict[str, str]:
    """The files of a report by name, each with a link that holds for an hour."""
    origin = Origin(report.job_id, report.conversation_id, report.created_at)
    return {name: await objects.presign(artifact_key(origin, name)) for name in report.summary.get("artifacts", [])}
