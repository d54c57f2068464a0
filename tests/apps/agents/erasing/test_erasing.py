"""Threads with their contents, and all that a tenant has: deleted, counted to zero, and exported before."""

import asyncio
import gzip
from typing import Any
from uuid import UUID

import orjson
import pytest

from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.apps.agents.erasing import threads as whole_threads
from gateleg.apps.agents.erasing.contents import contents_of
from gateleg.apps.agents.save_checks import save_agent, save_server
from gateleg.apps.agents.service import save_prompt
from gateleg.apps.agents.tables import Agent
from gateleg.apps.agents.tenancy import Context
from gateleg.jobs import JobStatus, follow_async
from tests.apps.agents.running.hosted import ANN, EVE, Hosted, calling
from tests.apps.agents.web.conftest import Served

SUM = ("desk_add", '{"a":2,"b":3}')


async def _count(hosted: Hosted, context: Context) -> dict[str, int]:
    found = {
        kind: sum([await hosted.resources.store.count(question) for question in questions])
        for kind, questions in contents_of(context.partition).items()
    }
    return {kind: count for kind, count in found.items() if count}


async def _ended(hosted: Hosted, job_id: str) -> Any:
    async with asyncio.timeout(30):
        async for update in follow_async(hosted.host.queue, UUID(job_id)):
            last = update.job
    assert last.status is JobStatus.COMPLETED, last
    return last


async def _talk(served: Served, times: int = 1) -> tuple[Agent, str]:
    """A thread of ann with some runs, the first with a file and a tool call."""
    hosted = served.hosted
    agent = await hosted.agent(calling(SUM), *["Hello."] * times, configuration={"tools": ["desk.*"]})
    file = (await served["ann"].put("/api/agents/files/a.txt", content=b"Tea.", headers={"content-type": "text/plain"})).json()
    asked = await hosted.ask(agent, input_files=[file])
    await hosted.ended(asked)
    for _ in range(times - 1):
        await hosted.ended(await hosted.ask(agent, thread_uuid=asked.thread_uuid))
    return agent, asked.thread_uuid


async def test_a_thread_is_deleted_with_all_that_happened_in_it(served: Served) -> None:
    hosted = served.hosted
    _, other = await _talk(served)
    kept = await _count(hosted, hosted.context())
    agent, thread = await _talk(served, 2)
    assert (await served["bob"].delete(f"/api/agents/threads/{thread}")).status_code == 404
    assert (await served["eve"].delete(f"/api/agents/threads/{thread}")).status_code == 404
    assert (await served["ann"].delete(f"/api/agents/threads/{thread}")).status_code == 204
    left = await _count(hosted, hosted.context())
    assert left == {**kept, "versions of agents": 2, "pointers to active versions": 2, "rows of usage": 2}
    assert (await served["ann"].delete(f"/api/agents/threads/{thread}")).status_code == 404
    assert len([one async for one in hosted.resources.objects.walk("agents/")]) == 1
    assert (await served["ann"].get(f"/api/agents/threads/{other}/messages")).json()["items"]
    assert agent.agent_uuid


async def test_a_run_that_goes_on_is_cancelled_when_its_thread_is_deleted(served: Served) -> None:
    hosted = served.hosted
    agent = await hosted.agent(calling(("desk_wait", '{"a":1,"b":1}')), configuration={"tools": ["desk.*"]})
    asked = await hosted.ask(agent)
    await hosted.desk.here.wait()
    assert (await served["ann"].delete(f"/api/agents/threads/{asked.thread_uuid}")).status_code == 204
    assert set(await _count(hosted, hosted.context())) <= {"versions of agents", "pointers to active versions", "rows of usage"}


async def test_a_large_thread_is_deleted_by_a_job_of_its_owner(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_threads, "SMALL", 1)
    _, thread = await _talk(served, 2)
    begun = await served["ann"].delete(f"/api/agents/threads/{thread}")
    assert begun.status_code == 202
    job = await _ended(served.hosted, begun.json()["jobId"])
    assert (job.created_by, job.tenant) == ("ann", "acme")
    assert (await served["ann"].get(f"/api/agents/threads/{thread}/messages")).status_code == 404


async def _fill(served: Served) -> None:
    hosted, context = served.hosted, served.hosted.context()
    await _talk(served)
    llm = {"llm_provider": "local", "llm_name": "smollm2"}
    await save_agent(hosted.resources, context, {"agent_name": "A", **llm, "configuration": {"api_key": "hunter2"}})
    await save_server(hosted.resources, context, {"mcp_label": "S", "mcp_server_url": "https://tools.test/mcp", "headers": {"X": "k1"}})
    await save_prompt(hosted.resources.store, context, {"prompt_type": "t", "prompt_name": "P", "template_context": "Be kind."})
    case = {"question": "?", "checks": [{"kind": "contains", "text": "x"}]}
    await served["ann"].post("/api/agents/evaluation-sets", json={"name": "S", "cases": [case]})


async def test_a_tenant_is_exported_and_erased_and_others_stay_as_they_are(served: Served) -> None:
    hosted, context, other = served.hosted, served.hosted.context(ANN), served.hosted.context(EVE)
    await hosted.ended(await hosted.ask(await hosted.agent("Hi.", principal=EVE), principal=EVE), EVE)
    theirs = await _count(hosted, other)
    await _fill(served)
    before = await _count(hosted, context)
    begun = await served["otto"].post("/api/agents/tenants/acme/export")
    assert begun.status_code == 202, begun.text
    exported = (await _ended(hosted, begun.json()["jobId"])).job_results.value
    assert {kind: count for kind, count in exported["items"].items() if kind not in ("files", "secrets")} == before
    assert (exported["items"]["files"], exported["items"]["secrets"]) == (1, 2)
    lines = [orjson.loads(line) for line in gzip.decompress(await hosted.resources.objects.get(exported["object_key"])).splitlines()]
    assert sum("Item" in line for line in lines) == sum(before.values())
    assert b"hunter2" not in orjson.dumps(lines)
    links = (await served["otto"].get(f"/api/agents/jobs/{begun.json()['jobId']}/artifacts")).json()["items"]
    assert [link["key"] for link in links] == [exported["object_key"]]

    llm = await hosted.resources.store.get(Llm, llm_provider="local", llm_name="smollm2")
    begun = await served["otto"].post("/api/agents/tenants/acme/erase", json={"confirm": "acme"})
    erased = (await _ended(hosted, begun.json()["jobId"])).job_results.value["deleted"]
    assert (await _count(hosted, context), await _count(hosted, other)) == ({}, theirs)
    assert {kind: count for kind, count in erased.items() if kind not in ("files", "secrets")} == before
    assert await hosted.resources.secrets.list(tenant=context.partition_key) == []
    assert [one async for one in hosted.resources.objects.walk("agents/local/acme/")] == []
    released = await hosted.resources.store.get(Llm, llm_provider="local", llm_name="smollm2", consistent=True)
    assert (llm.reference_count, released.reference_count) == (1, 0)


@pytest.mark.parametrize("deed", ["export", "erase"])
async def test_nobody_but_those_who_run_the_host_exports_or_erases_a_tenant(served: Served, deed: str) -> None:
    for name in ("ann", "eve"):
        refused = await served[name].post(f"/api/agents/tenants/acme/{deed}", json={"confirm": "acme"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not-a-host-operator")
    if deed == "erase":
        unsure = await served["otto"].post("/api/agents/tenants/acme/erase", json={"confirm": "acne"})
        assert (unsure.status_code, unsure.json()["error"]["code"]) == (422, "bad-field")


async def test_usage_and_tenants_are_listed_for_those_who_may_see_them(served: Served) -> None:
    hosted = served.hosted
    await hosted.ended(await hosted.ask(await hosted.agent("Hi.")))
    (row,) = (await served["ann"].get("/api/agents/usage")).json()["items"]
    assert (row["model"], row["runs"], row["ownerId"]) == ("local:own", 1, "acme/ann")
    assert (await served["bob"].get("/api/agents/usage")).json()["items"] == []
    assert (await served["ann"].get("/api/agents/usage", params={"since": "2020-01-01"})).status_code == 422
    (tenant,) = (await served["otto"].get("/api/agents/tenants")).json()["items"]
    assert (tenant["partId"], tenant["agents"], tenant["threads"]) == ("acme", 1, 1)
    assert (await served["ann"].get("/api/agents/tenants")).status_code == 403
