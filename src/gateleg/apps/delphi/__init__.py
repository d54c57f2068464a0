"""Delphi: turns the votes and comments of a conversation into groups, consensus, topics and maps. Each run is stored under its job.

    conversation = read_export(Path("votes.csv"), Path("comments.csv"))
    opinions = analyse(conversation.votes, conversation.comments)          pure; needs no store
    run = await run_votes(store, Origin(job_id, conversation_id, now))     the same, read from and written to a store

To read the code, begin with `tables`, `service` (the use cases), `work` (the job handlers), `api` and `pages`, as in every application.
The folders: `conversations` (the input), `opinions` and `topics` (the two analyses, pure), `reports` (pages, maps and data files), `runs`
(storing and loading results) and `web` (parts of the API and the console pages).
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

#: Names that are imported on first use, so that a host that only declares the application does not wait for NumPy.
_LAZY = {
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
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
