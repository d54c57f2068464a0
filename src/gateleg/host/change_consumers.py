"""A job that repeats failed changes of table streams.

Consumes the streams of the applications' tables, in the processes of a host that run jobs.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gateleg.jobs import GiveUp, JobContext, Jobs, Retry
from gateleg.jobs.table_streams import StreamConsumer, TableStreams

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from gateleg.host.application import Application
    from gateleg.host.host import Host
    from gateleg.host.resources import Resources

__all__ = ["REPEAT_JOB", "RepeatedChanges", "consumer_of", "consuming", "stream_jobs"]

_log = logging.getLogger("gateleg.web")

REPEAT_JOB = "STREAM_REPEAT"


class RepeatedChanges(BaseModel):
    """Which failed changes a job passes to their handlers again."""

    application: str
    #: one change; by default all
    event_id: str | None = None


def consumer_of(application: Application, resources: Resources[Any]) -> StreamConsumer | None:
    """The consumer of an application's change handlers, which has the application's name. None if it has none."""
    given = application.table_streams
    if given is None:
        return None
    streams = given if isinstance(given, TableStreams) else given(resources)
    return StreamConsumer(resources.store, streams, application.name) if streams else None


def stream_jobs(applications: Iterable[Application], resources: Mapping[str, Resources[Any]]) -> Jobs:
    """The job type that repeats failed changes, if an application has change handlers."""
    jobs = Jobs()
    known = {application.name: application for application in applications if application.table_streams is not None}
    if not known:
        return jobs

    async def repeat(job: JobContext, config: RepeatedChanges) -> dict[str, int]:
        application = known.get(config.application)
        consumer = None if application is None else consumer_of(application, resources[application.name])
        if consumer is None:
            raise GiveUp(f"{config.application} has no change handlers.")
        tried = taken = 0

        def watch(now_tried: int, now_taken: int) -> None:
            nonlocal tried, taken
            tried, taken = now_tried, now_taken
            # How many are left is unknown until all were read.
            job.progress(0, 1, f"{tried:,} changes repeated, {tried - taken:,} failed again")
            job.check()

        await consumer.repeat_failed(config.event_id, watch=watch)
        if taken < tried:
            raise GiveUp(f"{tried - taken:,} of {tried:,} changes failed again. `gateleg streams failed {config.application}` lists them.")
        return {"repeated": taken}

    jobs.handler(REPEAT_JOB, config=RepeatedChanges, retry=Retry(times=0), timeout=86_400)(repeat)
    return jobs


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
