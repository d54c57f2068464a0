"""Jobs that other programs put into the table, as a host shows them: valid ones, and items that are none."""

import re
from typing import Any
from uuid import uuid4

import httpx
import pytest

from gateleg.host.doctor import jobs_result
from gateleg.host.host import Host
from gateleg.jobs import ManualClock
from gateleg.jobs.queue_context import UnreadableJob
from gateleg.web.console.jobs.list_page import unreadable_row
from gateleg.web.console.overview.figures import alarms
from tests.jobs.foreign.seed_items import NO_UUID, PCA, pca_item, wire_item
from tests.web.conftest import client_of


async def put(host: Host, **changes: Any) -> str:
    item = pca_item(**changes)
    await host.store.transport.call("PutItem", {"TableName": host.queue.context.queue_table_name, "Item": wire_item(item)})
    return str(item["job_id"])


@pytest.fixture
async def bad(host: Host) -> str:
    return await put(host, job_id=str(uuid4()), created_at="yesterday")


async def test_the_item_of_the_seed_is_shown_cancelled_and_retried(client: httpx.AsyncClient, host: Host) -> None:
    await put(host, logs={"entries": [{"timestamp": "2025-04-23T21:34:12", "message": "Started"}], "log_location": "s3://polis-logs/a.log"})
    shown = (await client.get(f"/api/jobs/{PCA}")).json()
    assert (shown["status"], shown["worker_id"], shown["created_at"]) == ("PENDING", None, "2025-04-23T19:15:00Z")
    assert [line["message"] for line in (await client.get(f"/api/jobs/{PCA}/logs")).json()["lines"]] == ["Started"]
    assert (await client.post(f"/api/jobs/{PCA}/cancel")).json()["status"] == "CANCELLED"
    assert (await client.post(f"/api/jobs/{PCA}/retry")).json()["status"] == "PENDING"
    assert [job["job_id"] for job in (await client.get("/api/jobs")).json()["items"]] == [PCA]


async def test_an_item_that_is_not_a_valid_job_is_refused_with_the_reason_and_listed(client: httpx.AsyncClient, bad: str) -> None:
    paths = [("GET", ""), ("GET", "/tree"), ("GET", "/logs"), ("POST", "/cancel"), ("POST", "/tree/cancel"), ("POST", "/retry")]
    for method, path in paths:
        answer = await client.request(method, f"/api/jobs/{bad}{path}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "job-unreadable"), path
        assert "created_at" in answer.json()["error"]["message"]
    assert (await client.put(f"/api/jobs/{bad}/priority", json={"priority": 3})).status_code == 409
    assert (await client.post("/api/jobs/cancel", json={"job_ids": [bad]})).status_code == 409
    for query in ("", "?status=PENDING", "?worker=unassigned"):
        listed = (await client.get(f"/api/jobs{query}")).json()
        assert (listed["items"], [entry["job_id"] for entry in listed["unreadable"]]) == ([], [bad])
        assert "created_at" in listed["unreadable"][0]["problems"][0]
    assert [entry["job_id"] for entry in (await client.get("/api/jobs/unreadable")).json()["items"]] == [bad]


async def test_an_item_whose_id_is_no_uuid_is_refused_at_every_address_with_what_to_do(client: httpx.AsyncClient, host: Host) -> None:
    bad = await put(host, job_id=NO_UUID)
    paths = [("GET", ""), ("GET", "/tree"), ("GET", "/logs"), ("POST", "/cancel"), ("POST", "/tree/cancel"), ("POST", "/retry")]
    for method, path in [*((method, f"/api/jobs/{bad}{path}") for method, path in paths), ("GET", f"/events/jobs/{bad}")]:
        answer = await client.request(method, path)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], "Put the job again" in error["message"]) == (409, "job-unreadable", True), path
    assert (await client.put(f"/api/jobs/{bad}/priority", json={"priority": 3})).status_code == 409
    listed = (await client.get("/api/jobs?status=PENDING")).json()
    assert (listed["items"], [entry["job_id"] for entry in listed["unreadable"]]) == ([], [bad])
    assert "Put the job again" in listed["unreadable"][0]["problems"][0]
    assert bad in (await client.get("/ready")).json()["unreadable_jobs"][0]
    assert (await client.get("/api/jobs/no-job")).status_code == 422


async def test_it_is_named_in_readiness_and_counted_in_metrics(
    client: httpx.AsyncClient, host: Host, bad: str, clock: ManualClock, app: Any
) -> None:
    await client.get("/api/jobs")
    answer = await client.get("/ready")
    assert (answer.status_code, [text.split(":")[0] for text in answer.json()["unreadable_jobs"]]) == (200, [bad])
    assert re.search(r"^gateleg_jobs_unreadable 1(\.0)?$", (await client.get("/metrics")).text, re.MULTILINE)
    async with client_of(app, peer="10.0.0.1") as stranger:
        assert (await stranger.get("/ready")).json()["unreadable_jobs"] == []
    await host.store.transport.call("DeleteItem", {"TableName": host.queue.context.queue_table_name, "Key": {"job_id": {"S": bad}}})
    clock.advance(3)
    assert (await client.get("/ready")).json()["unreadable_jobs"] == []


def test_an_operator_sees_which_item_it_is_and_why() -> None:
    unreadable = [UnreadableJob(f"job/{number}", ("priority: 5000 is too high",)) for number in range(7)]
    found = alarms([], [], unreadable)
    assert [alarm.title for alarm in found[:2]] == ["Job job/0 is unreadable", "Job job/1 is unreadable"]
    assert "priority: 5000 is too high" in found[0].sentence
    assert found[-1].title == "2 more items are unreadable"
    assert unreadable_row(unreadable[0]).href == "/jobs/job%2F0"
    told = jobs_result(unreadable)
    assert (told.status, "job/0: priority: 5000 is too high" in told.message, "4 more" in told.message) == ("warning", True, True)
    assert jobs_result([]).status == "ok"
