"""Jobs of all statuses in one list: a law, whatever the statuses, times, filters and page sizes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs import Job, Jobs, JobStatus, ManualClock, Queue
from gateleg.jobs.monitor.listing import jobs_page
from gateleg.store import CursorRejected, Store
from gateleg.store.flow import Together

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
