"""Flows that share a commit, and a flow that is cancelled during it."""

import asyncio
from pathlib import Path

from gateleg.model import Attr, Entity, Key, Table
from gateleg.store import AsyncStore, Call
from gateleg.store.group_commit import GroupCommitStore
from gateleg.store.transports.embedded import open_async_embedded
from gateleg.store.transports.group_commit import GroupCommitTransport

notes = Table("SharedNotes", hash="id")


class Note(Entity, table=notes):
    id: Attr[str]
    key = Key("{id}")


class Canceller:
    """A hook that cancels one task while the request of another is answered."""

    task: asyncio.Task[Note] | None = None

    def before(self, call: Call) -> None:
        """Cancel the task, once."""
        task, self.task = self.task, None
        if task is not None:
            task.cancel()

    def after(self, call: Call) -> None:
        """Do nothing."""


async def test_no_task_waits_for_ever_when_another_is_cancelled_during_the_commit(tmp_path: Path) -> None:
    hook = Canceller()
    transport = GroupCommitTransport(open_async_embedded(str(tmp_path)))
    async with AsyncStore(transport, hooks=[hook]) as store:
        await store.create_tables(notes)
        near = GroupCommitStore(store, transport)
        tasks = [asyncio.create_task(near.put(Note(id=name))) for name in "abc"]
        hook.task = tasks[1]
        kept = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        assert isinstance(kept[1], asyncio.CancelledError)
        assert [kept[0], kept[2]] == [Note(id="a"), Note(id="c")]
