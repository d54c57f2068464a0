"""The list of conversations, with their sizes and when they were last mapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.delphi.runs.origin import VOTES_STAGE
from gateleg.apps.delphi.runs.run_tables import LatestRun, StoredConversation, Upload
from gateleg.apps.delphi.web.addresses import address_of
from gateleg.web.console.cells import tag_cell
from gateleg.web.console.components import Column, Row, ago_cell, meta_cell

if TYPE_CHECKING:
    from gateleg.model import Query
    from gateleg.store import AsyncStore

COLUMNS = (
    Column("topic", "Conversation", wraps=True),
    Column("group", "Belongs to", desk=True),
    Column("participants", "Participants", right=True),
    Column("comments", "Comments", right=True, desk=True),
    Column("votes", "Votes", right=True, desk=True),
    Column("mapped", "Mapped", right=True),
    Column("changed", "Uploaded", right=True, desk=True),
)


@dataclass(frozen=True)
class Listing:
    """A page of conversations as rows."""

    rows: list[Row]
    next: str | None


async def listing(store: AsyncStore, question: Query[Any], *, limit: int, cursor: str | None) -> Listing:
    """A page of conversations, with their current uploads and newest runs."""
    page = await store.page(question, limit=limit, cursor=cursor)
    uploads = await store.batch_get([Upload.key(upload_id=one.upload_id) for one in page])
    runs = await store.batch_get([LatestRun.key(conversation_id=one.conversation_id, stage=VOTES_STAGE) for one in page])
    return Listing([_row(*one) for one in zip(page, uploads, runs, strict=True)], page.next)


def _row(one: StoredConversation, upload: Upload | None, run: LatestRun | None) -> Row:
    name = one.conversation_id
    cells = {
        "topic": one.topic or name,
        "group": tag_cell(one.group) if one.group else "everybody",
        "participants": None if upload is None else f"{upload.n_participants:,}",
        "comments": None if upload is None else f"{upload.n_comments:,}",
        "votes": None if upload is None else f"{upload.n_votes:,}",
        "mapped": meta_cell("not yet") if run is None else ago_cell(run.run_created_at),
        "changed": ago_cell(one.updated_at),
    }
    return Row(name, cells, address_of(name))
