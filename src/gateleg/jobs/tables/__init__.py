"""The items of the queue's tables besides `Job`, and the names of the tables.

    for schedule in store.query(queue.tables.schedule.every): ...

`queue.tables` has these classes bound to the tables of a particular queue.
"""

from gateleg.jobs.tables.job import PLAIN, Attempt, Failure, LogEntry, Progress, Readiness, Results, TableNames
from gateleg.jobs.tables.records import (
    TABLES,
    ArchivedJob,
    Hour,
    MinuteCounts,
    QueueState,
    QueueTables,
    Schedule,
    WorkerRecord,
    tables_named,
)

__all__ = [
    "PLAIN",
    "TABLES",
    "ArchivedJob",
    "Attempt",
    "Failure",
    "Hour",
    "LogEntry",
    "MinuteCounts",
    "Progress",
    "QueueState",
    "QueueTables",
    "Readiness",
    "Results",
    "Schedule",
    "TableNames",
    "WorkerRecord",
    "tables_named",
]
