"""Applications hear of the changes of their entities, in the processes that run jobs."""

import asyncio
from typing import Any

import pytest

from gateleg.host import Application, Resources
from gateleg.host.change_consumers import REPEAT_JOB, RepeatedChanges, consumer_of, consuming
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.jobs import JobStatus, Submission, Worker
from gateleg.jobs.monitor.listing import follow_async
from gateleg.jobs.table_streams import ShardLease, TableStreams
from gateleg.model import Attr, Change, Entity, Key, Table

notes = Table("Notes", hash="id", stream="NEW_AND_OLD_IMAGES")


class Note(Entity, table=notes):
    id: Attr[str]
    key = Key("{id}")


async def test_a_handler_of_an_application_is_called_with_its_resources(settings: Settings) -> None:
    heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def make(resources: Resources[Any]) -> TableStreams:
        streams = TableStreams()

        @streams.on(Note, kinds=["created"])
        async def note(change: Change) -> None:
            await heard.put((resources.application, change.key["id"]["S"]))

        return streams

    application = Application(name="x", title="X", icon="star", tables=(notes,), table_streams=make)
    async with Host.open(settings, [application]) as host:
        await host.store.put(Note(id="a"))
        async with consuming(host):
            assert await asyncio.wait_for(heard.get(), 30) == ("x", "a")
        leases = [lease async for lease in host.store.query(ShardLease.of_consumer, consumer="x")]
        # Given back, so that the next process need not wait.
        assert [lease.owner for lease in leases] == [""]


async def test_failed_changes_are_repeated_by_a_job(settings: Settings) -> None:
    heard: list[str] = []
    refused = {"bad"}

    def make(resources: Resources[Any]) -> TableStreams:
        streams = TableStreams(attempts=1)

        @streams.on(Note, kinds=["created"])
        async def note(change: Change) -> None:
            if change.key["id"]["S"] in refused:
                raise ValueError("not yet")
            heard.append(change.key["id"]["S"])

        return streams

    application = Application(name="x", title="X", icon="star", tables=(notes,), table_streams=make)
    async with Host.open(settings, [application]) as host:
        for name in ("good", "bad"):
            await host.store.put(Note(id=name))
        consumer = consumer_of(application, host.resources["x"])
        assert consumer is not None
        assert await consumer.round() == 2
        for left, status in ((1, JobStatus.FAILED), (0, JobStatus.COMPLETED)):
            submitted = await host.queue.submit(Submission(REPEAT_JOB, RepeatedChanges(application="x")))
            worked = Worker(host.queue, idle=(0.01, 0.05))
            running = asyncio.create_task(worked.run())
            (*_, last) = [update async for update in follow_async(host.queue, submitted.job.job_id, every=0.05)]
            worked.stop()
            await running
            assert last.job.status is status
            assert len([one async for one in consumer.failed()]) == left
            refused.clear()
    assert heard == ["good", "bad"]


async def test_handlers_that_cannot_be_made_leave_their_application_out(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    def broken(resources: Resources[Any]) -> TableStreams:
        raise RuntimeError("no such model")

    application = Application(name="x", title="X", icon="star", table_streams=broken)
    async with Host.open(settings, [application], tolerant=True) as host, consuming(host):
        assert host.failed_applications == {"x": "RuntimeError: no such model"}
