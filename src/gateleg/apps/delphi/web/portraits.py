"""What the page of a conversation shows: its runs to pick from, the groups of the picked one in words, its files, and what works on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.delphi import service
from gateleg.apps.delphi.reports.config import MAP, REPORT
from gateleg.apps.delphi.runs.origin import REPORT_STAGE, Origin, artifact_key
from gateleg.apps.delphi.runs.run_tables import Run, RunStatus, StoredComment
from gateleg.apps.delphi.runs.vote_tables import OpinionGroup, RepresentativeComment
from gateleg.jobs import Job

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime
    from uuid import UUID

    from gateleg.apps.delphi.runs.run_tables import StoredConversation, Upload
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore

#: Runs and jobs that are looked at, newest first.
_RUNS, _JOBS = 200, 20
#: Comments that are told of a group.
_TOLD = 3
#: What the job types of the queue's document do, in the words of those who never heard of them.
_DEEDS = {"PCA": "Groups from the votes", "UMAP": "Topics of the comments", "REPORT": "Maps and report", "FULL_PIPELINE": "The whole map"}


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
    def stages(self) -> str:
        """Its stages in words, in the order in which they began."""
        return ", ".join(dict.fromkeys(run.stage for run in reversed(self.runs)))


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
    grouped = next((one for one in found if one.completed(service.VOTES_STAGE)), None)
    return asked or told or grouped or next(iter(found), None)


@dataclass(frozen=True)
class GroupWords:
    """A group in plain words."""

    name: str
    size: int
    #: such as `They agree: "..."`, the most telling first
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Portrait:
    """A conversation as its page shows it."""

    conversation: StoredConversation
    upload: Upload
    outings: tuple[Outing, ...]
    outing: Outing | None
    groups: tuple[GroupWords, ...]
    #: the addresses of the map and the report, which hold for an hour
    files: dict[str, str]
    #: jobs that wait or run, newest first
    busy: tuple[Job, ...]


async def portrait(store: AsyncStore, objects: AsyncObjects, conversation: StoredConversation, wanted: str | None = None) -> Portrait:
    """Read what the page of a conversation shows."""
    name = conversation.conversation_id
    found = outings([run async for run in service.runs(store, name, limit=_RUNS)])
    outing = picked(found, wanted)
    report = None if outing is None else outing.completed(REPORT_STAGE)
    votes = None if outing is None else outing.completed(service.VOTES_STAGE)
    if votes is None and report is not None:
        votes = await store.find(Run, job_id=report.summary["votes_job"], stage=service.VOTES_STAGE)
    return Portrait(
        conversation,
        await service.find_upload(store, name, conversation.upload_id),
        tuple(found),
        outing,
        () if votes is None else tuple(await _groups(store, votes)),
        {} if report is None else await _files(objects, report),
        await busy_jobs(store, name),
    )


async def busy_jobs(store: AsyncStore, conversation_id: str) -> tuple[Job, ...]:
    """The jobs on a conversation that wait or run, newest first."""
    jobs = [job async for job in store.query(Job.of_subject, subject=conversation_id, limit=_JOBS)]
    return tuple(job for job in jobs if not job.finished)


async def _files(objects: AsyncObjects, report: Run) -> dict[str, str]:
    origin = Origin(report.job_id, report.conversation_id, report.created_at)
    names = [name for name in (MAP, REPORT) if name in report.summary.get("artifacts", [])]
    return {name: await objects.presign(artifact_key(origin, name)) for name in names}


async def _groups(store: AsyncStore, votes: Run) -> list[GroupWords]:
    rows = [row async for row in service.results(store, OpinionGroup, votes.job_id)]
    groups = sorted((row for row in rows if row.level == "group"), key=lambda row: row.group_id)
    telling = [row async for row in service.results(store, RepresentativeComment, votes.job_id) if row.rank < _TOLD]
    bodies: dict[int, str] = {}
    for number in {row.comment_id for row in telling}:
        comment = await store.find(StoredComment, upload_id=votes.upload_id, comment_id=number)
        bodies[number] = "" if comment is None else comment.body
    return [
        GroupWords(
            f"Group {chr(ord('A') + place)}",
            group.member_count,
            tuple(f"They {row.side}: “{bodies[row.comment_id]}”" for row in telling if row.group_id == group.group_id),
        )
        for place, group in enumerate(groups)
    ]
