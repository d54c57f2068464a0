"""Delphi: from the votes and comments of a conversation to groups, consensus and maps, every run kept under its job.

    conversation = read_export(Path("votes.csv"), Path("comments.csv"))
    opinions = analyse(conversation.votes, conversation.comments)          a pure function; no store needed
    run = await run_votes(store, Origin(job_id, conversation_id, now))     the same, read from and written to a store

Who reads it from the inside begins with `votes` (what a vote is), `opinions` (the stage as a whole), `tables`, `vote_tables` and
`run_tables` (what is kept), and `service` (the use cases).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gateleg.apps.delphi.conversation import Comment, Conversation
from gateleg.apps.delphi.errors import (
    ConversationMissing,
    DelphiError,
    MissingColumns,
    Problem,
    RunMissing,
    UnreadableFile,
    UnreadableRows,
    UploadRaced,
)

if TYPE_CHECKING:
    from gateleg.apps.delphi.blobs import blob_of
    from gateleg.apps.delphi.exports import read_export, read_summary
    from gateleg.apps.delphi.opinions import Opinions, VotesConfig, analyse
    from gateleg.apps.delphi.synthetic import Plan, Synthetic, synthesise
    from gateleg.apps.delphi.votes import Choice, Votes

__all__ = [
    "Choice",
    "Comment",
    "Conversation",
    "ConversationMissing",
    "DelphiError",
    "MissingColumns",
    "Opinions",
    "Plan",
    "Problem",
    "RunMissing",
    "Synthetic",
    "UnreadableFile",
    "UnreadableRows",
    "UploadRaced",
    "Votes",
    "VotesConfig",
    "analyse",
    "blob_of",
    "read_export",
    "read_summary",
    "synthesise",
]

#: What is loaded when it is asked for: a host that only declares the application does not wait for numpy and what stands on it.
_LATER = {
    "Choice": "votes",
    "Opinions": "opinions",
    "Plan": "synthetic",
    "Synthetic": "synthetic",
    "Votes": "votes",
    "VotesConfig": "opinions",
    "analyse": "opinions",
    "blob_of": "blobs",
    "read_export": "exports",
    "read_summary": "exports",
    "synthesise": "synthetic",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
