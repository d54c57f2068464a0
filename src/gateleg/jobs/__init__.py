"""A job queue on DynamoDB: at-least-once execution, exactly-once completion.

    jobs = Jobs()

    @jobs.handler("PCA", config=PcaConfig, result=PcaResult, queue="math", retry=Retry(times=5), timeout=3600, runs="process")
    async def pca(job: JobContext, config: PcaConfig) -> PcaResult: ...

    queue = Queue(store, jobs)                              or AsyncQueue(store, jobs), whose verbs are awaited
    queue.ensure_tables()
    answer = queue.submit(Submission("PCA", PcaConfig(), priority=80, subject="19305"))
    await Worker(AsyncQueue(store, jobs), queues={"math": 1}, concurrency=4).run()

Verbs
    in          submit submit_many; writes and enlist for a transaction of the caller
    monitoring  get get_or_archived jobs_page tree log look_on stats history workers states schedules archive_page;
                `follow` and `follow_async`
    operating   cancel cancel_tree retry retry_failed set_priority pause resume drain set_rate schedule set_enabled unschedule
    a worker's  claim renew finish promote reap settle run_schedules sweep, and what reports on it

A claim is one conditional update: it requires a pending job with the version that was read, and writes a lease and a token. Every later
write of the worker requires the token, so a worker that lost its lease can change nothing; heartbeats do not raise the version, so they
never make an edit fail. Recording a result is retried as long as the token is valid. What must happen together (a job and the keys it
reserves, a completion and the dependents it releases, a scheduled run and the schedule's next time) is one transaction.

Handlers must tolerate running twice: when a worker is lost, another runs its job again. Key results by `job_id`.

Every verb is a flow that takes a `QueueContext` first, written once; `TestWorker` runs handlers in tests with a `ManualClock`.
"""

from gateleg.jobs.claim.selection import Picker
from gateleg.jobs.context import JobContext
from gateleg.jobs.errors import (
    BadConfig,
    BadHandler,
    BadSchedule,
    BadSubmission,
    ConfigTooLarge,
    DependencyCycle,
    DependencyMissing,
    HandlerTaken,
    JobError,
    JobMissing,
    KeyReused,
    LeaseLost,
    NoHandlers,
    ParentGone,
    QueueDraining,
    ResultTooLarge,
    ScheduleMissing,
    TooManyDependencies,
    UnknownJobType,
    WrongState,
)
from gateleg.jobs.handlers import Handler, Jobs
from gateleg.jobs.manual_clock import ManualClock
from gateleg.jobs.monitor.follow import Update, follow, follow_async
from gateleg.jobs.monitor.history import moments, series
from gateleg.jobs.monitor.metrics import Metric, metrics
from gateleg.jobs.monitor.stats import QueueStats, Work
from gateleg.jobs.monitor.trees import Branch
from gateleg.jobs.queue import TABLES, AsyncQueue, Queue
from gateleg.jobs.queue_context import QueueContext, Settings
from gateleg.jobs.rules import Cancelled, Completed, Ending, Failed, Released, Retry, Snoozed
from gateleg.jobs.signals import GiveUp, Snooze, Stopped
from gateleg.jobs.submit.submission import Enlisted, Submission, Submitted
from gateleg.jobs.tables.archive import ArchivedJob
from gateleg.jobs.tables.job import Attempt, Failure, Job, JobStatus, LogEntry, Progress, Readiness, Results
from gateleg.jobs.tables.records import Hour, Minute, QueueState, Schedule, WorkerRecord
from gateleg.jobs.testing import TestWorker
from gateleg.jobs.worker.gc_tuning import collect_garbage_less_often
from gateleg.jobs.worker.worker import Worker

__all__ = [
    "TABLES",
    "ArchivedJob",
    "AsyncQueue",
    "Attempt",
    "BadConfig",
    "BadHandler",
    "BadSchedule",
    "BadSubmission",
    "Branch",
    "Cancelled",
    "Completed",
    "ConfigTooLarge",
    "DependencyCycle",
    "DependencyMissing",
    "Ending",
    "Enlisted",
    "Failed",
    "Failure",
    "GiveUp",
    "Handler",
    "HandlerTaken",
    "Hour",
    "Job",
    "JobContext",
    "JobError",
    "JobMissing",
    "JobStatus",
    "Jobs",
    "KeyReused",
    "LeaseLost",
    "LogEntry",
    "ManualClock",
    "Metric",
    "Minute",
    "NoHandlers",
    "ParentGone",
    "Picker",
    "Progress",
    "Queue",
    "QueueContext",
    "QueueDraining",
    "QueueState",
    "QueueStats",
    "Readiness",
    "Released",
    "ResultTooLarge",
    "Results",
    "Retry",
    "Schedule",
    "ScheduleMissing",
    "Settings",
    "Snooze",
    "Snoozed",
    "Stopped",
    "Submission",
    "Submitted",
    "TestWorker",
    "TooManyDependencies",
    "UnknownJobType",
    "Update",
    "Work",
    "Worker",
    "WorkerRecord",
    "WrongState",
    "collect_garbage_less_often",
    "follow",
    "follow_async",
    "metrics",
    "moments",
    "series",
]
