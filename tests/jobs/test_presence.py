from collections.abc import AsyncIterator

import pytest

from gateleg.jobs.ledger import WorkerRecord, ledger_table
from gateleg.jobs.picking import Picker
from gateleg.jobs.presence import Presence
from gateleg.jobs.queue import AsyncQueue
from gateleg.jobs.tallies import Tallies
from gateleg.store import AsyncStore
from tests.jobs.sample import make_jobs


@pytest.fixture
async def far() -> AsyncIterator[AsyncQueue]:
    """A queue as one that is elsewhere: commits are not shared."""
    async with AsyncStore.embedded() as store:
        queue = AsyncQueue(store, make_jobs())
        await queue.ensure_tables()
        yield queue


def present(queue: AsyncQueue, name: str, *queues: str, alone: bool = False) -> tuple[Presence, Picker]:
    now = queue.desk.now()
    record = WorkerRecord(worker_id=name, host="h", pid=1, queues=list(queues), started_at=now, seen_at=now)
    picker = Picker(queue.desk.setup.ticks, name)
    return Presence(queue, picker, Tallies(name), record, lambda: {"state": "running"}, alone=alone), picker


async def test_workers_of_the_same_queues_learn_of_each_other(far: AsyncQueue) -> None:
    first, picker = present(far, "a", "default")
    second, other = present(far, "b", "default", "math")
    await first.report()
    await second.report()
    assert (picker.peers, other.peers) == (1, 2)
    await first.report()
    assert picker.peers == 2


async def test_workers_of_other_queues_are_strangers(far: AsyncQueue) -> None:
    await present(far, "a", "math")[0].report()
    second, picker = present(far, "b", "default")
    await second.report()
    assert picker.peers == 1


async def test_who_has_left_is_not_counted(far: AsyncQueue) -> None:
    first, _ = present(far, "a", "default")
    await first.report()
    await first.leave()
    second, picker = present(far, "b", "default")
    await second.report()
    assert picker.peers == 1
    assert [worker.worker_id for worker in await far.workers()] == ["b"]


async def test_where_no_claim_is_lost_nobody_need_be_known(far: AsyncQueue) -> None:
    await present(far, "a", "default")[0].report()
    second, picker = present(far, "b", "default", alone=True)
    await second.report()
    assert picker.peers == 1


async def test_a_report_that_fails_is_no_end(far: AsyncQueue, caplog: pytest.LogCaptureFixture) -> None:
    presence, _ = present(far, "a", "default")
    await far.store.delete_tables(ledger_table)
    await presence.report()
    await presence.leave()
    assert "report failed" in caplog.text
