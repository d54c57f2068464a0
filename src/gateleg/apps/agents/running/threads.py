"""The thread of a question, and the order of its runs.

A thread answers one question at a time: `current_run_uuid` names the active run. The transaction that ends it starts the next queued run.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gateleg.apps.agents.access import may_change, may_see
from gateleg.apps.agents.errors import NotFoundInPartition, OtherAgent, ThreadNotYours
from gateleg.apps.agents.running.job_types import ANSWER, AnswerConfig, RunRequest
from gateleg.apps.agents.tables import Thread
from gateleg.apps.agents.thread_tables import Run, RunStatus
from gateleg.host import submitted_by
from gateleg.host.errors import NotAllowed
from gateleg.jobs import Submission
from gateleg.store import patch

if TYPE_CHECKING:
    from gateleg.apps.agents.partitions import Partition
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources
    from gateleg.store import AsyncStore, WriteOperation

__all__ = [
    "OPEN_STATUSES",
    "changeable_run",
    "find_run",
    "find_thread",
    "hand_over_turn",
    "is_open",
    "job_for",
    "own_thread",
    "recent_thread",
]
__all__ += ["waiting_runs"]

#: Statuses of runs that have not ended.
OPEN_STATUSES = frozenset({RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.REQUIRES_ACTION})
#: Maximum threads of a user that are searched for one to continue.
_MAX_CANDIDATES = 50


def is_open(run: Run) -> bool:
    """Whether a run has not ended."""
    return run.status in OPEN_STATUSES


async def find_thread(store: AsyncStore, context: Context, thread_uuid: str) -> Thread:
    """A thread that the caller may see. Raises `NotFoundInPartition`."""
    found = await store.find(Thread, partition=context.partition, thread_uuid=thread_uuid, consistent=True)
    if found is None or not may_see(context, found):
        raise NotFoundInPartition(f"There is no thread {thread_uuid!r}.")
    return found


async def find_run(store: AsyncStore, context: Context, thread_uuid: str, run_uuid: str) -> Run:
    """A run that the caller may see. Raises `NotFoundInPartition`."""
    found = await store.find(Run, partition=context.partition, thread_uuid=thread_uuid, run_uuid=run_uuid, consistent=True)
    if found is None or not may_see(context, found):
        raise NotFoundInPartition(f"There is no run {run_uuid!r} in the thread {thread_uuid!r}.")
    return found


async def changeable_run(store: AsyncStore, context: Context, thread_uuid: str, run_uuid: str) -> Run:
    """A run that the caller may cancel, retry and approve calls of. Raises `NotFoundInPartition` and `NotAllowed`."""
    found = await find_run(store, context, thread_uuid, run_uuid)
    if not may_change(context, found):
        raise NotAllowed(f"{context.principal.name!r} may view the run {run_uuid!r}, but not change it.")
    return found


async def own_thread(store: AsyncStore, context: Context, thread_uuid: str, agent_uuid: str) -> Thread:
    """A thread in which the caller may ask questions."""
    thread = await find_thread(store, context, thread_uuid)
    if thread.owner_id != context.owner:
        raise ThreadNotYours(f"The thread {thread_uuid!r} belongs to another user.")
    if thread.agent_uuid != agent_uuid:
        raise OtherAgent(f"The thread {thread_uuid!r} belongs to the agent {thread.agent_uuid!r}.")
    return thread


async def recent_thread(store: AsyncStore, context: Context, agent_uuid: str, user_id: str | None, minutes: int) -> Thread | None:
    """The most recently active thread of this caller, end user and agent, if active within the given minutes.

    An anonymous user never continues a thread: the previous one may have been another person.
    """
    if user_id is None or minutes <= 0:
        return None
    since = store.setup.now() - timedelta(minutes=minutes)
    question = Thread.of_owner(partition=context.partition, owner_id=context.owner)
    async for thread in store.query(question, consistent=True, limit=_MAX_CANDIDATES):
        if thread.updated_at < since:
            return None
        if (thread.agent_uuid, thread.user_id) == (agent_uuid, user_id):
            return thread
    return None


async def waiting_runs(store: AsyncStore, partition: Partition, thread_uuid: str, most: int) -> list[Run]:
    """The queued runs of a thread, oldest first."""
    question = Run.newest(partition=partition, thread_uuid=thread_uuid)
    found = [run async for run in store.query(question, consistent=True, limit=2 * most + 20)]
    return [run for run in reversed(found) if run.status is RunStatus.QUEUED and run.job_id is None]


def job_for(run: Run, settings: AgentsSettings) -> Submission:
    """The job that answers a run, submitted in the caller's name."""
    request = RunRequest.model_validate(run.request)
    config = AnswerConfig(
        endpoint_id=run.partition.endpoint_id, part_id=run.partition.part_id, thread_uuid=run.thread_uuid, run_uuid=run.run_uuid
    )
    timeout = max(request.seconds, settings.run_seconds) + 60
    submission = Submission(ANSWER, config, subject=run.thread_uuid, job_id=uuid4(), timeout_seconds=timeout)
    return submitted_by(request.asker.principal, submission)


async def hand_over_turn(resources: Resources[AgentsSettings], run: Run) -> list[WriteOperation[Any]]:
    """The writes that start the next queued run of a thread when a run ends, including its job.

    They are conditional on the thread's run count, so a run queued in the meantime makes the transaction fail and be retried.
    """
    store, settings = resources.store, resources.settings
    thread = await store.find(Thread, partition=run.partition, thread_uuid=run.thread_uuid, consistent=True)
    if thread is None or thread.current_run_uuid != run.run_uuid:
        return []
    waiting = await waiting_runs(store, run.partition, run.thread_uuid, settings.waiting_runs)
    unchanged = (Thread.current_run_uuid == run.run_uuid) & (Thread.run_count == thread.run_count)
    if not waiting:
        return [patch(thread, Thread.current_run_uuid.remove(), condition=unchanged)]
    following = waiting[0]
    enlisted = await resources.queue.enlist(job_for(following, settings))
    return [
        patch(thread, Thread.current_run_uuid.set(following.run_uuid), condition=unchanged),
        patch(following, Run.job_id.set(str(enlisted.job.job_id))),
        *enlisted.writes,
    ]
