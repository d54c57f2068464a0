"""Reading jobs: lists with filters and cursors, trees, logs and events, and following a job until it has finished.

The last lines of a log are in the job's item, the earlier ones in chunks in the ledger.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import UUID

from gateleg.jobs.admin import cancel
from gateleg.jobs.adoption import get_or_archived
from gateleg.jobs.errors import JobUnreadable
from gateleg.jobs.queue_context import by_id, collect_stream
from gateleg.jobs.rules import escape_undecodable
from gateleg.jobs.tables.job import FINISHED, KEPT_LINES, Job, JobStatus, LogEntry, Logs, Progress, owner_of
from gateleg.jobs.tables.records import ArchivedJob, EventChunk, LogChunk
from gateleg.store import Page
from gateleg.store.operations import page, query, scan
from gateleg.store.operations.pages import merged_page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence

    from gateleg.jobs.change_feed import ChangeFeed
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.job import Failure
    from gateleg.jobs.tables.records import ArchivedBranch
    from gateleg.model import Condition, Query
    from gateleg.store.flow import Flow

E = TypeVar("E", Job, ArchivedJob)

#: The prefix of the job types of the queue's internal jobs, such as those that update dependents.
INTERNAL = "gateleg."
#: How many items a page of a filtered list reads.
_MAX_READ_ITEMS = 2000


def jobs_page(
    context: QueueContext,
    *,
    status: JobStatus | None = None,
    job_type: str | None = None,
    subject: str | None = None,
    worker: str | None = None,
    queue: str | None = None,
    tag: str | None = None,
    internal: bool = False,
    limit: int = 25,
    cursor: str | None = None,
) -> Flow[Page[Job]]:
    """A page of jobs that match all filters, newest first (with `worker`, by status). Pass its `next` as `cursor` for the next page.

    Without a status, subject or worker, the jobs of all statuses are merged, because no index orders them by time. The queue's own jobs
    and jobs of internal handlers are hidden, unless `internal` is true or `job_type` names them. Failed jobs of internal handlers are
    always listed.
    """
    filters: dict[str, Any] = {"job_type": job_type, "queue": queue}

    def narrowed(question: Query[Job], status: JobStatus | None) -> Query[Job]:
        for name, value in filters.items():
            if value is not None:
                question = question.filter(getattr(Job, name) == value)
        if tag is not None:
            question = question.filter(Job.tags.contains(tag))
        if job_type is None and not internal:
            question = question.filter(_shown_by_default(status, status_in_key=subject is None))
        return question

    if subject is not None:
        filters |= {"status": status, "worker_id": worker}

    def questions(kind: type[Job]) -> list[Query[Job]]:
        if subject is not None:
            return [narrowed(kind.of_subject(subject=subject), status)]
        if worker is not None:
            of_worker = kind.of_worker(worker_id=worker) if status is None else kind.of_worker(worker_id=worker, status=status)
            return [narrowed(of_worker, status)]
        return [narrowed(kind.in_status(status=each).reversed(), each) for each in (JobStatus if status is None else [status])]

    queries = [question for member in context.members for question in questions(member.tables.job)]
    jobs = yield from _page_of(queries, context, limit=limit, cursor=cursor)
    return replace(jobs, items=_latest_versions(jobs))


def _page_of(
    questions: Sequence[Query[E]], context: QueueContext, *, limit: int, cursor: str | None, hydrate: bool = False, examine: bool = True
) -> Flow[Page[E]]:
    """A page of one or several queries as one list."""
    most = _MAX_READ_ITEMS if examine else None
    if len(questions) == 1:
        return (yield from page(questions[0], limit=limit, cursor=cursor, examine=most, hydrate=hydrate).flow(context.setup))
    return (yield from merged_page(questions, limit=limit, cursor=cursor, examine=most, hydrate=hydrate).flow(context.setup))


def _shown_by_default(status: JobStatus | None, *, status_in_key: bool) -> Condition:
    """The filter condition that hides internal jobs: a job is not internal, or it has failed.

    `status` is the status of all jobs in the list. DynamoDB cannot filter by key attributes of the index that it reads.
    """
    visible: Condition = ~Job.job_type.begins_with(INTERNAL)
    if status == JobStatus.FAILED:
        return visible
    ordinary: Condition = Job.internal.missing()
    return visible & (ordinary if status_in_key else ordinary | (Job.status == JobStatus.FAILED))


def own_jobs_page(
    context: QueueContext,
    created_by: str,
    tenant: str | None = None,
    *,
    job_types: Collection[str] | None = None,
    limit: int = 25,
    cursor: str | None = None,
) -> Flow[Page[Job]]:
    """A page of the jobs that a user has submitted and their descendants, newest first; optionally only of some job types."""
    owner = owner_of(tenant, created_by)
    if owner is None or (job_types is not None and not job_types):
        return Page([])
    questions = [member.tables.job.of_owner(owner=owner) for member in context.members]
    if job_types is not None:
        questions = [question.filter(Job.job_type.is_in(sorted(job_types))) for question in questions]
    return (yield from _page_of(questions, context, limit=limit, cursor=cursor, hydrate=True))


def _latest_versions(jobs: Iterable[Job]) -> list[Job]:
    """Remove duplicates, keeping the latest version: two reads both find a job that changes its status between them."""
    newest: dict[UUID, Job] = {}
    for job in jobs:
        known = newest.get(job.job_id)
        if known is None or known.version < job.version:
            newest[job.job_id] = job
    return list(newest.values())


def last_failure(job: Job | ArchivedJob) -> Failure | None:
    """The error of the last attempt of a job that had one."""
    if isinstance(job, ArchivedJob):
        return job.error
    return next((attempt.error for attempt in reversed(job.attempts) if attempt.error is not None), None)


def archive_page(
    context: QueueContext, *, subject: str | None = None, job_type: str | None = None, limit: int = 25, cursor: str | None = None
) -> Flow[Page[ArchivedJob]]:
    """A page of archived jobs about a subject or of a type, newest first. Pass its `next` as `cursor` for the next page."""
    if (subject is None) == (job_type is None):
        raise ValueError("archive_page needs either subject= or job_type=.")
    kinds = [member.tables.archived_job for member in context.members]
    questions = [kind.of_subject(subject=subject) if subject is not None else kind.of_type(job_type=job_type) for kind in kinds]
    return (yield from _page_of(questions, context, limit=limit, cursor=cursor, examine=False))


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
    descendants: list[dict[str, Any]] = []
    for member in context.members:
        question = member.tables.job.in_tree(root_job_id=root).where(Job.tree_path.begins_with(f"{path}/"))
        descendants += yield from collect_stream(query(question, project=_ATTRIBUTES), context)
    return sorted(descendants, key=lambda values: (values["created_at"], values["job_id"])) if len(context.members) > 1 else descendants


def _archived(context: QueueContext, job: Job | ArchivedJob) -> Flow[list[dict[str, Any]]]:
    root, path = _place(job)
    branches: list[ArchivedBranch] = []
    for member in context.members:
        branch = member.tables.archived_branch
        question = branch.in_tree(branch.tree_path.begins_with(f"{path}/"), root_job_id=root)
        branches += yield from collect_stream(query(question), context)
    return [entry.model_dump(include={attribute.name for attribute in _ATTRIBUTES}) for entry in branches]


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


def ids_beginning(context: QueueContext, text: str) -> Flow[list[UUID]]:
    """The ids of the queue's jobs that begin with a text, in order. Reads the whole tables once."""
    ids: list[UUID] = []
    for member in context.members:
        items = yield from collect_stream(scan(member.tables.all[0], filter=Job.job_id.begins_with(text.lower())), context)
        for item in items:
            # Other programs may write ids that are no UUIDs.
            with suppress(ValueError):
                ids.append(UUID(item["job_id"]["S"]))
    return sorted(ids, key=str)


def unfinished_tree(context: QueueContext, job_id: UUID) -> Flow[list[UUID]]:
    """The ids of a job, which may be in the archive, and of all jobs below it, without those that have finished; parents first."""
    top = yield from get_or_archived(context, job_id)
    below = yield from _descendants(context, top)
    unfinished = [values["job_id"] for values in below if values["job_id"] != job_id and values.get("status") not in FINISHED]
    return unfinished if top.status in FINISHED else [job_id, *unfinished]


def cancel_tree(context: QueueContext, job_id: UUID, *, reason: str | None = None, force: bool = False) -> Flow[list[Job]]:
    """Cancel a job and its descendants, parents first, and return them as they are now. `reason` and `force` are as in `cancel`.

    Jobs that are cancelled, or asked to stop, get no more children, so no descendant is missed.
    """
    top = yield from cancel(context, job_id, reason=reason, force=force)
    cancelled, seen = [top], {job_id}
    while fresh := [other for other in (yield from unfinished_tree(context, job_id)) if other not in seen]:
        for other in fresh:
            seen.add(other)
            try:
                cancelled.append((yield from by_id(cancel)(context, other, reason=reason, force=force)))
            except JobUnreadable:
                # It is noted, and the rest of the tree is cancelled.
                continue
    return cancelled


#: The maximum length of a line; longer ones are split.
MAX_LINE_CHARS = 2000
#: The maximum number of lines, and their size, in one write.
FLUSH_LINES = 400
FLUSH_BYTES = 200_000
#: The maximum size of the lines in the job's item.
KEPT_BYTES = 40_000


def entries_of(message: str, level: str, now: datetime) -> list[LogEntry]:
    """A message as log lines."""
    # Whatever is given is logged: a job does not fail for its log.
    lines = escape_undecodable(str(message)).splitlines() or [""]
    pieces = [line[start : start + MAX_LINE_CHARS] for line in lines for start in range(0, max(len(line), 1), MAX_LINE_CHARS)]
    return [LogEntry(timestamp=now, level=escape_undecodable(str(level)), message=piece) for piece in pieces]


def fitting(lines: Sequence[LogEntry], limit: int) -> int:
    """How many of the first lines fit into `limit` bytes; at least one."""
    left = limit
    for number, line in enumerate(lines):
        left -= len(line.message.encode())
        if left < 0:
            return max(1, number)
    return len(lines)


def extended(job_id: UUID, logs: Logs, lines: Sequence[LogEntry]) -> tuple[Logs, LogChunk | None]:
    """The log with more lines, and a chunk of the oldest ones if they no longer fit into the job's item.

    The same lines always make the same chunk with the same key, so a write whose response was lost can be repeated.
    """
    entries = [*logs.entries, *lines]
    overflow = len(entries) - fitting(entries[: -KEPT_LINES - 1 : -1], KEPT_BYTES)
    if overflow <= 0:
        return logs.model_copy(update={"entries": entries}), None
    chunk = LogChunk(job_id=job_id, first=logs.earlier, lines=entries[:overflow])
    return logs.model_copy(update={"entries": entries[overflow:], "earlier": logs.earlier + overflow}), chunk


def read_log(context: QueueContext, job_id: UUID, *, after: int = 0) -> Flow[list[LogEntry]]:
    """The lines of a job's log from number `after` on, counted from 0, whether the job is running, finished or archived.

    Lines that archiving has moved to the object store are missing; `Archiver.log` reads those too. Raises `JobMissing`.
    """
    job = yield from get_or_archived(context, job_id)
    return (yield from lines_of(context, job, after))


def lines_of(context: QueueContext, job: Job | ArchivedJob, after: int = 0) -> Flow[list[LogEntry]]:
    """The lines of a job's log from number `after` on, without lines that were archived as an object."""
    logs = job.logs
    if after >= logs.earlier:
        return logs.entries[after - logs.earlier :]
    lines: list[LogEntry] = []
    chunks = context.tables.log_chunk.of_job(job_id=job.job_id)
    for chunk in (yield from collect_stream(query(chunks, consistent=True), context)):
        # A repeated write with more lines may have left a shorter chunk, which the next one overlaps.
        lines = [*lines[: chunk.first], *chunk.lines]
    return [*lines[after : logs.earlier], *logs.entries]


def events_of(context: QueueContext, job: Job | ArchivedJob, after: int = 0) -> Flow[list[Any]]:
    """The events of a job from number `after` on, counted from 0; none for an archived job."""
    if not isinstance(job, Job) or (job.emitted or 0) <= after:
        return []
    question = context.tables.event_chunk.of_job(job_id=job.job_id)
    chunks = yield from collect_stream(query(question.where(EventChunk.first >= after), consistent=True), context)
    if not chunks or chunks[0].first > after:
        # The first requested event is inside an earlier chunk.
        before = question.where(EventChunk.first < after).reversed()
        chunks = [*(yield from collect_stream(query(before, consistent=True, limit=1), context)), *chunks]
    events: list[Any] = []
    for chunk in chunks:
        events += chunk.events[max(0, after - chunk.first) :]
    # Later events were written after the job was read; they come with the next update.
    return events[: (job.emitted or 0) - after]


@dataclass(frozen=True)
class Update:
    """The current job, with the log lines and events since the previous update."""

    job: Job | ArchivedJob
    #: the new log lines
    lines: list[LogEntry]
    #: the number of lines so far, where the next update starts
    seen: int
    #: the new events
    events: list[Any] = field(default_factory=list)
    #: the number of events so far, where the next update starts
    emitted: int = 0

    @property
    def news(self) -> bool:
        """Whether there are new lines or events."""
        return bool(self.lines or self.events)

    @property
    def last(self) -> bool:
        """Whether this is the last update: the job has finished."""
        return isinstance(self.job, ArchivedJob) or self.job.finished


class Followable(Protocol):
    """A queue whose jobs can be followed."""

    def read_update(self, job_id: UUID, seen: int = 0, emitted: int = 0) -> Update:
        """The current job, its log lines after the first `seen`, and its events after the first `emitted`."""


class AsyncFollowable(Protocol):
    """The same, awaited."""

    context: QueueContext
    changes: ChangeFeed

    async def read_update(self, job_id: UUID, seen: int = 0, emitted: int = 0) -> Update:
        """The current job, its log lines after the first `seen`, and its events after the first `emitted`."""


def read_update(context: QueueContext, job_id: UUID, seen: int = 0, emitted: int = 0) -> Flow[Update]:
    """Read a job with its log lines after the first `seen` and its events after the first `emitted`. Raises `JobMissing`."""
    job = yield from get_or_archived(context, job_id)
    lines = yield from lines_of(context, job, seen)
    events = yield from events_of(context, job, emitted)
    return Update(job, lines, seen + len(lines), events, emitted + len(events))


def follow(
    queue: Followable, job_id: UUID, *, seen: int = 0, emitted: int = 0, every: float = 1.0, pause: Callable[[float], None] = time.sleep
) -> Iterator[Update]:
    """Yield the current state of a job, then an `Update` for every change, until it has finished. Polls every `every` seconds.

    To continue an interrupted follow, pass `seen` and `emitted` of its last update. Raises `JobMissing` for an unknown job.
    """
    before: Update | None = None
    while True:
        update = queue.read_update(job_id, seen, emitted)
        seen, emitted = update.seen, update.emitted
        if before is None or update.news or update.job != before.job:
            yield update
        if update.last:
            return
        before = update
        pause(every)


async def follow_async(
    queue: AsyncFollowable, job_id: UUID, *, seen: int = 0, emitted: int = 0, every: float = 1.0
) -> AsyncIterator[Update]:
    """Like `follow`, but asynchronous: `async for update in follow_async(queue, job_id)`.

    Changes by this process are seen at once, changes by other processes on the same embedded store within a few hundredths of a second.
    A remote store is polled every `every` seconds; an embedded one is asked whether anything was committed, and not read otherwise.
    """
    from asyncio import Event, get_running_loop, wait_for

    loop, changed = get_running_loop(), Event()

    def on_update(name: str) -> None:
        if name == str(job_id):
            loop.call_soon_threadsafe(changed.set)

    stop_listening = queue.context.jobs.updates.listen(on_update)
    stop_watching = queue.changes.listen(changed.set)
    before: Update | None = None
    try:
        while True:
            changed.clear()
            commits = queue.changes.commits()
            update = await queue.read_update(job_id, seen, emitted)
            seen, emitted = update.seen, update.emitted
            if before is None or update.news or update.job != before.job:
                yield update
            if update.last:
                return
            before = update
            while not changed.is_set():
                try:
                    await wait_for(changed.wait(), every)
                except TimeoutError:
                    # Writes of this process that are no business of the queue's are not told, such as an edit of the job's item.
                    if commits is None or queue.changes.commits() != commits:
                        break
    finally:
        stop_listening()
        stop_watching()
