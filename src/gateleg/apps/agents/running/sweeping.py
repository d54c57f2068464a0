"""Ending runs whose time is up and that no worker ends: their jobs failed, or nobody has decided about their tool calls."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gateleg.apps.agents.running.ending import expire_run
from gateleg.apps.agents.thread_tables import Run

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.web import Resources

__all__ = ["expire_overdue"]

#: A worker that is there ends its run by itself: it is given so many seconds to do so.
_GRACE = 5
#: Runs that are ended in one go.
_MOST = 500


async def expire_overdue(resources: Resources[AgentsSettings]) -> int:
    """End the runs of all tenants whose deadline has passed; how many there were."""
    store = resources.store
    late = store.setup.now() - timedelta(seconds=_GRACE)
    question = Run.overdue().where(Run.deadline < late)
    ended = 0
    for run in [run async for run in store.query(question, limit=_MOST)]:
        # The index may be a moment behind: what is stored decides.
        place = {"partition": run.partition, "thread_uuid": run.thread_uuid, "run_uuid": run.run_uuid}
        current = await store.find(Run, **place, consistent=True)
        if current is not None and await expire_run(resources, current) is not None:
            ended += 1
    return ended
