"""Names of a queue's tables: those of every queue, and those that an application brings."""

from gateleg.jobs import TableNames
from gateleg.jobs.tables import PLAIN

__all__ = ["BROUGHT", "LAYOUTS", "PLAIN"]

BROUGHT = TableNames("DelphiJobQueue", "DelphiJobLedger", "DelphiJobArchive", "conversation_id", "ConversationIndex")
LAYOUTS = {"plain": PLAIN, "delphi": BROUGHT}
