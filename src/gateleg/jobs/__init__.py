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
    workers     claim renew finish promote reap settle run_schedules, and what reports on workers

A claim is one conditional update: it requires a pending job with the version that was read, and writes a lease and a token. Every later
write of the worker requires the token, so a worker that lost its lease can change nothing; heartbeats do not raise the version, so they
never make an edit fail. Recording a result is retried as long as the token is valid. What must happen together (a job and the keys it
reserves, a completion and the dependents it releases, a scheduled run and the schedule's next time) is one transaction.

Handlers must tolerate running twice: when a worker is lost, another runs its job again. Key results by `job_id`.

`TestWorker` runs handlers in tests with a `ManualClock`. Further parts have their own modules: `gateleg.jobs.monitor` for dashboards,
`gateleg.jobs.tables` for the items of the tables, `gateleg.jobs.worker` for programs that host workers, `gateleg.jobs.purging`, and
`gateleg.jobs.table_streams`.
"""

from gateleg.jobs.context import JobContext
from gateleg.jobs.errors import BadConfig, BadSchedule, JobError, JobMissing, KeyReused, ScheduleMissing, UnknownJobType, WrongState
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.handling import giving_up, reporting
from gateleg.jobs.manual_clock import ManualClock
from gateleg.jobs.monitor.follow import Update, follow, follow_async
from gateleg.jobs.queue import AsyncQueue, Queue
from gateleg.jobs.queue_context import QueueSettings
from gateleg.jobs.rules import Retry
from gateleg.jobs.signals import GiveUp, Snooze, Stopped
from gateleg.jobs.stages import Stage, direct_stages, submit_stages
from gateleg.jobs.submit.submission import PreparedSubmission, Submission, Submitted
from gateleg.jobs.tables.job import Job, JobStatus
from gateleg.jobs.tables.table_names import TableNames
from gateleg.jobs.tasks import SubmitOptions, Task
from gateleg.jobs.testing import TestWorker
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


def __dir__() -> list[str]:
    """The exported names, without the submodules."""
    return __all__
