"""Metrics that applications register: on `/metrics` of a host, on the port of a worker, and from handlers in their own processes."""

import asyncio
import logging
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter
from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from gateleg.host import Application, Resources
from gateleg.host.host import Host, settings_only_resources
from gateleg.host.metrics import MAX_SERIES, BadMetric, HostMetrics, exposed, serving_metrics
from gateleg.host.settings import Settings
from gateleg.jobs import JobContext, Jobs, Retry, Submission, follow_async
from gateleg.jobs.worker import Worker
from gateleg.web.app import create_app
from tests.web.conftest import client_of
from tests.web.process_application import application as studio


def read(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (one.name, frozenset(one.labels.items())): one.value for family in text_string_to_metric_families(text) for one in family.samples
    }


def value_of(text: str, name: str, **labels: str) -> float | None:
    return read(text).get((name, frozenset(labels.items())))


def plays_of(resources: Resources[Any]) -> Counter:
    """The application's counter, which its jobs and its routes share."""
    if "plays" not in resources.state:
        resources.state["plays"] = Counter("songs_plays", "Songs played.", ["genre"], registry=resources.metrics)
    plays: Counter = resources.state["plays"]
    return plays


def make_jobs(resources: Resources[Any]) -> Jobs:
    jobs, plays = Jobs(), plays_of(resources)

    @jobs.handler("play")
    async def play(job: JobContext, config: dict[str, Any]) -> None:
        plays.labels(config["genre"]).inc()

    @jobs.handler("break", retry=Retry(times=0))
    async def fail(job: JobContext, config: dict[str, Any]) -> None:
        raise ValueError("broken")

    return jobs


def make_routes(resources: Resources[Any]) -> APIRouter:
    router, plays = APIRouter(), plays_of(resources)

    @router.post("/plays/{genre}")
    async def play(genre: str) -> None:
        plays.labels(genre).inc()

    return router


songs = Application(name="songs", title="Songs", icon="music_note", jobs=make_jobs, routes=make_routes)


async def work(host: Host, *submissions: Submission) -> None:
    """Run jobs by a real worker of this process."""
    jobs = [(await host.queue.submit(submission)).job for submission in submissions]
    worker = Worker(host.queue, maintenance=False)
    running = asyncio.create_task(worker.run())
    for job in jobs:
        async for _ in follow_async(host.queue, job.job_id):
            pass
    worker.stop()
    await running


async def metrics_of(host: Host, client: httpx.AsyncClient) -> str:
    return (await client.get("/metrics")).text


async def test_a_host_shows_what_routes_and_jobs_of_an_application_count(settings: Settings) -> None:
    async with Host.open(settings, [songs]) as host, client_of(create_app(host, console=False), token=host.local.token) as client:
        await client.post("/api/songs/plays/jazz")
        await work(host, Submission("play", {"genre": "jazz"}), Submission("play", {"genre": "soul"}), Submission("break", {}))
        text = await metrics_of(host, client)
        assert value_of(text, "songs_plays_total", genre="jazz") == 2
        assert value_of(text, "songs_plays_total", genre="soul") == 1
        assert value_of(text, "gateleg_worker_attempts_total", job_type="play", queue="default", outcome="completed") == 2
        assert value_of(text, "gateleg_worker_attempts_total", job_type="break", queue="default", outcome="failed") == 1
        assert value_of(text, "gateleg_worker_attempt_seconds_count", job_type="play") == 2
        assert value_of(text, "gateleg_worker_attempt_seconds_bucket", job_type="play", le="+Inf") == 2


async def test_two_hosts_in_a_process_count_apart(settings: Settings) -> None:
    async with Host.open(settings, [songs]) as one, Host.open(settings, [songs]) as other:
        plays_of(one.resources["songs"]).labels("jazz").inc()
        assert one.resources["songs"].metrics.get_sample_value("songs_plays_total", {"genre": "jazz"}) == 1
        assert other.resources["songs"].metrics.get_sample_value("songs_plays_total", {"genre": "jazz"}) is None


async def test_what_a_handler_in_its_own_process_counts_is_reported_by_its_worker(tmp_path: Path) -> None:
    settings = Settings(store=f"embedded:{tmp_path}/data", objects=f"dir:{tmp_path}/objects", data=tmp_path)
    async with Host.open(settings, [studio]) as host:
        await work(host, *(Submission("studio.render", {"word": word}) for word in ("one", "three")))
        text, _ = exposed(None, host.measured.process_families)
        shown = text.decode()
        assert value_of(shown, "studio_frames_total", kind="title") == 2
        assert value_of(shown, "studio_letters_sum") == 8
        assert value_of(shown, "studio_letters_count") == 2
        assert value_of(shown, "studio_busy") == 0
        queue = host.queue.context.jobs.of("studio.render").queue
        assert value_of(shown, "gateleg_worker_attempts_total", job_type="studio.render", queue=queue, outcome="completed") == 2


def test_the_metrics_of_a_worker_are_served_on_its_port() -> None:
    measured = HostMetrics()
    Gauge("songs_loudness", "How loud it is.", registry=measured.registry).set(11)
    with serving_metrics(measured, "127.0.0.1", 0, lambda: 3) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text = answer.read().decode()
        assert value_of(text, "songs_loudness") == 11
        assert value_of(text, "gateleg_worker_running") == 3
        with (
            pytest.raises(BadMetric, match=f"cannot be served on 127.0.0.1:{port}"),
            serving_metrics(measured, "127.0.0.1", port, lambda: 0),
        ):
            pass
    with serving_metrics(measured, "127.0.0.1", port, lambda: 0) as again:
        assert again == port


def test_the_series_of_a_metric_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    measured = HostMetrics()
    visits = Histogram("songs_visits", "Visits.", ["visitor"], registry=measured.registry)
    for number in range(MAX_SERIES + 5):
        visits.labels(f"visitor {number}").observe(1)
    for _ in range(2):
        text = exposed(None, lambda: measured.bounded(measured.families()))[0].decode()
        counted = [labels for name, labels in read(text) if name == "songs_visits_count"]
        assert len(counted) == MAX_SERIES
    assert value_of(text, "songs_visits_bucket", visitor="visitor 0", le="+Inf") == 1
    assert [record.message for record in caplog.records if record.levelno == logging.WARNING] == [
        "the metric songs_visits has more than 1000 series: only the first are shown. Use labels with few values"
    ]


def test_a_name_that_is_taken_is_refused_with_what_to_do() -> None:
    registry = HostMetrics().registry
    Counter("songs_plays", "Songs played.", registry=registry)
    with pytest.raises(BadMetric, match=r"resources\.state"):
        Counter("songs_plays", "Songs played.", registry=registry)
    with pytest.raises(BadMetric, match="are the host's own"):
        Counter("gateleg_songs", "Songs.", registry=registry)


def test_an_application_may_register_metrics_where_only_its_job_types_are_asked_for(settings: Settings) -> None:
    resources = settings_only_resources(songs, settings)
    assert [handler.job_type for handler in make_jobs(resources)] == ["play", "break"]


async def test_a_host_without_metrics_of_applications_measures_nothing_for_its_worker(settings: Settings) -> None:
    async with Host.open(settings, [replace(songs, jobs=None, routes=None)]) as host:
        assert host.measured.measurements() == []
