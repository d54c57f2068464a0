import random
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from gateleg.jobs import AsyncQueue, Job, Jobs, JobStatus
from gateleg.store import AsyncStore, CursorRejected
from gateleg.web.console.jobs.filters import Filters
from gateleg.web.console.jobs.pages import jobs_page, opened, sealed
from tests.web.console.jobs.samples import NOW, number


@pytest.fixture
async def queue() -> AsyncIterator[AsyncQueue]:
    """Two hundred jobs in all states, many of them submitted at the same moment."""
    async with AsyncStore.embedded(cursor_key=b"pages") as store:
        queue = AsyncQueue(store, Jobs())
        await queue.ensure_tables()
        chance = random.Random(4)
        states = list(JobStatus)
        for at in range(200):
            name, status = "media" if at % 3 else "default", chance.choice(states)
            made = NOW + timedelta(seconds=at // 7)
            await store.create(Job(job_id=number(at + 1), job_type="REEL", queue=name, status=status, created_at=made, updated_at=NOW))
        yield queue


async def walked(queue: AsyncQueue, filters: Filters, limit: int) -> list[Job]:
    found: list[Job] = []
    while True:
        page = await jobs_page(queue, filters, limit)
        found += page.items
        assert len(page) <= limit
        if page.next is None:
            return found
        filters = Filters(filters.status, filters.type, filters.queue, filters.subject, filters.worker, filters.tag, page.next)


@pytest.mark.parametrize("limit", [7, 50, 199, 200, 500])
async def test_all_jobs_are_met_once_newest_first(queue: AsyncQueue, limit: int) -> None:
    found = await walked(queue, Filters(), limit)
    assert len(found) == len({job.job_id for job in found}) == 200
    assert [job.created_at for job in found] == sorted((job.created_at for job in found), reverse=True)


async def test_the_jobs_of_a_queue_are_met_once(queue: AsyncQueue) -> None:
    found = await walked(queue, Filters(queue="default"), 9)
    assert len({job.job_id for job in found}) == len(found) == 67


async def test_the_jobs_of_a_state_are_met_once(queue: AsyncQueue) -> None:
    everything = await walked(queue, Filters(), 50)
    found = await walked(queue, Filters(status=JobStatus.FAILED), 9)
    assert {job.job_id for job in found} == {job.job_id for job in everything if job.status == JobStatus.FAILED}


@pytest.mark.parametrize("cursor", ["nonsense", "bnVsbA", "W10", "WzEsMiwzLDQsNV0", "é", "eyJhIjoxfQ"])
async def test_a_cursor_that_is_none_is_refused(queue: AsyncQueue, cursor: str) -> None:
    with pytest.raises(CursorRejected):
        await jobs_page(queue, Filters(cursor=cursor))


async def test_a_place_that_the_store_has_not_signed_is_refused(queue: AsyncQueue) -> None:
    with pytest.raises(CursorRejected):
        await jobs_page(queue, Filters(cursor=sealed({JobStatus.PENDING: "forged"})))


def test_a_merged_cursor_is_read_as_it_was_written() -> None:
    places = {JobStatus.PENDING: "a", JobStatus.PROCESSING: "", JobStatus.COMPLETED: None, JobStatus.FAILED: "b", JobStatus.CANCELLED: ""}
    assert opened(sealed(places)) == places
    assert opened(None) == {}
