"""Which of a queue's tables an operation uses: the one that holds the job, or all of them.

A queue with further tables (`QueueContext.members`) is one queue for all who use it. New jobs go to the tables of their type
(`QueueContext.of_type`); an operation on a job goes to the tables that hold it; references between jobs may lead from one to another.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar, cast

from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.tables.job import job_key
from gateleg.model import spec_of
from gateleg.store.flow import Request, Together
from gateleg.store.operations import batch_get, query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from uuid import UUID

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.archive import ArchivedJob
    from gateleg.jobs.tables.job import Job
    from gateleg.model import Query, Table
    from gateleg.store.flow import Flow

F = TypeVar("F", bound="Callable[..., Any]")


def by_id(flow: F) -> F:
    """The flow of a verb whose first argument is a job's id, on the tables that hold the job."""

    @functools.wraps(flow)
    def routed(context: QueueContext, *args: Any, **options: Any) -> Any:
        started = flow(context, *args, **options)
        if len(context.members) == 1:
            return started
        started.close()
        return _on_holder(flow, context, args, options)

    return cast("F", routed)


def _on_holder(flow: Callable[..., Any], context: QueueContext, args: tuple[Any, ...], options: dict[str, Any]) -> Flow[Any]:
    holder = yield from member_with(context, args[0] if args else options["job_id"])
    return (yield from flow(holder, *args, **options))


def by_job(flow: F) -> F:
    """The flow of a verb whose first argument is a job, on the tables that the job was read from."""

    @functools.wraps(flow)
    def routed(context: QueueContext, job: Job, *args: Any, **options: Any) -> Any:
        return flow(context.holding(job), job, *args, **options)

    return cast("F", routed)


def member_with(context: QueueContext, job_id: UUID) -> Flow[QueueContext]:
    """The member whose tables hold a job or its archive; that of the queue's own tables if none does.

    Only the key is read, so an item that cannot be decoded is found too.
    """
    own, *others = context.members
    if not others:
        return own
    requests = [request for member in others for request in _key_reads(member, job_id)]
    responses = yield Together(requests)
    for member, response in zip((member for member in others for _ in range(2)), responses, strict=True):
        if isinstance(response, Exception):
            raise response
        if "Item" in response:
            return member
    return own


def _key_reads(member: QueueContext, job_id: UUID) -> list[Request]:
    """The reads of a job's key in the queue and in the archive of one member."""
    tables: list[Table] = [spec_of(member.tables.job).table, spec_of(member.tables.archived_job).table]
    wanted = {"Key": job_key(job_id), "ConsistentRead": True, "ProjectionExpression": "job_id"}
    return [Request("GetItem", {"TableName": member.setup.name_of(table), **wanted}, "Job.key") for table in tables]


def read_jobs(context: QueueContext, ids: Iterable[UUID]) -> Flow[list[Job]]:
    """The jobs with these ids in any table of the queue, in the order of the ids; archived and unknown ones are left out."""
    wanted = list(ids)
    refs = [member.tables.job.key(job_id=job_id) for member in context.members for job_id in wanted]
    found = {job.job_id: job for job in (yield from batch_get(refs, consistent=True).flow(context.setup)) if job is not None}
    return [found[job_id] for job_id in wanted if job_id in found]


def read_archived(context: QueueContext, ids: Iterable[UUID]) -> Flow[list[ArchivedJob]]:
    """The archived jobs with these ids in any archive of the queue."""
    refs = [member.tables.archived_job.key(job_id=job_id) for job_id in ids for member in context.members]
    return [job for job in (yield from batch_get(refs).flow(context.setup)) if job is not None]


def jobs_where(context: QueueContext, question: Callable[[type[Job]], Query[Job]], *, limit: int | None = None) -> Flow[list[Job]]:
    """The jobs of a question in all tables of the queue: `jobs_where(lambda job: job.of_type(job_type="resize"))`.

    They are in the order of the question within each table; `limit` is the maximum from each.
    """
    found: list[Job] = []
    for member in context.members:
        found += yield from collect_stream(query(question(member.tables.job), limit=limit), context)
    return found
