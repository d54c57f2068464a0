"""`archive --sweep`: archives finished jobs as a worker does, and copies long logs to the object store of the settings.

The object store for long logs of archived jobs.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

from gateleg.commands.printing import FAILED, count, fail

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateleg.host.settings import Settings
    from gateleg.jobs import Queue, TableNames
    from gateleg.objects import AsyncObjects

__all__ = ["log_objects"]


#: The maximum number of jobs that one command archives.
_MAX_JOBS = 1_000_000


def sweep_finished(settings: Settings, opened: Queue) -> list[str]:
    """Archive the jobs of a queue that are due, and return messages about it. Errors end the command.

    Long logs go to the object store of the flags or settings. The default of the settings is not used: it is a folder of a host that may
    run elsewhere.
    """
    from gateleg.errors import GatelegError

    tables = [tables.names for tables in opened.context.ledgers]
    try:
        moved, kept = asyncio.run(_sweep(settings, tables))
    except GatelegError as error:
        fail(str(error), FAILED)
    lines = [f"{count(moved, 'job')} archived"]
    if kept:
        lines.append(f"{kept:,} of them have long logs, which stay in the queue's tables: use --objects to move them to the object store.")
    return lines


async def _sweep(settings: Settings, tables: Sequence[TableNames]) -> tuple[int, int]:
    """The number of archived jobs, and of long logs without an object store."""
    from gateleg.host.queues import queue_rules
    from gateleg.jobs import AsyncQueue, Jobs
    from gateleg.jobs.retention import Archiver
    from gateleg.store import AsyncStore

    async with AsyncStore.connect(settings.store, settings.prefix, table_names=settings.table_names) as store:
        queue = AsyncQueue(store, Jobs(), queue_rules(settings), tables=tables[0], further=tables[1:])
        async with log_objects(settings) as objects:
            archivist = Archiver(queue, objects)
            return await archivist.sweep(limit=_MAX_JOBS), archivist.kept_logs


@asynccontextmanager
async def log_objects(settings: Settings) -> AsyncIterator[AsyncObjects | None]:
    """The configured object store, closed afterwards. None if none is configured: then long logs stay in the queue's tables."""
    from gateleg.host.host import open_main_objects
    from gateleg.host.settings import DEFAULT
    from gateleg.objects import ThreadedObjects

    if settings.origin("objects") == DEFAULT:
        yield None
        return
    objects = cast("AsyncObjects", ThreadedObjects(open_main_objects(settings, settings.load_secret())))
    try:
        yield objects
    finally:
        await objects.close()
