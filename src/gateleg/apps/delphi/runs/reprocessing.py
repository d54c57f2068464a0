"""Run conversations again, all of them or some: after an upgrade, or with another config. Earlier runs stay."""

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

#: A run of everything waits behind what people ask for now.
_PRIORITY = 20


async def reprocess(
    store: AsyncStore, queue: AsyncQueue, names: Sequence[str] | None, config: Mapping[str, Any] | None = None, by: str | None = None
) -> list[Job]:
    """Submit a pipeline for each of the conversations, or for all where no names are given; nothing is submitted if one is not there."""
    known = [row.conversation_id async for row in store.query(StoredConversation.recent)] if names is None else list(dict.fromkeys(names))
    for name in known if names is not None else ():
        if await store.find(StoredConversation, conversation_id=name, consistent=True) is None:
            raise ConversationMissing(f"There is no conversation {name!r}; nothing was submitted.")
    found = []
    for name in known:
        submission = Submission(PIPELINE, dict(config or {}), subject=name, priority=_PRIORITY, created_by=by)
        found.append((await queue.submit(submission)).job)
    return found
