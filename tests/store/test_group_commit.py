"""Flows that share a commit, and the transport that they need."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateleg.model import Attr, Entity, Key, Pattern, Table, field
from gateleg.store import AsyncStore, Call, ConditionFailed, NotFound, create
from gateleg.store.errors import ServiceFailed, StoreClosed
from gateleg.store.group_commit import GroupCommitStore
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, GroupCommitTransport, open_async_embedded

notes = Table("SharedNotes", hash="pk", range="sk")


class Note(Entity, table=notes):
    id: Attr[str]
    reads: Attr[int] = field(0)

    key = Key("NOTES", "NOTE#{id}")
    every = Pattern(title="All notes")


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


@asynccontextmanager
async def opened(path: Path, *hooks: Canceller) -> AsyncIterator[GroupCommitStore]:
    transport = GroupCommitTransport(open_async_embedded(str(path)))
    async with AsyncStore(transport, hooks=hooks) as store:
        await store.ensure_tables(notes)
        yield GroupCommitStore(store, transport)


async def test_no_task_waits_for_ever_when_another_is_cancelled_during_the_commit(tmp_path: Path) -> None:
    hook = Canceller()
    async with opened(tmp_path, hook) as store:
        tasks = [asyncio.create_task(store.put(Note(id=name))) for name in "abc"]
        hook.task = tasks[1]
        kept = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        assert isinstance(kept[1], asyncio.CancelledError)
        assert [kept[0], kept[2]] == [Note(id="a"), Note(id="c")]


async def test_errors_are_those_of_the_store(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        with pytest.raises(NotFound):
            await store.patch(Note.key(id="a"), Note.reads.add(1))


async def test_a_refused_write_does_not_affect_the_others_of_its_commit(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        note = await store.create(Note(id="a"))
        created = asyncio.ensure_future(store.create(Note(id="b")))
        with pytest.raises(ConditionFailed):
            await store.patch(note, Note.reads.add(1), condition=Note.reads == 7)
        await created
        assert [found.reads async for found in store.query(Note.every())] == [0, 0]


async def test_a_transaction_joins_the_commit_of_others(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await asyncio.wait_for(asyncio.gather(store.put(Note(id="c")), store.transact([create(Note(id="a")), create(Note(id="b"))])), 10)
        assert len([found async for found in store.query(Note.every())]) == 3


async def test_a_commit_that_fails_is_an_error_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path) as store:
        usual = store.transport.usual
        assert isinstance(usual, AsyncEmbeddedTransport)
        execute = store.transport.execute

        def written_in_vain(*request: object) -> object:
            answer = execute(*request)  # type: ignore[arg-type]
            # What SQLite does by itself when the disk is full.
            usual.engine.database.group_connection().execute("ROLLBACK")
            return answer

        monkeypatch.setattr(store.transport, "prepare_call", lambda *request: lambda: written_in_vain(*request))
        with pytest.raises(ServiceFailed):
            await store.put(Note(id="a"))
        monkeypatch.undo()
        assert await store.find(Note, id="a") is None
        await store.put(Note(id="a"))


async def test_a_store_goes_on_in_a_new_event_loop_after_one_was_closed_before_its_commit(tmp_path: Path) -> None:
    transport = GroupCommitTransport(open_async_embedded(str(tmp_path)))
    store = GroupCommitStore(AsyncStore(transport), transport)

    async def interrupted() -> None:
        await store.ensure_tables(notes)
        store.commits.expects_more, store.commits.linger = lambda: True, 600.0
        asyncio.ensure_future(store.put(Note(id="a")))  # noqa: RUF006
        await asyncio.sleep(0)

    def run() -> None:
        with asyncio.Runner() as first:
            first.run(interrupted())
        store.commits.expects_more = lambda: False
        with asyncio.Runner() as second:
            assert second.run(asyncio.wait_for(store.put(Note(id="b")), 10)) == Note(id="b")

    await asyncio.to_thread(run)
    await store.close()


async def test_changes_shows_writes_of_other_processes(tmp_path: Path) -> None:
    async with opened(tmp_path) as store, opened(tmp_path) as other:
        before = store.transport.changes()
        assert await other.find(Note, id="a") is None
        assert store.transport.changes() == before
        await other.create(Note(id="a"))
        assert store.transport.changes() != before


async def test_a_closed_store_begins_no_commit(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.close()
        with pytest.raises(StoreClosed):
            await store.put(Note(id="a"))
