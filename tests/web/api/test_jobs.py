from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from gateleg.host.host import Host
from gateleg.jobs import ManualClock
from gateleg.jobs.retention import Archiver
from tests.web.conftest import run_all


async def submit(client: httpx.AsyncClient, job_type: str = "add", config: Any = None, **options: Any) -> dict[str, Any]:
    body = {"job_type": job_type, "config": {"numbers": [1, 2]} if config is None and job_type == "add" else config or {}} | options
    answer = await client.post("/api/jobs", json=body)
    assert answer.status_code == 201, answer.text
    job: dict[str, Any] = answer.json()["job"]
    return job


def code(answer: httpx.Response) -> str:
    found: str = answer.json()["error"]["code"]
    return found


async def test_a_job_is_submitted_run_and_looked_at(client: httpx.AsyncClient, host: Host) -> None:
    job = await submit(client, subject="s1", tags=["a"])
    assert (job["status"], job["queue"], job["priority"], job["created_by"]) == ("PENDING", "math", 60, "local")
    await run_all(host)
    done = (await client.get(f"/api/jobs/{job['job_id']}")).json()
    assert (done["status"], done["results"]["value"]) == ("COMPLETED", {"sum": 3})
    lines = (await client.get(f"/api/jobs/{job['job_id']}/logs", params={"after": 1})).json()
    assert [(line["number"], line["message"]) for line in lines["lines"]] == [(1, "added")]
    assert (lines["next"], lines["finished"]) == (2, True)


async def test_a_token_that_lets_a_worker_write_is_never_shown(client: httpx.AsyncClient, host: Host) -> None:
    from gateleg.jobs.claim import CandidateSelector

    job = await submit(client)
    claimed = await host.queue.claim(CandidateSelector(host.store.setup.ticks), "math", "w1")
    assert claimed is not None
    assert claimed.lease_token is not None
    shown = await client.get(f"/api/jobs/{job['job_id']}")
    asked = await client.post("/api/tables/JobQueue/patterns/Job.in_status", json={"arguments": {"status": "PROCESSING"}})
    assert asked.json()["items"]
    assert claimed.lease_token not in shown.text + asked.text


async def test_an_answer_that_the_caller_has_is_not_sent_again(client: httpx.AsyncClient) -> None:
    job = await submit(client)
    address = f"/api/jobs/{job['job_id']}"
    first = await client.get(address)
    again = await client.get(address, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    await client.put(f"{address}/priority", json={"priority": 99})
    assert (await client.get(address, headers={"if-none-match": first.headers["etag"]})).status_code == 200


async def test_a_repeated_submission_answers_with_the_first_job(client: httpx.AsyncClient) -> None:
    body = {"job_type": "add", "config": {"numbers": [1]}, "idempotency_key": "k"}
    first, second = await client.post("/api/jobs", json=body), await client.post("/api/jobs", json=body)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["job"]["job_id"] == second.json()["job"]["job_id"]
    assert second.json()["created"] is False


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        ({"job_type": "nothing"}, 422, "unknown-job-type"),
        ({"job_type": "add", "config": {"numbers": "x"}}, 422, "bad-config"),
        ({"job_type": "add", "config": {"numbers": []}, "priority": 101}, 422, "invalid"),
        ({"job_type": "add", "config": {"numbers": []}, "colour": "red"}, 422, "invalid"),
        ({"job_type": "add", "config": {"numbers": []}, "queue": "a b"}, 422, "bad-submission"),
        ({"job_type": "add", "config": {"numbers": []}, "depends_on": [str(uuid4())]}, 422, "dependency-missing"),
        ([], 422, "invalid"),
    ],
)
async def test_a_bad_submission_is_refused_with_its_reason(client: httpx.AsyncClient, body: Any, status: int, expected: str) -> None:
    answer = await client.post("/api/jobs", json=body)
    assert (answer.status_code, code(answer)) == (status, expected)
    assert (await client.get("/api/jobs")).json()["items"] == []


async def test_jobs_submitted_together_may_depend_on_each_other(client: httpx.AsyncClient, host: Host) -> None:
    first = str(uuid4())
    jobs = [
        {"job_type": "add", "config": {"numbers": [1]}, "job_id": first},
        {"job_type": "add", "config": {"numbers": [2]}, "depends_on": [first]},
    ]
    answer = await client.post("/api/jobs/bulk", json={"jobs": jobs})
    assert [one["job"]["readiness"] for one in answer.json()["jobs"]] == ["ready", "blocked"]
    await run_all(host)
    assert {one["status"] for one in (await client.get("/api/jobs")).json()["items"]} == {"COMPLETED"}


async def test_all_jobs_are_paged_newest_first_whatever_their_state(client: httpx.AsyncClient, host: Host, clock: ManualClock) -> None:
    made = []
    for number in range(23):
        clock.advance(0 if number % 3 else 1)
        made.append((await submit(client, tags=["even"] if number % 2 == 0 else []))["job_id"])
        if number == 7:
            await run_all(host)
        if number % 5 == 0:
            await client.post(f"/api/jobs/{made[-1]}/cancel")
    seen: list[str] = []
    cursor = None
    while True:
        page = (await client.get("/api/jobs", params={"limit": 4} | ({"cursor": cursor} if cursor else {}))).json()
        seen += [job["job_id"] for job in page["items"]]
        times = [job["created_at"] for job in page["items"]]
        assert times == sorted(times, reverse=True)
        cursor = page["next"]
        if cursor is None:
            break
    assert sorted(seen) == sorted(made)
    even = (await client.get("/api/jobs", params={"tag": "even", "limit": 100})).json()["items"]
    assert {job["job_id"] for job in even} == set(made[::2])


async def test_a_cursor_fits_only_the_question_it_was_made_for(client: httpx.AsyncClient) -> None:
    for _ in range(3):
        await submit(client)
    for given in ({}, {"status": "PENDING"}):
        cursor = (await client.get("/api/jobs", params={"limit": 1, **given})).json()["next"]
        assert (await client.get("/api/jobs", params={"limit": 1, "cursor": cursor, **given})).status_code == 200
        for wrong in ({"queue": "math", **given}, {"status": "FAILED"}):
            refused = await client.get("/api/jobs", params={"limit": 1, "cursor": cursor} | wrong)
            assert (refused.status_code, code(refused)) == (400, "cursor-rejected")
    assert (await client.get("/api/jobs", params={"cursor": "é"})).status_code == 400


@pytest.mark.parametrize("given", [{"status": "PENDING"}, {"type": "add"}, {"queue": "math"}, {"subject": "s"}, {"tag": "t"}])
async def test_lists_are_filtered(client: httpx.AsyncClient, given: dict[str, str]) -> None:
    wanted = await submit(client, subject="s", tags=["t"])
    other = await submit(client, "fail")
    await client.post(f"/api/jobs/{other['job_id']}/cancel")
    found = (await client.get("/api/jobs", params=given)).json()["items"]
    assert [job["job_id"] for job in found] == [wanted["job_id"]]


async def test_failed_jobs_begin_again_one_by_one_or_together(client: httpx.AsyncClient, host: Host) -> None:
    jobs = [await submit(client, "fail") for _ in range(3)]
    await run_all(host)
    failed = (await client.get(f"/api/jobs/{jobs[0]['job_id']}")).json()
    assert (failed["status"], failed["error"]) == ("FAILED", "there is no such number")
    assert (await client.post(f"/api/jobs/{jobs[0]['job_id']}/retry")).json()["status"] == "PENDING"
    refused = await client.post(f"/api/jobs/{jobs[0]['job_id']}/retry")
    assert (refused.status_code, code(refused)) == (409, "wrong-state")
    assert len((await client.post("/api/jobs/retry", json={"job_type": "fail"})).json()["jobs"]) == 2


async def test_a_tree_is_shown_and_cancelled_as_a_whole(client: httpx.AsyncClient, host: Host) -> None:
    from gateleg.jobs import Submission
    from gateleg.jobs.claim import CandidateSelector

    top = await submit(client)
    claimed = await host.queue.claim(CandidateSelector(host.store.setup.ticks), "math", "w1")
    assert claimed is not None
    await host.queue.submit(Submission("add", {"numbers": []}, parent_job_id=claimed.job_id, stage="part"))
    tree = (await client.get(f"/api/jobs/{top['job_id']}/tree")).json()
    assert [child["stage"] for child in tree["children"]] == ["part"]
    changed = (await client.post(f"/api/jobs/{top['job_id']}/tree/cancel", json={"reason": "enough", "force": True})).json()["jobs"]
    assert {job["status"] for job in changed} == {"CANCELLED"}


async def test_queues_are_paused_resumed_drained_and_slowed(client: httpx.AsyncClient) -> None:
    assert (await client.post("/api/jobs/queues/math/pause")).json()["mode"] == "paused"
    assert (await client.get("/api/jobs/stats", params={"queue": "math"})).json()["items"][0]["mode"] == "paused"
    assert (await client.post("/api/jobs/queues/math/drain")).json()["mode"] == "draining"
    refused = await client.post("/api/jobs", json={"job_type": "add", "config": {"numbers": []}})
    assert (refused.status_code, code(refused)) == (409, "queue-draining")
    assert (await client.post("/api/jobs/queues/math/resume")).json()["mode"] == "running"
    assert (await client.put("/api/jobs/queues/math/rate", json={"starts": 5, "seconds": 10})).json()["rate"] == 5
    assert [queue["name"] for queue in (await client.get("/api/jobs/queues")).json()["items"]] == ["default", "math"]
    assert (await client.post("/api/jobs/queues/a b/pause")).status_code == 422


async def test_runs_of_a_schedule_have_its_concurrency_key_also_when_run_by_hand(client: httpx.AsyncClient, host: Host) -> None:
    new = {"job_type": "add", "config": {"numbers": [4]}, "every": 60, "concurrency_key": "sums", "concurrency_limit": 2}
    made = (await client.put("/api/jobs/schedules/sums", json=new)).json()
    assert (made["concurrency_key"], made["concurrency_limit"]) == ("sums", 2)
    ran = (await client.post("/api/jobs/schedules/sums/run")).json()["job"]
    job = await host.queue.get(UUID(ran["job_id"]))
    assert (job.concurrency_key, job.concurrency_limit) == ("sums", 2)


async def test_schedules_are_made_changed_run_and_taken_away(client: httpx.AsyncClient) -> None:
    new = {"job_type": "add", "config": {"numbers": [4]}, "every": 60}
    made = (await client.put("/api/jobs/schedules/nightly/sum", json=new)).json()
    assert (made["name"], made["queue"], made["enabled"]) == ("nightly/sum", "math", True)
    ran = await client.post("/api/jobs/schedules/nightly/sum/run")
    assert (ran.status_code, ran.json()["job"]["config"]) == (201, {"numbers": [4]})
    assert (await client.post("/api/jobs/schedules/nightly/sum/disable")).json()["enabled"] is False
    assert (await client.post("/api/jobs/schedules/nightly/sum/enable")).json()["enabled"] is True
    assert (await client.get("/api/jobs/schedules/nightly/sum")).json()["every"] == 60
    await client.put("/api/jobs/schedules/weekly", json=new)
    first = (await client.get("/api/jobs/schedules", params={"limit": 1})).json()
    second = (await client.get("/api/jobs/schedules", params={"limit": 1, "cursor": first["next"]})).json()
    assert [page["items"][0]["name"] for page in (first, second)] == ["nightly/sum", "weekly"]
    assert second["next"] is None
    assert (await client.delete("/api/jobs/schedules/nightly/sum")).status_code == 204
    assert (await client.get("/api/jobs/schedules/nightly/sum")).status_code == 404
    bad = await client.put("/api/jobs/schedules/x", json={"job_type": "add", "config": {"numbers": []}, "cron": "* * *"})
    assert (bad.status_code, code(bad)) == (422, "bad-schedule")


async def test_the_last_day_is_shown_as_points(client: httpx.AsyncClient, host: Host) -> None:
    await submit(client)
    await host.queue.record_history("math")
    history = (await client.get("/api/jobs/history", params={"step": 5, "points": 3})).json()
    assert len(history["moments"]) == 3
    assert history["series"]["waiting"] == [None, None, 1]
    other = (await client.get("/api/jobs/history", params={"queue": "default"})).json()
    assert set(other["series"]["waiting"]) == {None}


async def test_types_are_listed_with_the_schema_of_their_config(client: httpx.AsyncClient) -> None:
    types = {one["job_type"]: one for one in (await client.get("/api/jobs/types")).json()["items"]}
    assert types["add"]["config_schema"]["required"] == ["numbers"]
    assert types["fail"]["config_schema"] is None


async def test_an_id_that_is_none_is_not_found(client: httpx.AsyncClient) -> None:
    for address in ("", "/tree", "/logs"):
        missing = await client.get(f"/api/jobs/{uuid4()}{address}")
        assert (missing.status_code, code(missing)) == (404, "job-missing")
    for path, body in (("cancel", {}), ("retry", None), ("tree/cancel", {})):
        assert (await client.post(f"/api/jobs/{uuid4()}/{path}", json=body)).status_code == 404
    assert (await client.put(f"/api/jobs/{uuid4()}/priority", json={"priority": 1})).status_code == 404
    assert (await client.post("/api/jobs/cancel", json={"job_ids": [str(uuid4())]})).status_code == 404


async def test_the_archive_is_asked_for_a_subject_or_a_type(client: httpx.AsyncClient, host: Host, clock: ManualClock) -> None:
    job = await submit(client, subject="s")
    await run_all(host)
    clock.advance(days=8)
    await Archiver(host.queue).sweep()
    found = (await client.get("/api/jobs/archive", params={"subject": "s"})).json()["items"]
    assert [(one["job_id"], one["archived"]) for one in found] == [(job["job_id"], True)]
    assert (await client.get(f"/api/jobs/{job['job_id']}")).json()["archived"] is True
    assert (await client.get("/api/jobs/archive")).status_code == 400


async def test_what_an_operator_does_is_in_the_audit_log(client: httpx.AsyncClient, clock: ManualClock) -> None:
    job = await submit(client)
    clock.advance(1)
    cancelled = await client.post(f"/api/jobs/{job['job_id']}/cancel", json={"reason": "not now"})
    entries = (await client.get("/api/audit")).json()["items"]
    assert [(entry["action"], entry["target"], entry["actor"]) for entry in entries][::-1] == [
        ("job.submit", job["job_id"], "local"),
        ("job.cancel", job["job_id"], "local"),
    ]
    by_action = {entry["action"]: entry for entry in entries}
    assert by_action["job.cancel"]["details"]["reason"] == "not now"
    assert by_action["job.cancel"]["request_id"] == cancelled.headers["x-request-id"]
    assert (await client.get("/api/audit", params={"actor": "local"})).json()["items"]
    assert (await client.get("/api/audit", params={"day": "2001-01-01"})).json()["items"] == []


@pytest.mark.parametrize("name", ["job_type", "type"])
async def test_jobs_are_filtered_by_type_under_the_name_that_they_are_submitted_with(client: httpx.AsyncClient, name: str) -> None:
    await submit(client)
    assert len((await client.get("/api/jobs", params={name: "add"})).json()["items"]) == 1
    assert (await client.get("/api/jobs", params={name: "other"})).json()["items"] == []
    assert (await client.get("/api/jobs/archive", params={name: "add"})).json()["items"] == []


async def test_two_different_types_are_refused(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/jobs", params={"job_type": "add", "type": "other"})
    assert (answer.status_code, code(answer)) == (400, "bad-request")
