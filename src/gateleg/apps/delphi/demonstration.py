"""The demo data of Delphi: a town's conversation with planted groups and topics, and the pipeline that maps it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from gateleg.apps.delphi.errors import UploadRaced
from gateleg.apps.delphi.runs.pipeline import PIPELINE
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.apps.delphi.runs.uploads import upload_conversation
from gateleg.jobs import Submission

if TYPE_CHECKING:
    from gateleg.jobs import AsyncQueue
    from gateleg.store import AsyncStore

CONVERSATION = "our-town"


async def load(store: AsyncStore, queue: AsyncQueue) -> None:
    """Upload the conversation unless it exists, and submit its pipeline once."""
    if await store.find(StoredConversation, conversation_id=CONVERSATION, consistent=True) is None:
        # Imported late: most hosts have the conversation already when they start.
        from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise

        plan = SyntheticPlan(participants=120, comments=60, groups=3, topics=5, votes_per_participant=28, seed=7)
        # If two hosts start at once, only one uploads.
        with suppress(UploadRaced):
            await upload_conversation(store, replace(synthesise(plan).conversation, conversation_id=CONVERSATION))
    await queue.submit(Submission(PIPELINE, {}, subject=CONVERSATION, idempotency_key="delphi/demo", tags=["demo"], created_by="demo"))
