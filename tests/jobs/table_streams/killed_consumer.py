"""A process that consumes until it is killed: appends a line for every change that it has handled."""

import asyncio
import os
import sys

from gateleg.jobs.table_streams import StreamConsumer, TableStreams
from gateleg.model import Change
from gateleg.store import AsyncStore
from tests.jobs.table_streams.counted import Counted


async def consume(data: str, audit: str, lease: float) -> None:
    streams = TableStreams()
    out = os.open(audit, os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    @streams.on(Counted)
    async def note(change: Change) -> None:
        after = change.after
        assert isinstance(after, Counted)
        os.write(out, f"{change.event_id} {after.item} {after.number}\n".encode())
        # Others have a turn: this is where a kill hits as well.
        await asyncio.sleep(0)

    async with AsyncStore.embedded(data) as store:
        await StreamConsumer(store, streams, "counted", lease_seconds=lease, batch=7).run()


if __name__ == "__main__":
    asyncio.run(consume(sys.argv[1], sys.argv[2], float(sys.argv[3])))
