"""The queue tables of Delphi, with the names of its public schema. Other programs write and read jobs in `DelphiJobQueue` too."""

from gateleg.jobs.tables import TableNames, tables_named

__all__ = ["NAMES", "ArchivedJob", "Job"]

NAMES = TableNames("DelphiJobQueue", "DelphiJobLedger", "DelphiJobArchive", "conversation_id", "ConversationIndex")
Job = tables_named(NAMES).job
ArchivedJob = tables_named(NAMES).archived_job
