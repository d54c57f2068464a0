"""Jobs of every state in one list: a law, whatever the states, times and page sizes."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.jobs import Job, JobStatus, ManualClock
from gateleg.store import CursorRejected
from gateleg.web.host import Host
from gateleg.web.recent_jobs import jobs_page
from gateleg.web.settings import Settings

MADE = st.lists(st.tuples(st.sampled_from(list(JobStatus)), st.integers(0, 3), st.booleans()), max_size=25)


@given(made=MADE, limit=st.integers(1, 7), tagged=st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_pages_hold_every_job_once_newest_first(made: list[tuple[JobStatus, int, bool]], limit: int, tagged: bool) -> None:
    asyncio.run(_check(made, limit, "t" if tagged else None))


async def _check(made: list[tuple[JobStatus, int, bool]], limit: int, tag: str | None) -> None:
    clock = ManualClock()
    with tempfile.TemporaryDirectory() as folder:
        chosen = Settings(store="embedded::memory:", objects=f"dir:{folder}/objects", data=Path(folder))
        async with Host.open(chosen, [], clock=clock, ticks=clock) as host:
            wanted = set()
            for status, seconds, has_tag in made:
                clock.advance(seconds)
                job = await host.store.create(host.queue.tables.job(job_type="x", status=status, tags=["t"] if has_tag else []))
                if tag is None or has_tag:
                    wanted.add(job.job_id)
            seen: list[Job] = []
            cursor: str | None = None
            while True:
                page = await jobs_page(host, limit=limit, cursor=cursor, tag=tag)
                assert len(page) <= limit
                seen += page.items
                cursor = page.next
                if cursor is None:
                    break
    assert {job.job_id for job in seen} == wanted
    assert len(seen) == len(wanted)
    assert [job.created_at for job in seen] == sorted((job.created_at for job in seen), reverse=True)


@pytest.mark.parametrize("cursor", ["nonsense", "bnVsbA", "W10", "WzEsMiwzLDQsNV0", "é", "eyJhIjoxfQ"])
async def test_a_cursor_that_is_none_of_ours_is_refused(host: Host, cursor: str) -> None:
    with pytest.raises(CursorRejected):
        await jobs_page(host, limit=5, cursor=cursor)


async def test_a_cursor_for_another_question_is_refused(host: Host) -> None:
    for _ in range(3):
        await host.store.create(host.queue.tables.job(job_type="x"))
    page = await jobs_page(host, limit=1)
    with pytest.raises(CursorRejected):
        await jobs_page(host, limit=1, cursor=page.next, tag="t")


async def test_a_job_that_begins_between_two_reads_is_listed_once_as_it_is(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    job = await host.store.create(host.queue.tables.job(job_type="x"))
    usual, reads = host.store.page, []

    async def page_then_begin(*args: Any, **options: Any) -> Any:
        found = await usual(*args, **options)
        reads.append(found)
        if len(reads) == 1:
            await host.store.patch(job, Job.status.to(JobStatus.PROCESSING))
        return found

    monkeypatch.setattr(host.store, "page", page_then_begin)
    listed = await jobs_page(host, limit=5)
    assert [len(found) for found in reads if found] == [1, 1]
    assert [(one.job_id, one.status) for one in listed] == [(job.job_id, JobStatus.PROCESSING)]
