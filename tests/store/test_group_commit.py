"""Flows that share a commit, and one that is given up in the middle of it."""

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
    """A hook that gives one task up while the request of another is being answered."""

    task: asyncio.Task[Note] | None = None

    def before(self, call: Call) -> None:
        """Give it up, once."""
        task, self.task = self.task, None
        if task is not None:
            task.cancel()

    def after(self, call: Call) -> None:
        """Nothing is left to do."""


async def test_nobody_waits_for_ever_when_a_task_is_cancelled_while_the_commit_is_made(tmp_path: Path) -> None:
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
