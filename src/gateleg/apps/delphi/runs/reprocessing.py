"""Submits the pipelines of all or some conversations again, after an upgrade or with another config. Earlier runs are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.delphi.errors import ConversationMissing
from gateleg.apps.delphi.runs.pipeline import PIPELINE
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.jobs import Submission

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.jobs import AsyncQueue, Job
    from gateleg.store import AsyncStore

#: Low, so that reprocessing does not delay interactive work.
_PRIORITY = 20


async def reprocess(
    store: AsyncStore, queue: AsyncQueue, names: Sequence[str] | None, config: Mapping[str, Any] | None = None, by: str | None = None
) -> list[Job]:
    """Submit a pipeline for each of the named conversations, or for all. If one does not exist, nothing is submitted."""
    known = [row.conversation_id async for row in store.query(StoredConversation.recent)] if names is None else list(dict.fromkeys(names))
    for name in known if names is not None else ():
        if await store.find(StoredConversation, conversation_id=name, consistent=True) is None:
            raise ConversationMissing(f"There is no conversation {name!r}; nothing was submitted.")
    found = []
    for name in known:
        submission = Submission(PIPELINE, dict(config or {}), subject=name, priority=_PRIORITY, created_by=by)
        found.append((await queue.submit(submission)).job)
    return found
