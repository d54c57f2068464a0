"""Job trees: read a job with its descendants and their progress, or cancel all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gateleg.jobs.admin import cancel
from gateleg.jobs.errors import JobUnreadable
from gateleg.jobs.finish.complete import get_or_archived
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.routing import by_id
from gateleg.jobs.tables.job import FINISHED, Job, JobStatus, Progress
from gateleg.store.operations import query

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from uuid import UUID

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.archive import ArchivedJob
    from gateleg.jobs.tables.records import ArchivedBranch
    from gateleg.store.flow import Flow

_ATTRIBUTES = (
    Job.job_id,
    Job.status,
    Job.job_type,
    Job.job_stage,
    Job.parent_job_id,
    Job.progress,
    Job.created_at,
    Job.started_at,
    Job.completed_at,
    Job.retry_count,
)
#: The statuses that a summary lists, most urgent first.
_SUMMARY_WORDS = {
    JobStatus.FAILED: "failed",
    JobStatus.CANCELLED: "cancelled",
    JobStatus.PROCESSING: "running",
    JobStatus.PENDING: "waiting",
}


#: What a job of a tree has that another program has written without these attributes.
_NEEDED: dict[str, Any] = {"status": JobStatus.PENDING, "job_type": "unknown", "created_at": datetime.min.replace(tzinfo=UTC)}


@dataclass(frozen=True)
class Branch:
    """A job of a tree with its descendants."""

    job_id: UUID
    status: JobStatus
    job_type: str
    #: its label, to distinguish children of the same type
    stage: str | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    retry_count: int
    #: the progress that its own handler has reported
    own: Progress | None
    #: its child jobs, oldest first
    children: tuple[Branch, ...] = ()

    def __iter__(self) -> Iterator[Branch]:
        """This job and its descendants, parents first."""
        yield self
        for child in self.children:
            yield from child

    @property
    def counts(self) -> dict[JobStatus, int]:
        """How many jobs of the branch have each status."""
        return dict(Counter(branch.status for branch in self))

    @property
    def fraction(self) -> float:
        """The progress of the branch, from 0 to 1. All jobs have equal weight; failed and cancelled ones count as 0."""
        return sum(map(_fraction_done, parts := list(self))) / len(parts)

    @property
    def unfinished(self) -> int:
        """How many jobs of the branch are pending or running."""
        return sum(branch.status not in FINISHED for branch in self)

    @property
    def summary(self) -> str:
        """The counts in words: `9 of 42 done, 3 failed, 2 cancelled`."""
        counts = self.counts
        done = f"{counts.get(JobStatus.COMPLETED, 0)} of {sum(counts.values())} done"
        return ", ".join([done, *(f"{counts[status]} {word}" for status, word in _SUMMARY_WORDS.items() if status in counts)])


def _fraction_done(branch: Branch) -> float:
    if branch.status == JobStatus.COMPLETED:
        return 1.0
    return branch.own.fraction if branch.own is not None and branch.status not in FINISHED else 0.0


def tree(context: QueueContext, job_id: UUID) -> Flow[Branch]:
    """A job with its descendants, in the queue or in the archive. Raises `JobMissing` if neither has it."""
    job = yield from get_or_archived(context, job_id)
    # The queue first: a job that is archived between the two reads is found twice, and not missed.
    queued = {values["job_id"]: values for values in (yield from _descendants(context, job))}
    archived = {values["job_id"]: values for values in (yield from _archived(context, job))}
    top = {attribute.name: getattr(job, attribute.name, None) for attribute in _ATTRIBUTES}
    return _build(top, [*(archived | queued).values()])


def _descendants(context: QueueContext, job: Job | ArchivedJob) -> Flow[list[dict[str, Any]]]:
    root, path = _place(job)
    found: list[dict[str, Any]] = []
    for member in context.members:
        question = member.tables.job.in_tree(root_job_id=root).where(Job.tree_path.begins_with(f"{path}/"))
        found += yield from collect_stream(query(question, project=_ATTRIBUTES), context)
    return sorted(found, key=lambda values: (values["created_at"], values["job_id"])) if len(context.members) > 1 else found


def _archived(context: QueueContext, job: Job | ArchivedJob) -> Flow[list[dict[str, Any]]]:
    root, path = _place(job)
    found: list[ArchivedBranch] = []
    for member in context.members:
        branch = member.tables.archived_branch
        question = branch.in_tree(branch.tree_path.begins_with(f"{path}/"), root_job_id=root)
        found += yield from collect_stream(query(question), context)
    return [entry.model_dump(include={attribute.name for attribute in _ATTRIBUTES}) for entry in found]


def _place(job: Job | ArchivedJob) -> tuple[UUID, str]:
    """The root of a job's tree, and its path from there."""
    return job.root_job_id or job.job_id, job.tree_path or str(job.job_id)


def _build(top: dict[str, Any], rest: Sequence[dict[str, Any]]) -> Branch:
    by_parent: dict[UUID, list[dict[str, Any]]] = {}
    # Other programs may leave attributes out.
    for values in (_NEEDED | values for values in rest if values.keys() >= {"job_id", "parent_job_id"}):
        by_parent.setdefault(values["parent_job_id"], []).append(values)

    def branch(values: dict[str, Any]) -> Branch:
        children = sorted(by_parent.get(values["job_id"], ()), key=lambda child: (child["created_at"], child["job_id"]))
        return Branch(
            job_id=values["job_id"],
            status=values["status"],
            job_type=values["job_type"],
            stage=values.get("job_stage"),
            created_at=values["created_at"],
            started_at=values.get("started_at"),
            completed_at=values.get("completed_at"),
            retry_count=values.get("retry_count", 0),
            own=values.get("progress"),
            children=tuple(branch(child) for child in children),
        )

    return branch(top)


def cancel_tree(context: QueueContext, job_id: UUID, *, reason: str | None = None, force: bool = False) -> Flow[list[Job]]:
    """Cancel a job and its descendants, parents first, and return them as they are now. `reason` and `force` are as in `cancel`.

    Jobs that are cancelled, or asked to stop, get no more children, so no descendant is missed.
    """
    top = yield from cancel(context, job_id, reason=reason, force=force)
    cancelled, seen = [top], {job_id}
    while True:
        found = yield from _descendants(context, top)
        fresh = [values["job_id"] for values in found if values["job_id"] not in seen and values.get("status") not in FINISHED]
        if not fresh:
            return cancelled
        for other in fresh:
            seen.add(other)
            try:
                cancelled.append((yield from by_id(cancel)(context, other, reason=reason, force=force)))
            except JobUnreadable:
                # It is noted, and the rest of the tree is cancelled.
                continue
