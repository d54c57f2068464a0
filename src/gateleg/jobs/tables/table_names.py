"""What the queue's tables are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LAYOUTS", "Layout", "TableNames"]

#: The names of the two sets of table names that commands and hosts know.
Layout = Literal["plain", "delphi"]


@dataclass(frozen=True)
class TableNames:
    """The names of the queue's three tables, and how they store what a job is about.

    A store's prefix stands before the names of the tables, and its `table_names` replace them, as with any other table.
    """

    queue: str = "JobQueue"
    ledger: str = "JobLedger"
    archive: str = "JobArchive"
    #: the attribute that holds a job's `subject`, and the index by it
    subject: str = "subject"
    subject_index: str = "SubjectIndex"


PLAIN = TableNames()
#: As the document has them that Delphi follows. Hosts use these, so that what they have stored stays readable.
DELPHI = TableNames("DelphiJobQueue", "DelphiJobLedger", "DelphiJobArchive", "conversation_id", "ConversationIndex")
LAYOUTS: Mapping[Layout, TableNames] = {"plain": PLAIN, "delphi": DELPHI}
