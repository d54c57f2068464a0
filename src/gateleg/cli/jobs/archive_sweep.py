"""`archive --sweep`: archives finished jobs as a worker does, and copies long logs to the object store of the settings."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gateleg.cli.jobs.log_objects import log_objects
from gateleg.commands.failures import FAILED, fail
from gateleg.commands.printing import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs import Queue, TableNames
    from gateleg.web.settings import Settings

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
    from gateleg.jobs import AsyncQueue, Jobs
    from gateleg.jobs.retention import Archiver
    from gateleg.store import AsyncStore
    from gateleg.web.queue_rules import queue_rules

    async with AsyncStore.connect(settings.store, settings.prefix, table_names=settings.table_names) as store:
        queue = AsyncQueue(store, Jobs(), queue_rules(settings), tables=tables[0], further=tables[1:])
        async with log_objects(settings) as objects:
            archivist = Archiver(queue, objects)
            return await archivist.sweep(limit=_MAX_JOBS), archivist.kept_logs
