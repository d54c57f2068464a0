"""Consumes the streams of the applications' tables, in the processes of a host that run jobs."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from gateleg.web.stream_jobs import consumer_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.jobs.table_streams import StreamConsumer
    from gateleg.web.host import Host

__all__ = ["consuming"]

_log = logging.getLogger("gateleg.web")


def consumers_of(host: Host) -> list[StreamConsumer]:
    """One consumer for each application that has change handlers."""
    found = []
    for application, resources in host.applications_with_resources:
        with host.isolate_failure(application):
            consumer = consumer_of(application, resources)
            if consumer is not None:
                found.append(consumer)
    return found


@asynccontextmanager
async def consuming(host: Host) -> AsyncIterator[None]:
    """Consume until the block ends; changes in progress are finished. Any number of processes may do this at once."""
    consumers = consumers_of(host)
    running = [asyncio.create_task(_run(consumer)) for consumer in consumers]
    try:
        yield
    finally:
        for consumer in consumers:
            consumer.stop()
        await asyncio.gather(*running, return_exceptions=True)


async def _run(consumer: StreamConsumer) -> None:
    try:
        await consumer.run()
    except Exception:  # a consumer must not stop silently
        _log.exception("the stream consumer of %s stopped unexpectedly", consumer.name)
