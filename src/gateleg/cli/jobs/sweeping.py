"""What `archive --sweep` does: a worker's sweep, which copies long logs to the objects of the settings."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from gateleg.objects import AsyncObjects
    from gateleg.web.settings import Settings

#: Jobs that one command moves at most.
_MOST = 1_000_000


def sweep_finished(settings: Settings) -> int:
    """Move finished jobs that are due to the archive; how many there were."""
    return asyncio.run(_sweep(settings))


async def _sweep(settings: Settings) -> int:
    from gateleg.jobs import AsyncQueue, Jobs
    from gateleg.jobs.retention.archiving import Archivist
    from gateleg.objects import ThreadedObjects
    from gateleg.store import AsyncStore
    from gateleg.web.host import open_vault

    objects = cast("AsyncObjects", ThreadedObjects(open_vault(settings, settings.load_secret())))
    try:
        async with AsyncStore.connect(settings.store, settings.prefix) as store:
            return await Archivist(AsyncQueue(store, Jobs()), objects).sweep(limit=_MOST)
    finally:
        await objects.close()
