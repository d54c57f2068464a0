"""The names of the queue's tables."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TableNames"]


@dataclass(frozen=True)
class TableNames:
    """The names of the queue's three tables, and of the attribute and index for a job's subject.

    As with any other table, the store's prefix is prepended, and its `table_names` replace the names.
    """

    #: the table of jobs
    queue: str = "JobQueue"
    #: the table of all other records: workers, schedules, keys, logs, counts
    ledger: str = "JobLedger"
    #: the table of archived jobs
    archive: str = "JobArchive"
    #: the attribute that holds a job's `subject`
    subject: str = "subject"
    #: the index by the subject
    subject_index: str = "SubjectIndex"


PLAIN = TableNames()
