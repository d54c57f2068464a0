"""Delphi: from the votes and comments of a conversation to groups, consensus and maps, every run kept under its job.

    conversation = read_export(Path("votes.csv"), Path("comments.csv"))
    opinions = analyse(conversation.votes, conversation.comments)          a pure function; no store needed
    run = await run_votes(store, Origin(job_id, conversation_id, now))     the same, read from and written to a store

Who reads it from the inside begins with `tables` (what is kept), `service` (the use cases), `work` (the jobs), `api` and `pages`, as in
every application. The rooms below hold what it knows: `conversations` (what goes in), `opinions` and `topics` (the two stages, pure),
`reports` (what people look at), `runs` (results, kept and found again) and `web` (parts of the API and the pages).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
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
    from gateleg.apps.delphi.conversations.exports import read_export, read_summary
    from gateleg.apps.delphi.conversations.synthetic import Synthetic, SyntheticPlan, synthesise
    from gateleg.apps.delphi.conversations.votes import Choice, Votes
    from gateleg.apps.delphi.opinions.blobs import blob_of
    from gateleg.apps.delphi.opinions.config import VotesConfig
    from gateleg.apps.delphi.opinions.stage import Opinions, analyse

__all__ = [
    "Choice",
    "Comment",
    "Conversation",
    "ConversationMissing",
    "DelphiError",
    "MissingColumns",
    "Opinions",
    "Problem",
    "RunMissing",
    "Synthetic",
    "SyntheticPlan",
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
    "Choice": "conversations.votes",
    "Opinions": "opinions.stage",
    "SyntheticPlan": "conversations.synthetic",
    "Synthetic": "conversations.synthetic",
    "Votes": "conversations.votes",
    "VotesConfig": "opinions.config",
    "analyse": "opinions.stage",
    "blob_of": "opinions.blobs",
    "read_export": "conversations.exports",
    "read_summary": "conversations.exports",
    "synthesise": "conversations.synthetic",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
