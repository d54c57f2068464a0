"""Expire overdue runs that no worker ends: their jobs failed, or their tool calls were never approved."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gateleg.apps.agents.running.run_end import expire_run
from gateleg.apps.agents.thread_tables import Run

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Resources

__all__ = ["expire_overdue"]

#: Time after the deadline in which a live worker ends its run itself.
_GRACE_SECONDS = 5
#: Maximum runs per sweep.
_MAX_RUNS = 500


async def expire_overdue(resources: Resources[AgentsSettings]) -> int:
    """Expire all tenants' runs past their deadline; returns their number."""
    store = resources.store
    late = store.setup.now() - timedelta(seconds=_GRACE_SECONDS)
    question = Run.overdue().where(Run.deadline < late)
    ended = 0
    for run in [run async for run in store.query(question, limit=_MAX_RUNS)]:
        # The index is eventually consistent: check the stored item.
        place = {"partition": run.partition, "thread_uuid": run.thread_uuid, "run_uuid": run.run_uuid}
        current = await store.find(Run, **place, consistent=True)
        if current is not None and await expire_run(resources, current) is not None:
            ended += 1
    return ended
