"""The items of the queue's tables besides `Job`, and the names of the tables.

    for schedule in store.query(queue.tables.schedule.every): ...

`queue.tables` has these classes bound to the tables of a particular queue. `LAYOUTS` has the two sets of table names that hosts and
commands know: `plain`, and `delphi`, which the suite's applications use.
"""

from gateleg.jobs.tables.archive import ArchivedJob
from gateleg.jobs.tables.job import Attempt, Failure, LogEntry, Progress, Readiness, Results
from gateleg.jobs.tables.queue_tables import TABLES, QueueTables, tables_named
from gateleg.jobs.tables.records import Hour, MinuteCounts, QueueState, Schedule, WorkerRecord
from gateleg.jobs.tables.table_names import LAYOUTS, Layout

__all__ = [
    "LAYOUTS",
    "TABLES",
    "ArchivedJob",
    "Attempt",
    "Failure",
    "Hour",
    "Layout",
    "LogEntry",
    "MinuteCounts",
    "Progress",
    "QueueState",
    "QueueTables",
    "Readiness",
    "Results",
    "Schedule",
    "WorkerRecord",
    "tables_named",
]
