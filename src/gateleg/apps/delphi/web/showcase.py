"""Delphi's contributions to other pages of the console: the latest reports on the overview, and conversations in the search."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from gateleg.apps.delphi import rules, service
from gateleg.apps.delphi.errors import RunMissing
from gateleg.apps.delphi.runs.origin import REPORT_STAGE, Origin, artifact_key
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.host import SearchHit, Tile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.apps.delphi.runs.run_tables import Run
    from gateleg.host import Principal
    from gateleg.store import AsyncStore

_SHOWN = 4
#: The maximum numbers of conversations that a search reads, and that it returns.
_SEARCHED, _FOUND = 500, 10
_PICTURE = "maps/groups.svg"


def _recent(store: AsyncStore, principal: Principal, limit: int) -> AsyncIterator[StoredConversation]:
    """The conversations that the principal may see, most recently changed first."""
    question, condition = StoredConversation.recent(), rules.visible_condition(principal)
    return store.query(question if condition is None else question.filter(condition), limit=limit)


async def find_conversations(store: AsyncStore, principal: Principal, text: str) -> list[SearchHit]:
    """The conversations that the principal may see with all words of a text in their topic or name, among the most recently changed."""
    words, found = text.lower().split(), []
    async for conversation in _recent(store, principal, _SEARCHED):
        name = conversation.conversation_id
        if all(word in f"{conversation.topic} {name}".lower() for word in words):
            found.append(SearchHit(conversation.topic or name, f"/delphi/{quote(name, safe='')}", "Conversation"))
    return found[:_FOUND]


async def last_reports(store: AsyncStore, principal: Principal) -> list[Tile]:
    """The reports of the most recently changed conversations that the principal may see."""
    found = []
    async for conversation in _recent(store, principal, _SHOWN):
        name = conversation.conversation_id
        try:
            report = await service.latest_run(store, name, REPORT_STAGE)
        except RunMissing:
            continue
        sections = report.summary.get("sections", 0)
        about = f"a report in {sections} sections"
        where = f"/delphi/{quote(name, safe='')}"
        found.append(Tile(conversation.topic or name, where, about, picture=_picture(report), at=report.completed_at))
    return sorted(found, key=lambda one: -one.at.timestamp() if one.at else 0.0)


def _picture(report: Run) -> str | None:
    if _PICTURE not in report.summary.get("artifacts", []):
        return None
    key = artifact_key(Origin(report.job_id, report.conversation_id, report.created_at), _PICTURE)
    return f"/objects/{quote(key, safe='/-_.~')}"
