from collections.abc import AsyncIterator

import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.monitor.stats import WorkerCounters
from gateleg.jobs.queue import AsyncQueue
from gateleg.jobs.tables.records import WorkerRecord, ledger_table
from gateleg.jobs.testing import ManualClock
from gateleg.jobs.worker.maintenance import WorkerRegistration
from gateleg.store import AsyncStore
from tests.jobs.sample import make_jobs


@pytest.fixture
async def far() -> AsyncIterator[AsyncQueue]:
    """A queue as one that is elsewhere: commits are not shared."""
    async with AsyncStore.embedded() as store:
        queue = AsyncQueue(store, make_jobs())
        await queue.ensure_tables()
        yield queue


def present(queue: AsyncQueue, name: str, *queues: str, alone: bool = False) -> tuple[WorkerRegistration, CandidateSelector]:
    now = queue.context.now()
    record = WorkerRecord(worker_id=name, host="h", pid=1, queues=list(queues), started_at=now, seen_at=now)
    selector = CandidateSelector(queue.context.setup.ticks, name)
    return WorkerRegistration(queue, [selector], WorkerCounters(name), record, lambda: {"state": "running"}, alone=alone), selector


async def test_workers_of_the_same_queues_learn_of_each_other(far: AsyncQueue) -> None:
    first, selector = present(far, "a", "default")
    second, other = present(far, "b", "default", "math")
    await first.report()
    await second.report()
    assert (selector.worker_count, other.worker_count) == (1, 2)
    await first.report()
    assert selector.worker_count == 2


async def test_workers_of_other_queues_are_strangers(far: AsyncQueue) -> None:
    await present(far, "a", "math")[0].report()
    second, selector = present(far, "b", "default")
    await second.report()
    assert selector.worker_count == 1


async def test_who_has_left_is_not_counted(far: AsyncQueue) -> None:
    first, _ = present(far, "a", "default")
    await first.report()
    await first.leave()
    second, selector = present(far, "b", "default")
    await second.report()
    assert selector.worker_count == 1
    assert [worker.worker_id for worker in await far.workers()] == ["b"]


async def test_a_worker_that_loses_no_claims_does_not_look_for_others(far: AsyncQueue) -> None:
    await present(far, "a", "default")[0].report()
    second, selector = present(far, "b", "default", alone=True)
    await second.report()
    assert selector.worker_count == 1


async def test_a_failing_report_does_not_end_the_worker(far: AsyncQueue, caplog: pytest.LogCaptureFixture) -> None:
    registration, _ = present(far, "a", "default")
    await far.store.delete_tables(ledger_table)
    await registration.report()
    assert "could not write the report of this worker" in caplog.text
    await registration.leave()
    assert "could not write the last report" in caplog.text


async def test_a_wrong_clock_is_logged_and_in_the_record(caplog: pytest.LogCaptureFixture) -> None:
    ticks, wrong, right = ManualClock(), ManualClock(), ManualClock()
    wrong.advance(minutes=10)
    async with AsyncStore.embedded(clock=right, ticks=ticks) as store:
        queues = [AsyncQueue(AsyncStore(store.transport, clock=clock, ticks=ticks), make_jobs()) for clock in (right, right, wrong)]
        await queues[0].ensure_tables()
        workers = [present(queue, f"w{number}", "default")[0] for number, queue in enumerate(queues)]
        for _ in range(12):
            for worker in workers:
                await worker.report()
                for clock in (ticks, wrong, right):
                    clock.advance(3)
        ahead = {record.worker_id: record.clock_ahead for record in await queues[0].workers()}
        assert (ahead["w0"], ahead["w1"]) == (0.0, 0.0)
        assert ahead["w2"] == pytest.approx(600, abs=10)
        warnings = [record.getMessage() for record in caplog.records if "clock of worker" in record.getMessage()]
        assert len(warnings) == 1
        assert "worker w2" in warnings[0]
        assert "s ahead of" in warnings[0]
        # It is not there any more a minute after its last report, as far as its clock is known.
        right.advance(72)
        assert await queues[0].workers() == []


async def test_a_worker_whose_clock_is_behind_is_there_all_the_same() -> None:
    ticks, wrong, right = ManualClock(), ManualClock(), ManualClock()
    wrong.advance(hours=-1)
    async with AsyncStore.embedded(clock=right, ticks=ticks) as store:
        queues = [AsyncQueue(AsyncStore(store.transport, clock=clock, ticks=ticks), make_jobs()) for clock in (right, right, wrong)]
        await queues[0].ensure_tables()
        workers = [present(queue, f"w{number}", "default") for number, queue in enumerate(queues)]
        for _ in range(12):
            for worker, _selector in workers:
                await worker.report()
                for clock in (ticks, wrong, right):
                    clock.advance(3)
        assert len(await queues[0].workers()) == 3
        assert [selector.worker_count for _, selector in workers] == [3, 3, 3]
