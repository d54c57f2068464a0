import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateleg.engine import Engine, EngineError
from gateleg.engine.database import WriteGroup
from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.queue import AsyncQueue, Queue
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.worker.polling import with_group_commit
from gateleg.jobs.worker.worker import Worker
from gateleg.store import AsyncStore, NotFound, Store, StoreError
from gateleg.store.group_commit import GroupCommitStore
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from tests.jobs.sample import DONE, make_jobs


class CountedEngine(Engine):
    """An engine that counts groups, and whose next commit, or every group, fails when told to."""

    commits = 0
    fails = False
    breaks = False

    def begin_group(self) -> WriteGroup:
        self.commits += 1
        if self.breaks:
            raise OSError("no such device")
        group = super().begin_group()
        if self.fails:
            self.fails = False
            group.commit = lambda: _fail(group)  # type: ignore[method-assign]
        return group


def _fail(group: WriteGroup) -> None:
    group.roll_back()
    raise EngineError("InternalServerError", "the disk is full")


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[tuple[AsyncQueue, CountedEngine]]:
    engine = CountedEngine(path / "gateleg.db")
    async with AsyncStore(AsyncEmbeddedTransport(engine, owned=True)) as store:
        queue = with_group_commit(AsyncQueue(store, make_jobs()))
        await queue.ensure_tables()
        yield queue, engine


def selector() -> CandidateSelector:
    return CandidateSelector(lambda: 0.0, fresh_for=-1.0, single_writer=True)


async def test_what_is_asked_in_the_same_turn_is_one_commit(tmp_path: Path) -> None:
    async with opened(tmp_path) as (queue, engine):
        await queue.submit_many([Submission("plain") for _ in range(8)])
        first = await queue.claim_several(selector(), "default", "w", 4)
        before = engine.commits
        endings = asyncio.gather(*(queue.finish(job, DONE) for job in first))
        second = await queue.claim_several(selector(), "default", "w", 4)
        ended = await endings
        assert engine.commits == before + 1
        assert {job.status for job in ended} == {JobStatus.COMPLETED}
        assert len(second) == 4


async def test_a_commit_waits_for_what_is_expected_but_not_for_ever(tmp_path: Path) -> None:
    async with opened(tmp_path) as (queue, engine):
        store = queue.store
        assert isinstance(store, GroupCommitStore)
        await queue.submit_many([Submission("plain") for _ in range(2)])
        first, second = await queue.claim_several(selector(), "default", "w", 2)
        store.commits.linger = 600.0
        expected = iter([True] * 5)
        store.commits.expects_more = lambda: next(expected, False)
        before = engine.commits
        ending = asyncio.ensure_future(queue.finish(first, DONE))
        for _ in range(4):
            await asyncio.sleep(0)
        await asyncio.gather(ending, queue.finish(second, DONE))
        assert engine.commits == before + 1
        store.commits.linger = 0.001
        store.commits.expects_more = lambda: True
        assert (await queue.submit(Submission("plain"))).job.status == JobStatus.PENDING


async def test_a_flow_goes_on_when_its_write_is_durable_and_not_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as (queue, engine):
        await queue.submit_many([Submission("plain") for _ in range(2)])
        engine.fails = True
        mine = selector()
        with pytest.raises(StoreError):
            await queue.claim_several(mine, "default", "w", 2)
        assert len(mine.unconfirmed) == 2
        assert [job async for job in queue.store.query(Job.in_status(status=JobStatus.PROCESSING))] == []
        assert len(await queue.claim_several(mine, "default", "w", 2)) == 2


async def test_an_end_whose_commit_fails_is_written_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as (queue, engine):
        await queue.submit(Submission("plain"))
        (job,) = await queue.claim_several(selector(), "default", "w", 1)
        engine.fails = True
        assert (await queue.finish(job, DONE)).status == JobStatus.COMPLETED
        assert len((await queue.get(job.job_id)).attempts) == 1


async def test_nobody_waits_for_a_commit_that_breaks(tmp_path: Path) -> None:
    async with opened(tmp_path) as (queue, engine):
        engine.breaks = True
        claims = [queue.claim_several(selector(), "default", "w", 1) for _ in range(2)]
        assert [type(one) for one in await asyncio.gather(*claims, return_exceptions=True)] == [OSError, OSError]


async def test_a_flow_that_is_refused_leaves_the_others_of_its_commit_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as (queue, _):
        await queue.submit(Submission("plain"))
        (job,) = await queue.claim_several(selector(), "default", "w", 1)
        missing = queue.store.patch(Job.key(job_id=Job(job_type="x").job_id), Job.tags.set(["t"]))
        ending = asyncio.ensure_future(queue.finish(job, DONE))
        with pytest.raises(NotFound):
            await missing
        assert (await ending).status == JobStatus.COMPLETED


async def test_a_flow_whose_task_was_cancelled_writes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as (queue, _):
        await queue.submit(Submission("plain"))
        claim = asyncio.ensure_future(queue.claim_several(selector(), "default", "w", 1))
        await asyncio.sleep(0)
        claim.cancel()
        assert len(await queue.claim_several(selector(), "default", "w", 1)) == 1


async def test_many_flows_are_several_commits(tmp_path: Path) -> None:
    async with opened(tmp_path) as (queue, engine):
        before = engine.commits
        await asyncio.gather(*(queue.submit(Submission("plain")) for _ in range(70)))
        assert engine.commits == before + 3


async def test_what_a_flow_reads_after_a_write_is_what_it_wrote(tmp_path: Path) -> None:
    async with opened(tmp_path) as (queue, _):
        await queue.submit(Submission("plain", concurrency_key="k"))
        (job,) = await queue.claim_several(selector(), "default", "w", 1)
        assert (job.status, job.attempt) == (JobStatus.PROCESSING, 1)


async def test_a_store_with_a_timeout_is_driven_as_usual(tmp_path: Path) -> None:
    async with opened(tmp_path) as (queue, engine):
        hurried = AsyncQueue(queue.store.within(30), make_jobs())
        assert (await hurried.submit(Submission("plain"))).created
        assert engine.commits == 0


async def test_other_stores_are_left_alone(tmp_path: Path) -> None:
    async with AsyncStore.embedded() as store:
        near = with_group_commit(AsyncQueue(store, Jobs()))
        assert isinstance(near.store, GroupCommitStore)
        assert with_group_commit(near) is near
    far = AsyncQueue(AsyncStore.connect("http://localhost:1"), Jobs())
    assert with_group_commit(far) is far


def test_workers_of_one_file_lose_no_claims(tmp_path: Path) -> None:
    jobs, started, lock = Jobs(), Counter[str](), threading.Lock()
    everything = threading.Event()

    @jobs.handler("noted")
    async def noted(job: JobContext, config: dict[str, Any]) -> None:
        with lock:
            started[str(job.job_id)] += 1
            if len(started) == 200:
                everything.set()

    async def work() -> int:
        async with AsyncStore.embedded(str(tmp_path)) as store:
            worker = Worker(AsyncQueue(store, jobs), concurrency=3, idle=(0.001, 0.01))
            running = asyncio.ensure_future(worker.run())
            await asyncio.to_thread(everything.wait, 60)
            worker.stop()
            await running
            return sum(selector.lost_claims for selector in worker._selectors)

    with Store.embedded(str(tmp_path)) as store:
        queue = Queue(store, jobs)
        queue.ensure_tables()
        names = [one.job.job_id for one in queue.submit_many([Submission("noted") for _ in range(200)])]
        losses: list[int] = []
        crew = [threading.Thread(target=lambda: losses.append(asyncio.run(work()))) for _ in range(3)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
        assert losses == [0, 0, 0]
        assert set(started.values()) == {1}
        assert {queue.get(name).status for name in names} == {JobStatus.COMPLETED}


async def test_a_look_past_keys_that_are_full_is_in_the_commit_of_its_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path) as (queue, engine):
        await queue.submit_many([Submission("plain") for _ in range(3)])
        mine, before, apart = selector(), engine.commits, []
        mine.record_key_full("busy")
        call = queue.store.transport.call

        async def watched(operation: str, *arguments: Any, **options: Any) -> dict[str, Any]:
            apart.append(operation)
            return await call(operation, *arguments, **options)

        monkeypatch.setattr(queue.store.transport, "call", watched)
        assert len(await queue.claim_several(mine, "default", "w", 3)) == 3
        assert (engine.commits, apart) == (before + 1, [])
