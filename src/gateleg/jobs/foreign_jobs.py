"""Jobs of other programs: sweeps that adopt pending ones, end those that run for too long, and find items that no list shows.

The table is an interface: a program puts pending jobs into it, and another claims them, as the public schema describes. A sweep reads
`StatusCreatedIndex` a page at a time, and its filter lets only jobs pass that Gateleg would not have written, so a long queue of ordinary
jobs costs little. The newest and the oldest jobs are read each time, because a program writes the current time, or an old one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from gateleg.jobs.admin import update_dependent
from gateleg.jobs.adoption import adopt, find_valid_job, job_to_change, open_dependencies
from gateleg.jobs.errors import JobMissing, JobUnreadable
from gateleg.jobs.finish import attempt_end_actions, change_status, retry_of
from gateleg.jobs.queue_context import UnreadableJob, collect_stream, job_id_of, read_job, read_jobs
from gateleg.jobs.rules import claimed_too_long, decide
from gateleg.jobs.tables.foreign_form import is_absent
from gateleg.jobs.tables.job import FINISHED, Job, JobStatus, Readiness
from gateleg.model import ModelError
from gateleg.model.wire import NULL
from gateleg.store import ConditionFailed, NotFound, TransactionCanceled, delete, put
from gateleg.store.flow import Request
from gateleg.store.operations import query

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Item
    from gateleg.store.flow import Flow

#: How many of the newest and of the oldest jobs each sweep reads.
_ENDS = 25
#: Seconds for which a job of an unknown type waits for a worker that knows the type and its queue.
_GRACE_SECONDS = 10.0
#: The filters for jobs that are not in the index that a job in their status belongs in.
_NOT_INDEXED = {
    JobStatus.PENDING: "(attribute_not_exists(ready_queue) OR attribute_not_exists(ready_order)) "
    "AND (attribute_not_exists(due_queue) OR attribute_not_exists(run_at))",
    JobStatus.PROCESSING: "attribute_not_exists(lease_queue) OR attribute_not_exists(lease_until)",
}
#: What an item may raise that nobody has thought of.
UNFORESEEN = (KeyError, ValueError, TypeError, AttributeError, ArithmeticError, ModelError)
#: How many jobs of unknown types a worker remembers.
_MAX_STRANGERS = 10_000
#: How many invalid items are named.
MAX_SET_ASIDE = 100


@dataclass
class Sweep:
    """Where the sweeps of a worker continue, and since when it knows jobs of unknown types."""

    #: by table and status
    positions: dict[tuple[str, JobStatus], Item | None] = field(default_factory=dict)
    #: by table; None at its end
    survey: dict[str, Item | None] = field(default_factory=dict)
    #: since when it knows them
    strangers: dict[str, float] = field(default_factory=dict)
    #: how many seconds they wait
    grace: float = _GRACE_SECONDS

    def waits(self, job_id: str, tick: float) -> bool:
        """Whether a job of an unknown type still waits for a worker that knows it."""
        return self.known_for(job_id, tick) < self.grace

    def known_for(self, job_id: str, tick: float) -> float:
        """For how many seconds the worker has known a job."""
        if len(self.strangers) >= _MAX_STRANGERS:
            self.strangers.clear()
        return tick - self.strangers.setdefault(job_id, tick)


def adopt_jobs(context: QueueContext, sweep: Sweep | None = None, *, examine: int = 500) -> Flow[list[Job]]:
    """Adopt the pending jobs that other programs have written, end those that they run for too long, and return the jobs that changed.

    Reads the newest and the oldest jobs, and the next `examine` of the others; `sweep` remembers where it continues. Workers call it.
    """
    sweep = sweep or Sweep(grace=0.0)
    changed: list[Job] = []
    steps = ((JobStatus.PENDING, _adopt_pending), (JobStatus.PROCESSING, _end_overdue))
    for member, (status, step) in product(context.members, steps):
        for item in (yield from _next_items(member, sweep, status, examine)):
            try:
                job = yield from step(member, sweep, item)
            except UNFORESEEN as error:
                # It must not keep the sweep from the others.
                context.notices.note(UnreadableJob(job_id_of(item), (f"{type(error).__name__}: {error}",)))
                continue
            if job is not None:
                changed.append(job)
    return changed


def _next_items(context: QueueContext, sweep: Sweep, status: JobStatus, examine: int) -> Flow[list[Item]]:
    """The jobs in a status that lack the attributes of Gateleg's indexes: among the newest, the oldest, and the next page of all."""
    question = context.tables.job.in_status(status=status)
    filters = {"FilterExpression": _NOT_INDEXED[status]}
    table = context.queue_table_name
    start = sweep.positions.get((table, status))
    reads = [question.reversed().requests(table_name=table, limit=_ENDS), question.requests(table_name=table, limit=_ENDS)]
    if start is not None:
        reads.append(question.requests(table_name=table, limit=examine, start=start))
    items: dict[str, Item] = {}
    for (payload,) in reads:
        response = yield Request("Query", payload | filters, "Job.in_status")
        items |= {job_id_of(item): item for item in response["Items"]}
        if "LastEvaluatedKey" not in response and payload is reads[0][0]:
            # These were all.
            break
    sweep.positions[table, status] = response.get("LastEvaluatedKey")
    return list(items.values())


def _adopt_pending(context: QueueContext, sweep: Sweep, item: Item) -> Flow[Job | None]:
    job_type = item.get("job_type", {}).get("S")
    unknown = is_absent(item.get("queue", NULL)) and context.jobs.find(job_type or "") is None
    if unknown and sweep.waits(job_id_of(item), context.setup.ticks()):
        return None
    sweep.strangers.pop(job_id_of(item), None)
    job = yield from adopt(context, item)
    if job is None or job.status != JobStatus.PENDING:
        return job
    if job.readiness is Readiness.BLOCKED:
        return (yield from _follow_dependencies(context, job))
    return job if job.version != _version_in(item) else None


def _version_in(item: Item) -> int | None:
    text = item.get("version", {}).get("N")
    return int(text) if text is not None and text.isdigit() else None


def _follow_dependencies(context: QueueContext, job: Job) -> Flow[Job | None]:
    """Cancel a waiting job if a dependency has failed: another program that fails or cancels a job does not tell its dependents."""
    for dependency in (yield from read_jobs(context, (yield from open_dependencies(context, job)))):
        if dependency.status in FINISHED and (yield from update_dependent(context, dependency, job)):
            return (yield from find_valid_job(context, job.job_id))
    return None


def _end_overdue(context: QueueContext, sweep: Sweep, item: Item) -> Flow[Job | None]:
    """End the attempt of another program's worker that has not ended it within the job's timeout."""
    job = yield from adopt(context, item)
    if job is None or job.status != JobStatus.PROCESSING:
        return None
    now = context.now()
    # A worker that goes on updating the job goes on running it. One whose clock is ahead has the timeout from now on.
    age = (now - max(job.started_at or job.updated_at, job.updated_at)).total_seconds()
    if age < 0:
        age = sweep.known_for(f"{job.job_id} {job.version} {job.updated_at}", context.setup.ticks())
    if age < job.timeout_seconds:
        return None
    try:
        current = yield from job_to_change(context, job.job_id)
        if (current.status, current.version) != (job.status, job.version):
            return None
        decision = decide(current, claimed_too_long(current), retry_of(context, current), now, context.setup.random)
        return (yield from change_status(context, current, decision.status, attempt_end_actions(context, current, decision, now)))
    except (ConditionFailed, TransactionCanceled, NotFound, JobMissing, JobUnreadable):
        return None


def survey(context: QueueContext, sweep: Sweep, *, examine: int = 200) -> Flow[bool]:
    """Note the invalid items among the next `examine` items of each table, and return whether the end of all tables was reached.

    No index has an item without a status or a time, and nobody lists a status that does not exist.
    """
    if all(start is None for start in sweep.survey.values()):
        # A new round.
        sweep.survey.clear()
    for member in context.members:
        table = member.queue_table_name
        start = sweep.survey.get(table)
        if table in sweep.survey and start is None:
            continue
        payload = {"TableName": table, "Limit": examine} | ({} if start is None else {"ExclusiveStartKey": start})
        response = yield Request("Scan", payload, "Job.survey")
        for item in response["Items"]:
            job = read_job(member.tables.job, item)
            if isinstance(job, UnreadableJob):
                context.notices.note(job)
        sweep.survey[table] = response.get("LastEvaluatedKey")
    return all(start is None for start in sweep.survey.values())


def record_set_aside(context: QueueContext) -> Flow[None]:
    """Write the invalid items that this process has come across to the ledger, where hosts find them. Workers call it."""
    for bad in context.notices.unrecorded[:MAX_SET_ASIDE]:
        record = context.tables.set_aside_record(
            digest=_digest(bad.job_id), job_id=bad.job_id[:1000], problems=[bad.reason[:1000]], noticed_at=context.now()
        )
        yield from put(record, returning="none").flow(context.setup)
        context.notices.recorded(bad)


def set_aside(context: QueueContext, *, clean: bool = False) -> Flow[list[UnreadableJob]]:
    """The items of the job tables that are not valid jobs, as they are now: those that workers and this process have come across.

    Up to 100 are named. `clean` also deletes the records of items that were repaired or deleted; workers do that.
    """
    records = yield from collect_stream(query(context.tables.set_aside_record.every(), limit=MAX_SET_ASIDE), context)
    recorded = [record.job_id for record in records]
    noticed = list(dict.fromkeys([*recorded, *(bad.job_id for bad in context.notices.noticed)]))[:MAX_SET_ASIDE]
    if not noticed:
        return []
    current: dict[str, UnreadableJob] = {}
    for member in context.members:
        current |= {bad.job_id: bad for bad in (yield from _still_invalid(member, noticed))}
    for job_id in set(noticed) - current.keys():
        context.notices.forget(job_id)
        if clean and job_id in recorded:
            yield from delete(context.tables.set_aside_record, digest=_digest(job_id)).flow(context.setup)
    return [current[job_id] for job_id in noticed if job_id in current]


def find_set_aside(context: QueueContext, job_id: str) -> Flow[UnreadableJob | None]:
    """The item with an id, which may be any text, if it is not a valid job."""
    for member in context.members:
        for bad in (yield from _still_invalid(member, [job_id])):
            context.notices.note(bad)
            return bad
    return None


def _still_invalid(context: QueueContext, job_ids: Iterable[str]) -> Flow[list[UnreadableJob]]:
    table = context.queue_table_name
    keys = [{"job_id": {"S": job_id}} for job_id in job_ids]
    items: list[Item] = []
    while keys:
        response = yield Request("BatchGetItem", {"RequestItems": {table: {"Keys": keys, "ConsistentRead": True}}}, "Job.set_aside")
        items += response["Responses"].get(table, [])
        keys = response.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
    jobs = (read_job(context.tables.job, item) for item in items)
    return [bad for bad in jobs if isinstance(bad, UnreadableJob)]


def _digest(job_id: str) -> str:
    return hashlib.blake2b(job_id.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def adoption_task(context: QueueContext) -> str:
    """The name of the task of adopting jobs, for the workers that know the same job types."""
    types = sorted(handler.job_type for handler in context.jobs)
    return f"adopt:{hashlib.blake2b(' '.join(types).encode(), digest_size=6).hexdigest()}"
