"""Moving finished jobs to the archive by hand, as the workers of a queue do it by themselves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from gateleg.cli.failures import FAILED, fail
from gateleg.cli.hosting import settings_from

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.objects import AsyncObjects

#: More than anybody has waiting.
_ALL = 1_000_000


def swept(store: str, prefix: str, objects: str | None, config: Path | None) -> list[str]:
    """Archive the jobs that are due; what there is to say about it. What cannot be done ends the command.

    Long logs go to the object store that is given, or that settings name; the default of the settings is not taken for one, because it
    is a folder of a host that may be elsewhere.
    """
    from gateleg.model import ModelError
    from gateleg.objects import ObjectsError
    from gateleg.store import StoreError
    from gateleg.web.settings import DEFAULT

    settings = settings_from(config, {"objects": objects})
    place = None if settings.origin("objects") == DEFAULT else settings.objects
    try:
        moved, kept = asyncio.run(_sweep(store, prefix, place, settings.objects_endpoint, settings.objects_region))
    except (StoreError, ObjectsError, ModelError) as error:
        fail(str(error), FAILED)
    lines = [f"{moved:,} jobs archived"]
    if kept:
        lines.append(f"{kept:,} of them have long logs, which stay in the queue's tables until they expire: give --objects to keep them.")
    return lines


async def _sweep(store: str, prefix: str, place: str | None, endpoint: str | None, region: str | None) -> tuple[int, int]:
    """How many jobs were archived, and how many long logs had no place to go."""
    from gateleg.jobs import AsyncQueue, Jobs
    from gateleg.jobs.retention.archiving import Archivist
    from gateleg.objects import ThreadedObjects, open_objects
    from gateleg.store import AsyncStore

    async with AsyncStore.connect(store, prefix) as opened:
        queue = AsyncQueue(opened, Jobs())
        await queue.ensure_tables()
        if place is None:
            archivist = Archivist(queue)
            return await archivist.sweep(limit=_ALL), archivist.kept_logs
        given = {"endpoint": endpoint, "region": region} if place.startswith("s3:") else {}
        options = {name: value for name, value in given.items() if value is not None}
        objects = cast("AsyncObjects", ThreadedObjects(open_objects(place, **options)))
        try:
            archivist = Archivist(queue, objects)
            return await archivist.sweep(limit=_ALL), archivist.kept_logs
        finally:
            await objects.close()
