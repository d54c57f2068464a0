import re

import httpx
from fastapi import FastAPI

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


async def test_metrics_are_text_that_prometheus_reads(client: httpx.AsyncClient, host: Host) -> None:
    await client.post("/api/jobs", json={"job_type": "add", "config": {"numbers": []}})
    await run_all(host)
    await client.get("/api/jobs/00000000-0000-4000-8000-000000000000")
    await client.get("/api/music/piano")
    answer = await client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    line = re.compile(r'(# (HELP|TYPE) .+|[a-z_]+(\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})? (-?[0-9.e+-]+|\+Inf))')
    assert [text for text in answer.text.splitlines() if not line.fullmatch(text)] == []
    assert 'gateleg_http_requests_total{method="GET",route="/api/jobs/{job_id}",status="404"} 1' in answer.text
    assert 'gateleg_http_requests_total{method="GET",route="/api/music/piano",status="418"} 1' in answer.text
    assert 'gateleg_jobs_waiting{queue="math"} 0' in answer.text
    assert re.search(r'gateleg_store_requests_total\{pattern="Job[^"]*",operation="\w+"\} [1-9]', answer.text)


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
    buckets = [int(value) for value in re.findall(r'gateleg_http_request_seconds_bucket\{route="/health",le="[^"]+"\} (\d+)', text)]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 3 == int(re.findall(r'gateleg_http_request_seconds_count\{route="/health"\} (\d+)', text)[0])


async def test_metrics_need_a_key(host: Host, app: FastAPI) -> None:
    token = (await host.keys.create("prometheus", Role.VIEWER)).token
    async with client_of(app, token=token) as scraper, client_of(app) as stranger:
        assert (await scraper.get("/metrics")).status_code == 200
        assert (await stranger.get("/metrics")).status_code == 401
