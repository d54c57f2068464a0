"""Lists, trees, logs and events of jobs, and following them. That lists are whole is a law, whatever the filters and page sizes."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from gateleg.jobs import (
    AsyncQueue,
    Job,
    JobContext,
    Jobs,
    JobStatus,
    ManualClock,
    Queue,
    QueueSettings,
    Submission,
    TestWorker,
    Worker,
    follow,
    follow_async,
)
from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import BadEvent, BadSubmission, ParentGone
from gateleg.jobs.monitor.listing import entries_of, extended, jobs_page
from gateleg.jobs.tables.job import Progress
from gateleg.jobs.tables.records import EventChunk
from gateleg.jobs.worker.output import MAX_EVENT_BYTES, AttemptRecorder
from gateleg.store import AsyncStore, CursorRejected, Store
from gateleg.store.flow import Together
from tests.jobs.sample import DONE, claimed, submitted
from tests.jobs.worker.test_worker import done, working

MADE = st.lists(st.tuples(st.sampled_from(list(JobStatus)), st.integers(0, 3), st.booleans()), max_size=25)


@given(made=MADE, limit=st.integers(1, 7), tagged=st.booleans())
def test_pages_hold_every_job_once_newest_first(made: list[tuple[JobStatus, int, bool]], limit: int, tagged: bool) -> None:
    clock = ManualClock()
    with Store.embedded(clock=clock, ticks=clock) as store:
        queue = Queue(store, Jobs())
        queue.ensure_tables()
        wanted = set()
        for status, seconds, has_tag in made:
            clock.advance(seconds)
            job = store.create(queue.tables.job(job_type="x", status=status, tags=["t"] if has_tag else []))
            if has_tag or not tagged:
                wanted.add(job.job_id)
        seen: list[Job] = []
        cursor: str | None = None
        while True:
            page = queue.jobs_page(limit=limit, cursor=cursor, tag="t" if tagged else None)
            assert len(page) <= limit
            seen += page.items
            cursor = page.next
            if cursor is None:
                break
    assert {job.job_id for job in seen} == wanted
    assert len(seen) == len(wanted)
    assert [job.created_at for job in seen] == sorted((job.created_at for job in seen), reverse=True)


@pytest.mark.parametrize("cursor", ["nonsense", "bnVsbA", "W10", "WzEsMiwzLDQsNV0", "é", "eyJhIjoxfQ"])
def test_a_cursor_of_something_else_is_refused(queue: Queue, cursor: str) -> None:
    with pytest.raises(CursorRejected):
        queue.jobs_page(limit=5, cursor=cursor)


def test_a_cursor_of_another_question_is_refused(queue: Queue) -> None:
    for _ in range(3):
        queue.store.create(queue.tables.job(job_type="x"))
    page = queue.jobs_page(limit=1)
    with pytest.raises(CursorRejected):
        queue.jobs_page(limit=1, cursor=page.next, tag="t")


def test_a_job_that_begins_between_two_reads_is_listed_once_as_it_is(queue: Queue) -> None:
    job = queue.store.create(queue.tables.job(job_type="x"))
    flow, found = jobs_page(queue.context, limit=5), []
    step = flow.send(None)
    try:
        while True:
            assert isinstance(step, Together)
            replies: list[Any] = []
            for request in step.requests:
                replies.append(queue.store.transport.call(request.operation, request.payload))
                if job.status == JobStatus.PENDING and replies[-1]["Items"]:
                    job = queue.store.patch(job, Job.status.to(JobStatus.PROCESSING))
            found += [item for reply in replies for item in reply["Items"]]
            step = flow.send(replies)
    except StopIteration as end:
        listed = end.value
    assert len(found) == 2
    assert [(one.job_id, one.status) for one in listed] == [(job.job_id, JobStatus.PROCESSING)]


def test_hidden_jobs_do_not_hide_newer_ones_of_other_statuses(queue: Queue, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.jobs.monitor.listing._MAX_READ_ITEMS", 2)
    for _ in range(20):
        queue.store.create(queue.tables.job(job_type="gateleg.settle", status=JobStatus.COMPLETED))
        clock.advance(1)
    waiting = queue.store.create(queue.tables.job(job_type="x"))
    page = queue.jobs_page(limit=1)
    assert [job.job_id for job in page] == [waiting.job_id]
    assert page.next is not None


def test_a_filtered_page_of_all_statuses_reads_no_more_than_one_of_a_single_status(
    queue: Queue, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateleg.jobs.monitor.listing._MAX_READ_ITEMS", 10)
    for _ in range(40):
        queue.store.create(queue.tables.job(job_type="x", status=JobStatus.COMPLETED))
        clock.advance(1)
    read, call = [0], queue.store.transport.call

    def counting(operation: str, request: dict[str, Any], **options: Any) -> dict[str, Any]:
        reply = call(operation, request, **options)
        read[0] += reply.get("ScannedCount", 0)
        return reply

    monkeypatch.setattr(queue.store.transport, "call", counting)
    page = queue.jobs_page(limit=1, tag="t")
    assert (page.items, read[0]) == ([], 10)
    assert page.next is not None


def test_a_tree_has_every_job_below_its_parent(queue: Queue) -> None:
    root = submitted(queue)
    left, right = submitted(queue, parent=root.job_id, stage="left"), submitted(queue, parent=root.job_id, stage="right")
    leaf = submitted(queue, parent=left.job_id)
    submitted(queue)
    whole = queue.tree(root.job_id)
    assert {branch.job_id for branch in whole} == {root.job_id, left.job_id, right.job_id, leaf.job_id}
    assert {child.stage for child in whole.children} == {"left", "right"}
    assert [branch.job_id for branch in queue.tree(left.job_id)] == [left.job_id, leaf.job_id]


def test_progress_rolls_up(queue: Queue, selector: CandidateSelector) -> None:
    root = submitted(queue, priority=90)
    submitted(queue, parent=root.job_id, priority=80)
    submitted(queue, parent=root.job_id, priority=70)
    queue.finish(claimed(queue, selector), DONE)
    queue.renew(claimed(queue, selector), progress=Progress(done=1, total=2))
    whole = queue.tree(root.job_id)
    assert whole.fraction == pytest.approx((1 + 0.5 + 0) / 3)
    assert whole.counts == {JobStatus.COMPLETED: 1, JobStatus.PROCESSING: 1, JobStatus.PENDING: 1}


def test_a_tree_that_ended_badly_is_finished_but_not_done(queue: Queue, selector: CandidateSelector) -> None:
    root = submitted(queue, priority=90)
    other = submitted(queue, parent=root.job_id)
    queue.finish(claimed(queue, selector), DONE)
    assert queue.tree(root.job_id).unfinished == 1
    queue.cancel_tree(root.job_id)
    whole = queue.tree(root.job_id)
    assert queue.get(other.job_id).status == JobStatus.CANCELLED
    assert (whole.unfinished, whole.fraction) == (0, 0.5)
    assert whole.summary == "1 of 2 done, 1 cancelled"


def test_a_branch_is_cancelled_with_all_below_it(queue: Queue, selector: CandidateSelector) -> None:
    root = submitted(queue, priority=100)
    left, right = submitted(queue, parent=root.job_id, priority=90), submitted(queue, parent=root.job_id)
    claimed(queue, selector)
    running = claimed(queue, selector)
    assert running.job_id == left.job_id
    leaf = queue.submit(Submission("plain"), under=running).job
    assert len(queue.cancel_tree(left.job_id)) == 2
    assert queue.get(left.job_id).cancel_requested is not None
    assert queue.get(leaf.job_id).status == JobStatus.CANCELLED
    assert queue.get(right.job_id).status == JobStatus.PENDING
    with pytest.raises(ParentGone):
        queue.submit(Submission("plain"), under=running)


def test_a_cancelled_job_has_no_more_children(queue: Queue) -> None:
    root = submitted(queue)
    queue.cancel(root.job_id)
    with pytest.raises(ParentGone, match=r"does not exist or is cancelled.*as parent_job_id="):
        submitted(queue, parent=root.job_id)


def test_a_tree_has_a_greatest_depth(queue: Queue) -> None:
    job = submitted(queue)
    for _ in range(26):
        job = submitted(queue, parent=job.job_id)
    with pytest.raises(BadSubmission, match="levels below its root"):
        submitted(queue, parent=job.job_id)


class Token(BaseModel):
    text: str


async def speaks(job: JobContext, config: dict[str, Any]) -> None:
    for number in range(config["tokens"]):
        job.emit(Token(text=f"t{number}"))


def speaking(runs: Any = "inline") -> Jobs:
    jobs = Jobs()
    jobs.handler("speaks", runs=runs)(speaks)
    return jobs


@pytest.mark.parametrize("runs", ["inline", "thread", "process"])
async def test_events_are_kept_in_order_and_written_together(runs: str) -> None:
    async with working(speaking(runs)) as (queue, _):
        job = await done(queue, Submission("speaks", {"tokens": 500}))
        assert job.emitted == 500
        chunks = [chunk async for chunk in queue.store.query(EventChunk.of_job, job_id=job.job_id)]
        update = await queue.read_update(job.job_id, emitted=450)
    assert [one["text"] for chunk in chunks for one in chunk.events] == [f"t{number}" for number in range(500)]
    assert len(chunks) < 50
    assert (update.events[0], len(update.events), update.emitted) == ({"text": "t450"}, 50, 500)


def test_events_are_read_from_any_number_on(store: Store, clock: ManualClock) -> None:
    jobs = speaking()
    queue = Queue(store, jobs)
    queue.ensure_tables()
    job_id = queue.submit(Submission("speaks", {"tokens": 2})).job.job_id
    TestWorker(queue, clock).run()
    update = queue.read_update(job_id)
    assert ([one["text"] for one in update.events], update.emitted) == (["t0", "t1"], 2)
    assert queue.read_update(job_id, emitted=1).events == [{"text": "t1"}]
    assert queue.read_update(job_id, emitted=2).events == []


def test_what_cannot_be_an_event_is_refused_where_it_is_emitted() -> None:
    notes = AttemptRecorder(lambda: datetime.now(UTC))
    with pytest.raises(BadEvent, match="not a JSON value"):
        notes.emit({1, 2})
    with pytest.raises(BadEvent, match="the maximum is"):
        notes.emit("x" * MAX_EVENT_BYTES)


async def test_events_of_another_process_come_without_a_poll(tmp_path: Path) -> None:
    """Nothing but the file is shared: no notification reaches the follower, and it would poll once in ten minutes."""
    go = asyncio.Event()
    jobs = Jobs()

    @jobs.handler("speaks")
    async def speaks_and_waits(job: JobContext, config: Any) -> None:
        job.emit({"text": "first"})
        await go.wait()
        job.emit({"text": "last"})

    async with AsyncStore.embedded(str(tmp_path)) as near, AsyncStore.embedded(str(tmp_path)) as elsewhere:
        queue, other = AsyncQueue(near, jobs), AsyncQueue(elsewhere, speaking())
        await queue.ensure_tables()
        worker = Worker(queue, maintenance=False)
        running = asyncio.ensure_future(worker.run())
        try:
            job_id = (await other.submit(Submission("speaks"))).job.job_id
            found = []
            async with asyncio.timeout(30):
                async for update in follow_async(other, job_id, every=600):
                    found += [one["text"] for one in update.events]
                    if found == ["first"]:
                        go.set()
        finally:
            go.set()
            worker.stop()
            await running
    assert found == ["first", "last"]


class Patient(Worker):
    """Collects what handlers say for an hour."""

    def _flush_seconds(self) -> float:
        return 3600.0


async def test_the_first_events_are_written_at_once() -> None:
    heard = [asyncio.Event() for _ in range(2)]
    jobs = Jobs()

    @jobs.handler("speaks")
    async def speaks_and_waits(job: JobContext, config: Any) -> None:
        for number, event in enumerate(heard):
            job.emit(number)
            await event.wait()

    async with AsyncStore.embedded() as store:
        queue = AsyncQueue(store, jobs, QueueSettings(lease_seconds=36_000))
        await queue.ensure_tables()
        worker = Patient(queue, maintenance=False)
        running = asyncio.ensure_future(worker.run())
        try:
            job_id = (await queue.submit(Submission("speaks"))).job.job_id
            async with asyncio.timeout(30):
                async for update in follow_async(queue, job_id, every=600):
                    for number in update.events:
                        heard[number].set()
            assert update.emitted == 2
        finally:
            worker.stop()
            await running


def test_following_tells_every_change_once(queue: Queue, selector: CandidateSelector) -> None:
    job = submitted(queue)
    steps: list[Any] = []

    def happen(seconds: float) -> None:
        """What goes on between two looks."""
        if not steps:
            steps.append(claimed(queue, selector))
        elif len(steps) == 1:
            logs, _ = extended(job.job_id, steps[0].logs, entries_of("one\ntwo", "INFO", queue.context.now()))
            queue.renew(steps[0], logs=logs, progress=Progress(done=1, total=2))
            steps.append(logs)
        elif len(steps) == 2:
            steps.append(None)
        else:
            logs, _ = extended(job.job_id, steps[1], entries_of("three", "INFO", queue.context.now()))
            queue.finish(steps[0], DONE, logs=logs)

    updates = list(follow(queue, job.job_id, pause=happen))
    assert [update.job.status for update in updates] == [
        JobStatus.PENDING,
        JobStatus.PROCESSING,
        JobStatus.PROCESSING,
        JobStatus.COMPLETED,
    ]
    assert [[line.message for line in update.lines] for update in updates] == [[], [], ["one", "two"], ["three"]]
    assert [update.last for update in updates] == [False, False, False, True]


async def test_a_submission_wakes_a_worker_and_its_news_reach_followers() -> None:
    """Nobody polls here: workers and followers would wait for an hour."""
    jobs = Jobs()

    @jobs.handler("speaks")
    async def speaks(job: JobContext, config: dict[str, Any]) -> None:
        job.log("hello")

    async with AsyncStore.connect("embedded::memory:") as store:
        queue = AsyncQueue(store, jobs)
        await queue.ensure_tables()
        worker = Worker(queue, idle=(3600, 3600))
        working = asyncio.ensure_future(worker.run())
        while not await queue.workers():
            await asyncio.sleep(0.01)
        job = (await queue.submit(Submission("speaks"))).job
        async with asyncio.timeout(60):
            lines = [line.message async for update in follow_async(queue, job.job_id, every=3600) for line in update.lines]
        assert lines == ["hello"]
        worker.stop()
        await working
