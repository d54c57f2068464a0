"""Adoption: jobs that other programs have written become jobs that workers find.

Another program puts a pending job into the table without the attributes that Gateleg's indexes need, or changes a job's status and leaves
these attributes behind. One conditional update adds what is missing, as a submission would have, and removes what is no longer true. The
contents of the job (its config, results and log) stay as they were written.

One job is read here too: by those who look at it (`find_job`, `get_job`, `get_or_archived`) and by those who change it (`job_to_change`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.jobs.errors import JobMissing, JobUnreadable
from gateleg.jobs.queue_context import UnreadableJob, read_archived, read_job, read_jobs
from gateleg.jobs.rules import readiness_at
from gateleg.jobs.tables.foreign_form import is_absent
from gateleg.jobs.tables.job import Job, JobStatus, Readiness, owner_of
from gateleg.model import DecodeError, spec_of
from gateleg.model.wire import NULL
from gateleg.store.flow import Request
from gateleg.store.operations import find
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.records import ArchivedJob
    from gateleg.model import Item
    from gateleg.model.wire import Value
    from gateleg.store.flow import Flow

#: The contents of a job, which adoption leaves in the form in which they were written.
_CONTENTS = ("job_config", "job_results", "logs")
#: The attributes of the indexes of claimable and delayed jobs.
_WAITING_KEYS = ("ready_queue", "ready_order", "due_queue")
#: The options that a job has from its handler if its item lacks them. A missing priority is 50, as the public schema says.
_HANDLER_OPTIONS = ("queue", "max_retries", "timeout_seconds")
#: How often a job is read again because another writer was faster than its adoption.
_MAX_TRIES = 5
#: What must not have changed since the item was read.
_GUARDS = ("status", "version", "updated_at")


@dataclass(frozen=True)
class Changes:
    """The attributes to set and to remove."""

    values: dict[str, Value] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.values or self.removed)


def is_claimed_elsewhere(job: Job) -> bool:
    """Whether another program's worker runs the job: it is running, but has no lease."""
    return job.status == JobStatus.PROCESSING and (job.lease_until is None or job.lease_token is None)


def changes_of(context: QueueContext, item: Item, job: Job, unfinished: tuple[UUID, ...] = (), *, ending: bool = False) -> Changes:
    """What adoption changes in an item; nothing for a job in the form that Gateleg writes.

    `unfinished` are its open dependencies. `ending` means that the attempt of a running job is about to be ended.
    """
    if job.status == JobStatus.PROCESSING:
        removed = tuple(name for name in _WAITING_KEYS if name in item) if is_claimed_elsewhere(job) else ()
        # The program that runs it expects the version as it wrote it, such as a text; the write that ends its attempt expects a number.
        version: Value = {"N": str(job.version)}
        return Changes({"version": version} if ending and item.get("version", version) != version else {}, removed)
    now = context.now()
    if job.status == JobStatus.PENDING:
        after = _as_submitted(context, item, job, unfinished, now)
    else:
        # A finished job without an end ended when it was last updated.
        after = job if job.completed_at is not None else job.model_copy(update={"completed_at": job.updated_at})
    changes = _difference(item, after)
    if not changes:
        return changes
    version = {"version": {"N": str(job.version + 1)}}
    return Changes(changes.values | version | {"updated_at": spec_of(Job).sources["updated_at"].pack(now)}, changes.removed)


def _as_submitted(context: QueueContext, item: Item, job: Job, unfinished: tuple[UUID, ...], now: datetime) -> Job:
    """A pending job as a submission would have made it."""
    handler = context.jobs.find(job.job_type)
    values: dict[str, Any] = {
        "owner": job.owner or owner_of(job.tenant, job.created_by),
        "waiting_for": {str(other) for other in unfinished} or None,
        "readiness": Readiness.BLOCKED if unfinished else readiness_at(job.run_at, now),
        "lease_until": None,
    }
    if not (job.attempts and job.attempts[-1].outcome == "snoozed"):
        # A new try begins when it is claimed.
        values["started_at"] = None
    if handler is not None:
        values |= {name: handler.defaults[name] for name in _HANDLER_OPTIONS if is_absent(item.get(name, NULL))}
    if job.completed_at is not None:
        # Another program has made a finished job pending again.
        values |= dict.fromkeys(
            ("completed_at", "job_results", "cancelled_by", "cancel_requested", "cancel_reason", "losses", "expires_at")
        )
    return job.model_copy(update=values)


def _difference(item: Item, job: Job) -> Changes:
    after = spec_of(type(job)).encode(job)
    restarted = "completed_at" in item and "completed_at" not in after
    kept = [name for name in _CONTENTS if name in item and not (restarted and name == "job_results")]
    derived = spec_of(type(job)).derived_names
    values = {name: value for name, value in after.items() if item.get(name) != value and name not in kept}
    known = {attribute.wire for attribute in spec_of(type(job)).attributes.values()} | derived
    return Changes(values, tuple(name for name in item if name in known and name not in after and name not in kept))


def open_dependencies(context: QueueContext, job: Job) -> Flow[tuple[UUID, ...]]:
    """The dependencies of a job that have not completed, or do not exist yet."""
    if not job.dependencies:
        return ()
    states = {dependency.job_id: dependency.status for dependency in (yield from read_jobs(context, job.dependencies))}
    gone = [other for other in job.dependencies if other not in states]
    if gone:
        states |= {dependency.job_id: dependency.status for dependency in (yield from read_archived(context, gone))}
    return tuple(other for other in job.dependencies if states.get(other) != JobStatus.COMPLETED)


def adopt(context: QueueContext, item: Item) -> Flow[Job | None]:
    """Adopt the job in an item of the table, if that is necessary, and return it.

    None if the item is not a valid job, which is noted, or if another writer was faster.
    """
    adopted = yield from _try_to_adopt(context, item)
    if isinstance(adopted, UnreadableJob):
        context.notices.note(adopted)
        return None
    if adopted is not None:
        context.notices.forget(str(adopted.job_id))
    return adopted


def _try_to_adopt(context: QueueContext, item: Item, *, ending: bool = False) -> Flow[Job | UnreadableJob | None]:
    """The job, adopted if that is necessary, or what is wrong with it. None if another writer was faster. `ending` as in `changes_of`."""
    job = read_job(context.tables.job, item)
    if isinstance(job, UnreadableJob):
        return job
    unfinished = (yield from open_dependencies(context, job)) if job.status == JobStatus.PENDING else ()
    changes = changes_of(context, item, job, unfinished, ending=ending)
    if not changes:
        return job
    try:
        response = yield Request("UpdateItem", _update(context, item, changes), "Job.adopt")
    except ServiceError as error:
        if error.code == "ConditionalCheckFailedException":
            return None
        if error.code == "ValidationException":
            # Such as an item that would become too large.
            return UnreadableJob(str(job.job_id), (f"it cannot be updated: {error.message}",))
        raise
    adopted = spec_of(context.tables.job).decode(response["Attributes"])
    if adopted.status == JobStatus.PENDING and adopted.readiness is Readiness.READY:
        context.jobs.ready.notify(adopted.queue)
    return adopted


def _update(context: QueueContext, item: Item, changes: Changes) -> dict[str, Any]:
    """The request, on condition that nobody has changed the job since it was read."""
    names = {name: f"#{number}" for number, name in enumerate(dict.fromkeys([*changes.values, *changes.removed, *_GUARDS]))}
    values = {f":{number}": value for number, value in enumerate(changes.values.values())}
    sets = [f"{names[name]} = :{number}" for number, name in enumerate(changes.values)]
    expression = f"SET {', '.join(sets)}" if sets else ""
    if changes.removed:
        expression += f" REMOVE {', '.join(names[name] for name in changes.removed)}"
    conditions = ["attribute_exists(#id)"]
    for name in _GUARDS:
        if name in item:
            conditions.append(f"{names[name]} = :{name}")
            values[f":{name}"] = item[name]
        else:
            conditions.append(f"attribute_not_exists({names[name]})")
    payload = {
        "TableName": context.queue_table_name,
        "Key": {"job_id": item["job_id"]},
        "UpdateExpression": expression.strip(),
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": {short: name for name, short in names.items()} | {"#id": "job_id"},
        "ReturnValues": "ALL_NEW",
    }
    return payload | ({"ExpressionAttributeValues": values} if values else {})


def read_item(context: QueueContext, job_id: str) -> Flow[Item | None]:
    """The item of a job as it is stored. None if there is none."""
    key = {"job_id": {"S": job_id}}
    response = yield Request("GetItem", {"TableName": context.queue_table_name, "Key": key, "ConsistentRead": True}, "Job.get")
    item: Item | None = response.get("Item")
    return item


def find_job(context: QueueContext, job_id: UUID) -> Flow[Job | None]:
    """Read a job; None if the queue does not have it. Raises `JobUnreadable` if its item is not a valid job."""
    try:
        job: Job | None = yield from find(context.tables.job, job_id=job_id, consistent=True).flow(context.setup)
    except DecodeError as error:
        bad = UnreadableJob(str(job_id), tuple(error.problems) or (error.message,))
        context.notices.note(bad)
        raise JobUnreadable(bad.sentence) from None
    return job


def get_job(context: QueueContext, job_id: UUID) -> Flow[Job]:
    """Read a job. Raises `JobMissing` if the queue does not have it; `get_or_archived` also reads the archive.

    Raises `JobUnreadable` if another program has written something that is not a valid job.
    """
    job = yield from find_job(context, job_id)
    if job is None:
        raise JobMissing(f"Job {job_id} is not in the queue.")
    return job


def get_or_archived(context: QueueContext, job_id: UUID) -> Flow[Job | ArchivedJob]:
    """Read a job from the queue or the archive. Raises `JobMissing` if neither has it, and `JobUnreadable` for an invalid item."""
    job = yield from find_job(context, job_id)
    if job is not None:
        return job
    archived = yield from find(context.tables.archived_job, job_id=job_id).flow(context.setup)
    if archived is None:
        raise JobMissing(f"Job {job_id} is neither in the queue nor in the archive.")
    return archived


def find_valid_job(context: QueueContext, job_id: UUID) -> Flow[Job | None]:
    """The same for workers, which go on with other jobs: None also for an item that is not a valid job."""
    try:
        return (yield from find_job(context, job_id))
    except JobUnreadable:
        return None


def job_to_change(context: QueueContext, job_id: UUID) -> Flow[Job]:
    """A job in the form that Gateleg writes, for an update by an operator. A job that another program has written is adopted first.

    Raises `JobMissing`, and `JobUnreadable` if its item is not a valid job.
    """
    for _ in range(_MAX_TRIES):
        item = yield from read_item(context, str(job_id))
        if item is None:
            break
        adopted = yield from _try_to_adopt(context, item, ending=True)
        if isinstance(adopted, UnreadableJob):
            context.notices.note(adopted)
            raise JobUnreadable(adopted.sentence)
        if adopted is not None and (adopted.expires_at is None or adopted.expires_at > context.now()):
            context.notices.forget(str(adopted.job_id))
            return adopted
    job = yield from find_job(context, job_id)
    if job is None:
        raise JobMissing(f"Job {job_id} is not in the queue.")
    return job


def adopt_by_id(context: QueueContext, job_id: str) -> Flow[Job | None]:
    """Adopt a job that an index has shown in a form that Gateleg does not write. None if it is gone, or not a valid job."""
    item = yield from read_item(context, job_id)
    if item is None:
        context.notices.forget(job_id)
        return None
    return (yield from adopt(context, item))
