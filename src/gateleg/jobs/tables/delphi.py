"""The queue's entities under the table names that hosts use, for `gateleg tables --tables gateleg.jobs.tables.delphi`."""

from gateleg.jobs.tables.queue_tables import tables_named
from gateleg.jobs.tables.table_names import DELPHI

__all__ = [
    "ArchivedBranch",
    "ArchivedJob",
    "EventChunk",
    "Hour",
    "Job",
    "KeyReservation",
    "LeaderLease",
    "LogChunk",
    "MinuteCounts",
    "QueueState",
    "RateWindow",
    "Schedule",
    "Slots",
    "WorkerRecord",
]

_tables = tables_named(DELPHI)
Job = _tables.job
ArchivedJob = _tables.archived_job
QueueState = _tables.queue_state
RateWindow = _tables.rate_window
Slots = _tables.slots
KeyReservation = _tables.key_reservation
WorkerRecord = _tables.worker_record
LeaderLease = _tables.leader_lease
Schedule = _tables.schedule
LogChunk = _tables.log_chunk
EventChunk = _tables.event_chunk
ArchivedBranch = _tables.archived_branch
MinuteCounts = _tables.minute_counts
Hour = _tables.hour
