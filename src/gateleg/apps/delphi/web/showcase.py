"""The last reports, for the overview of the console."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from gateleg.apps.delphi import service
from gateleg.apps.delphi.errors import RunMissing
from gateleg.apps.delphi.runs.origin import REPORT_STAGE, Origin, artifact_key
from gateleg.web import Tile

if TYPE_CHECKING:
    from gateleg.apps.delphi.runs.run_tables import Run
    from gateleg.store import AsyncStore

_SHOWN = 4
_PICTURE = "maps/groups.svg"


async def last_reports(store: AsyncStore) -> list[Tile]:
    """The reports of the conversations that were changed last. Who sees the overview may see all conversations."""
    found = []
    async for conversation in service.conversations(store, limit=_SHOWN):
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
