"""A job queue on DynamoDB: at-least-once execution, exactly-once completion.

    jobs = Jobs()

    @jobs.handler("PCA", result=PcaResult, queue="math", retry=Retry(times=5), timeout=3600, runs="process")
    async def pca(job: JobContext, config: PcaConfig) -> PcaResult: ...

    queue = Queue(store, jobs)                              or AsyncQueue(store, jobs), whose verbs are awaited
    queue.ensure_tables()                                   JobQueue, JobLedger, JobArchive; Queue(..., tables=TableNames(...)) names others
    answer = pca.submit(queue, PcaConfig(), priority=80, subject="19305")
    await Worker(AsyncQueue(store, jobs), queues={"math": 1}, concurrency=4).run()

Verbs
    in          submit submit_many; writes and enlist for a transaction of the caller
    monitoring  get get_or_archived jobs_page tree log look_on stats history workers states schedules schedules_page archive_page;
                `follow` and `follow_async`
    operating   cancel cancel_tree retry retry_failed set_priority pause resume drain set_rate schedule set_enabled unschedule
    a worker's  claim renew finish promote reap settle run_schedules sweep, and what reports on it

A claim is one conditional update: it requires a pending job with the version that was read, and writes a lease and a token. Every later
write of the worker requires the token, so a worker that lost its lease can change nothing; heartbeats do not raise the version, so they
never make an edit fail. Recording a result is retried as long as the token is valid. What must happen together (a job and the keys it
reserves, a completion and the dependents it releases, a scheduled run and the schedule's next time) is one transaction.

Handlers must tolerate running twice: when a worker is lost, another runs its job again. Key results by `job_id`.

Every verb is a flow (its first argument is a `QueueContext`), written once in the module it belongs to; `TestWorker` runs handlers in
tests with a `ManualClock`. What dashboards read is in `gateleg.jobs.monitor`, the rows of the tables in `gateleg.jobs.tables`.
"""

from gateleg.jobs.context import JobContext
from gateleg.jobs.errors import (
    BadConfig,
    BadSchedule,
    JobError,
    JobMissing,
    KeyReused,
    PurgeIncomplete,
    ScheduleMissing,
    UnknownJobType,
    WrongState,
)
from gateleg.jobs.handlers import DeclaredSchedule, Handler, Jobs, JobsFactory
from gateleg.jobs.handling import giving_up, reporting
from gateleg.jobs.manual_clock import ManualClock
from gateleg.jobs.monitor.follow import Update, follow, follow_async
from gateleg.jobs.monitor.stats import QueueStats
from gateleg.jobs.monitor.trees import Branch
from gateleg.jobs.purging.declaration import Purge
from gateleg.jobs.purging.handlers import PurgeConfig, purge_jobs
from gateleg.jobs.purging.purger import Purger
from gateleg.jobs.purging.report import PurgeReport
from gateleg.jobs.queue import TABLES, AsyncQueue, Queue
from gateleg.jobs.queue_context import QueueSettings
from gateleg.jobs.rules import Retry
from gateleg.jobs.signals import GiveUp, Snooze, Stopped
from gateleg.jobs.stages import Stage, direct_stages, submit_stages
from gateleg.jobs.submit.submission import Enlisted, Submission, Submitted
from gateleg.jobs.table_streams.consumer import StreamConsumer
from gateleg.jobs.table_streams.registry import ChangeHandler, TableStreams
from gateleg.jobs.table_streams.tables import FailedChange, ShardLease, stream_table
from gateleg.jobs.tables.archive import ArchivedJob
from gateleg.jobs.tables.job import Attempt, Failure, Job, JobStatus, LogEntry, Progress, Readiness, Results
from gateleg.jobs.tables.queue_tables import QueueTables
from gateleg.jobs.tables.records import QueueState, Schedule, WorkerRecord
from gateleg.jobs.tables.table_names import LAYOUTS, TableNames
from gateleg.jobs.tasks import SubmitOptions, Task
from gateleg.jobs.testing import TestWorker
from gateleg.jobs.worker.crew import WorkerCrew
from gateleg.jobs.worker.worker import DRAIN_GRACE, Worker

__all__ = [
    "DRAIN_GRACE",
    "LAYOUTS",
    "TABLES",
    "ArchivedJob",
    "AsyncQueue",
    "Attempt",
    "BadConfig",
    "BadSchedule",
    "Branch",
    "ChangeHandler",
    "DeclaredSchedule",
    "Enlisted",
    "FailedChange",
    "Failure",
    "GiveUp",
    "Handler",
    "Job",
    "JobContext",
    "JobError",
    "JobMissing",
    "JobStatus",
    "Jobs",
    "JobsFactory",
    "KeyReused",
    "LogEntry",
    "ManualClock",
    "Progress",
    "Purge",
    "PurgeConfig",
    "PurgeIncomplete",
    "PurgeReport",
    "Purger",
    "Queue",
    "QueueSettings",
    "QueueState",
    "QueueStats",
    "QueueTables",
    "Readiness",
    "Results",
    "Retry",
    "Schedule",
    "ScheduleMissing",
    "ShardLease",
    "Snooze",
    "Stage",
    "Stopped",
    "StreamConsumer",
    "Submission",
    "SubmitOptions",
    "Submitted",
    "TableNames",
    "TableStreams",
    "Task",
    "TestWorker",
    "UnknownJobType",
    "Update",
    "Worker",
    "WorkerCrew",
    "WorkerRecord",
    "WrongState",
    "direct_stages",
    "follow",
    "follow_async",
    "giving_up",
    "purge_jobs",
    "reporting",
    "stream_table",
    "submit_stages",
]


def __dir__() -> list[str]:
    """What the room exports, without the modules that it is made of."""
    return __all__
