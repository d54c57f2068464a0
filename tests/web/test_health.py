import httpx
from fastapi import FastAPI
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.jobs import ManualClock
from tests.web.conftest import client_of, run_all
from tests.web.sample import songs


async def test_health_asks_nothing_and_ready_asks_the_store(client: httpx.AsyncClient, host: Host) -> None:
    await client.get("/health")
    before = sum(tally.requests for tally in host.costs.by_pattern().values())
    assert (await client.get("/health")).json()["status"] == "ok"
    assert sum(tally.requests for tally in host.costs.by_pattern().values()) == before
    assert (await client.get("/ready")).status_code == 200


async def test_both_are_asked_by_head_too(client: httpx.AsyncClient) -> None:
    for path in ("/health", "/ready"):
        answer = await client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")


async def test_a_host_whose_table_is_missing_is_not_ready(client: httpx.AsyncClient, host: Host, app: FastAPI) -> None:
    await host.store.delete_tables(songs)
    answer = await client.get("/ready")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not-ready")
    assert "Songs" in answer.text
    async with client_of(app, peer="10.0.0.1") as stranger:
        told = await stranger.get("/ready")
        assert (told.status_code, "Songs" in told.text) == (503, False)
        assert "lacks a declared table or index" in told.json()["error"]["message"]


async def test_a_host_whose_index_is_missing_is_not_ready(client: httpx.AsyncClient, host: Host, clock: ManualClock) -> None:
    def requests() -> int:
        return sum(tally.requests for tally in host.costs.by_pattern().values())

    assert (await client.get("/ready")).status_code == 200
    before = requests()
    assert (await client.get("/ready")).status_code == 200
    assert requests() == before
    drop = {"TableName": "GatelegAudit", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "ActorIndex"}}]}
    await host.store.transport.call("UpdateTable", drop)
    clock.advance(5)
    answer = await client.get("/ready")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not-ready")
    assert "The index ActorIndex of the table GatelegAudit is" in answer.text


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """The samples of a text for Prometheus, by name and labels."""
    return {
        (one.name, frozenset(one.labels.items())): one.value for family in text_string_to_metric_families(text) for one in family.samples
    }


def sample(text: str, name: str, **labels: str) -> float | None:
    """One sample of a text for Prometheus."""
    return samples(text).get((name, frozenset(labels.items())))


async def test_metrics_are_text_that_prometheus_reads(client: httpx.AsyncClient, host: Host) -> None:
    await client.post("/api/jobs", json={"job_type": "add", "config": {"numbers": []}})
    await run_all(host)
    await client.get("/api/jobs/00000000-0000-4000-8000-000000000000")
    await client.get("/api/music/piano")
    answer = await client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    text = answer.text
    assert sample(text, "gateleg_http_requests_total", method="GET", route="/api/jobs/{job_id}", status="404") == 1
    assert sample(text, "gateleg_http_requests_total", method="GET", route="/api/music/piano", status="418") == 1
    assert sample(text, "gateleg_jobs_waiting", queue="math") == 0
    assert any(name == "gateleg_store_requests_total" and value > 0 for (name, _), value in samples(text).items())


#: The names that dashboards and alarms use, with their labels.
NAMES = {
    "gateleg_http_requests_total": {"method", "route", "status"},
    "gateleg_http_requests_under_way": set(),
    "gateleg_http_request_seconds_bucket": {"route", "le"},
    "gateleg_http_request_seconds_sum": {"route"},
    "gateleg_http_request_seconds_count": {"route"},
    **{f"gateleg_store_{name}_total": {"pattern", "operation"} for name in ("requests", "errors", "items", "units", "seconds")},
    "gateleg_jobs_waiting": {"queue"},
    "gateleg_jobs_running": {"queue"},
    "gateleg_jobs_oldest_waiting_seconds": {"queue"},
    "gateleg_jobs_throughput_per_minute": {"queue"},
    "gateleg_workers": set(),
    "gateleg_jobs_unreadable": set(),
}


async def test_the_names_of_metrics_stay(client: httpx.AsyncClient) -> None:
    await client.get("/health")
    shown = {name: {label for label, _ in labels} for name, labels in samples((await client.get("/metrics")).text)}
    assert {name: shown.get(name) for name in NAMES} == NAMES


async def test_who_accepts_openmetrics_gets_it(client: httpx.AsyncClient) -> None:
    answer = await client.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0, text/plain;q=0.5"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.headers["vary"] == "accept"
    families = {family.name: family.type for family in openmetrics_families(answer.text)}  # type: ignore[no-untyped-call]
    assert (families["gateleg_http_requests"], families["gateleg_http_request_seconds"]) == ("counter", "histogram")


async def test_names_that_callers_make_up_do_not_become_metrics(client: httpx.AsyncClient) -> None:
    for number in range(20):
        await client.get(f"/api/made-up-{number}")
        await client.get(f"/made-up-{number}")
        await client.request(f"MADE-UP-{number}", "/api/jobs")
    text = (await client.get("/metrics")).text
    assert "made-up" not in text.lower()


async def test_a_histogram_adds_up(client: httpx.AsyncClient) -> None:
    for _ in range(3):
        await client.get("/health")
    text = (await client.get("/metrics")).text
    histogram = next(family for family in text_string_to_metric_families(text) if family.name == "gateleg_http_request_seconds")
    buckets = [one.value for one in histogram.samples if one.labels.get("route") == "/health" and "le" in one.labels]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 3 == sample(text, "gateleg_http_request_seconds_count", route="/health")


async def test_metrics_need_a_key(host: Host, app: FastAPI) -> None:
    token = (await host.keys.create("prometheus", Role.VIEWER)).token
    async with client_of(app, token=token) as scraper, client_of(app) as stranger:
        assert (await scraper.get("/metrics")).status_code == 200
        assert (await stranger.get("/metrics")).status_code == 401
