import asyncio
import xml.etree.ElementTree as ElementTree
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.cli.demo.application import SCHEDULE, application
from gateleg.cli.demo.samples import MONTHS, collection, counted, listening_log
from gateleg.cli.demo.work import ChartEntry, Song, bar_chart
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.jobs import Job, JobStatus, ManualClock, Queue, Submission, TestWorker
from gateleg.store import Store
from gateleg.store.transports.embedded import EmbeddedTransport


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    clock = ManualClock()
    settings = Settings(store="embedded::memory:", objects=f"dir:{tmp_path}/objects", data=tmp_path)
    async with Host.open(settings, [application], clock=clock, ticks=clock) as host:
        yield host


async def rehearse(host: Host) -> list[Job]:
    """Run all jobs, and wait for none."""
    engine = host.store.transport.engine  # type: ignore[attr-defined]
    clock = host.store.setup.clock
    assert isinstance(clock, ManualClock)
    store = Store(EmbeddedTransport(engine), clock=clock, ticks=clock)
    return await asyncio.to_thread(TestWorker(Queue(store, host.queue.context.jobs, tables=host.queue.tables.names), clock).run)


async def loaded(host: Host) -> None:
    assert application.demo is not None
    await application.demo(host.resources["demo"])


async def test_the_import_makes_a_tree_that_fills_tables_and_draws_charts(host: Host) -> None:
    made = (await host.queue.submit(Submission("demo.import", {}))).job
    await rehearse(host)
    tree = await host.queue.tree(made.job_id)
    assert {branch.status for branch in tree} == {JobStatus.COMPLETED}
    assert sorted(branch.stage or "" for branch in tree.children) == ["count"] * 3 + ["draw"] * 3 + ["load", "report"]
    assert len([song async for song in host.store.query(Song.of_artist(artist="Nina Simone"))]) == 4
    chart = [entry async for entry in host.store.query(ChartEntry.of_month(month=MONTHS[0]))]
    assert [entry.place for entry in chart] == list(range(1, len(chart) + 1))
    assert [entry.plays for entry in chart] == sorted((entry.plays for entry in chart), reverse=True)
    assert "<svg" in (await host.objects.get("demo/report.html")).decode()


async def test_loading_it_again_changes_nothing(host: Host) -> None:
    await loaded(host)
    first = (await host.queue.jobs_page()).items
    await loaded(host)
    assert {job.job_id for job in (await host.queue.jobs_page()).items} == {job.job_id for job in first}
    assert [schedule.name for schedule in await host.queue.schedules()] == [SCHEDULE]


async def test_the_job_that_fails_says_what_to_do_and_succeeds_once_it_is_done(host: Host) -> None:
    made = (await host.queue.submit(Submission("demo.ratings", {}))).job
    await rehearse(host)
    failed = await host.queue.get(made.job_id)
    assert (failed.status, failed.retry_count) == (JobStatus.FAILED, 2)
    assert failed.attempts[-1].error is not None
    assert "Upload a CSV file" in failed.attempts[-1].error.message
    await host.objects.put("demo/ratings.csv", b"artist,title,stars\nNina Simone,Sinnerman,5\n")
    await host.queue.retry(made.job_id)
    await rehearse(host)
    assert (await host.queue.get(made.job_id)).status == JobStatus.COMPLETED


async def test_fingerprints_are_made_with_progress(host: Host) -> None:
    made = (await host.queue.submit(Submission("demo.fingerprint", {"rounds": 1}))).job
    await rehearse(host)
    done = await host.queue.get(made.job_id)
    assert (done.status, done.progress is not None and done.progress.fraction) == (JobStatus.COMPLETED, 1.0)
    assert len((await host.objects.get("demo/fingerprints.csv")).splitlines()) == len(collection()) + 1


def test_the_listening_log_is_always_the_same_and_knows_the_collection() -> None:
    tracks = collection()
    log = listening_log("2026-10", tracks)
    assert log == listening_log("2026-10", tracks) != listening_log("2026-09", tracks)
    assert {(track.artist, track.title) for track in tracks} >= set(counted(log))


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60), st.floats(0, 1e9)), max_size=5))
def test_a_chart_is_well_formed_whatever_is_drawn(bars: list[tuple[str, float]]) -> None:
    root = ElementTree.fromstring(bar_chart("<Title> & more", bars, "plays"))
    assert len(root.findall("{http://www.w3.org/2000/svg}rect")) == len(bars) + 1
