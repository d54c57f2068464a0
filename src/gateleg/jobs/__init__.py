"""A job queue on DynamoDB: at-least-once execution, exactly-once completion.

    jobs = Jobs()

    @jobs.handler("PCA", result=PcaResult, queue="math", retry=Retry(times=5), timeout=3600, runs="process")
    async def pca(job: JobContext, config: PcaConfig) -> PcaResult: ...

    queue = Queue(store, jobs)                              or AsyncQueue(store, jobs), whose methods are awaited
    queue.ensure_tables()                                   JobQueue, JobLedger, JobArchive; Queue(..., tables=TableNames(...)) names others
    submitted = pca.submit(queue, PcaConfig(), priority=80, subject="19305")
    await Worker(AsyncQueue(store, jobs), queues={"math": 1}, concurrency=4).run()

Methods of a queue
    submitting  submit submit_many; writes and enlist for a transaction of the caller
    monitoring  get get_or_archived jobs_page tree log read_update stats history workers states schedules schedules_page archive_page;
                `follow` and `follow_async`
    operating   cancel cancel_tree retry retry_failed set_priority pause resume drain set_rate schedule set_enabled unschedule
    workers     claim renew finish promote reap settle run_schedules, and the records of workers

A claim is one conditional update: it requires a pending job with the version that was read, and writes a lease and a fencing token. Every
later write of the worker requires the token, so a worker that has lost its lease cannot change the job. Heartbeats do not raise the
version, so they never make an edit fail. Recording a result is retried as long as the token is valid. Related writes (a job and the keys
it reserves, a completion and the dependents it releases, a scheduled run and the schedule's next time) are one transaction.

Handlers must be idempotent: when a worker is lost, another worker runs its jobs again. Use `job_id` as the key of results.

`TestWorker` runs handlers in tests with a `ManualClock`. Other modules: `gateleg.jobs.monitor` (statistics for dashboards),
`gateleg.jobs.tables` (the items of the queue's tables), `gateleg.jobs.worker` (programs that host workers), `gateleg.jobs.purging` (remove
items with everything that belongs to them) and `gateleg.jobs.table_streams` (handlers of table changes).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gateleg.jobs.errors import (
    BadConfig,
    BadSchedule,
    JobError,
    JobMissing,
    JobUnreadable,
    KeyReused,
    ScheduleMissing,
    UnknownJobType,
    WrongState,
)
from gateleg.jobs.handlers import Jobs, giving_up, reporting
from gateleg.jobs.monitor.listing import Update, follow, follow_async
from gateleg.jobs.queue import AsyncQueue, Queue
from gateleg.jobs.queue_context import QueueSettings
from gateleg.jobs.rules import Retry
from gateleg.jobs.submission import PreparedSubmission, Submission, SubmitOptions, Submitted
from gateleg.jobs.tables.job import Job, JobStatus, TableNames
from gateleg.jobs.tasks import GiveUp, JobContext, Snooze, Stage, Stopped, Task, direct_stages, submit_stages

if TYPE_CHECKING:
    from gateleg.jobs.testing import ManualClock, TestWorker
    from gateleg.jobs.worker.worker import Worker

__all__ = [
    "AsyncQueue",
    "BadConfig",
    "BadSchedule",
    "GiveUp",
    "Job",
    "JobContext",
    "JobError",
    "JobMissing",
    "JobStatus",
    "JobUnreadable",
    "Jobs",
    "KeyReused",
    "ManualClock",
    "PreparedSubmission",
    "Queue",
    "QueueSettings",
    "Retry",
    "ScheduleMissing",
    "Snooze",
    "Stage",
    "Stopped",
    "Submission",
    "SubmitOptions",
    "Submitted",
    "TableNames",
    "Task",
    "TestWorker",
    "UnknownJobType",
    "Update",
    "Worker",
    "WrongState",
    "direct_stages",
    "follow",
    "follow_async",
    "giving_up",
    "reporting",
    "submit_stages",
]

#: What is imported at its first use, with its module: most processes submit jobs and run none.
_LAZY_NAMES = {"ManualClock": "gateleg.jobs.testing", "TestWorker": "gateleg.jobs.testing", "Worker": "gateleg.jobs.worker.worker"}


def __getattr__(name: str) -> Any:
    """Import a worker with its first use."""
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY_NAMES[name]), name)


def __dir__() -> list[str]:
    """The exported names, without the submodules."""
    return __all__
