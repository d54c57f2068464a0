"""Two versions of an agent, side by side."""

from typing import Any
from uuid import UUID

import pytest

from gateleg.ai import Script
from gateleg.ai.errors import ModelRefused
from gateleg.apps.agents.tables import Agent, new_id
from gateleg.jobs import follow_async
from tests.apps.agents.running.hosted import SCRIPTS
from tests.apps.agents.test_patterns import SLOW_TO_COMPILE
from tests.apps.agents.web.conftest import Served

CASES = [
    {"question": "What is two and two?", "checks": [{"kind": "contains", "text": "FOUR"}, {"kind": "matches", "pattern": "^It .* four"}]},
    {
        "question": "As JSON?",
        "checks": [{"kind": "equals", "value": {"sum": 4}}],
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
    },
]


async def two_versions(served: Served) -> tuple[Agent, Agent]:
    """Two versions of an agent: one that knows, and one that does not."""

    def knows(asked: Any) -> str:
        return '{"sum": 4}' if asked.shape is not None else "It is four."

    good = await served.hosted.agent(knows, knows)
    bad = good.model_copy(update={"agent_version_uuid": new_id(), "agent_name": f"{good.agent_name} again"})
    await served.hosted.resources.store.create(bad)
    SCRIPTS[bad.agent_name] = Script([ModelRefused("No."), ModelRefused("No.")])
    return good, bad


async def ended(served: Served, evaluation: dict[str, Any]) -> dict[str, Any]:
    async for _ in follow_async(served.hosted.resources.queue, UUID(evaluation["jobId"])):
        pass
    found: dict[str, Any] = (await served["ann"].get(f"/api/agents/evaluations/{evaluation['evaluationUuid']}")).json()
    return found


async def test_two_versions_are_compared_on_a_set(served: Served) -> None:
    good, bad = await two_versions(served)
    kept = (await served["ann"].post("/api/agents/evaluation-sets", json={"name": "Sums", "cases": CASES})).json()
    place = f"/api/agents/evaluation-sets/{kept['evaluationSetUuid']}"
    versions = [good.agent_version_uuid, bad.agent_version_uuid]
    answer = await served["ann"].post(f"{place}/evaluations", json={"agentUuid": good.agent_uuid, "agentVersionUuids": versions})
    assert answer.status_code == 202, answer.text
    found = await ended(served, answer.json())
    assert (found["status"], found["passed"]) == ("completed", {good.agent_version_uuid: 2, bad.agent_version_uuid: 0})
    first = found["results"][0]["versions"]
    assert (first[versions[0]]["answer"], first[versions[0]]["passed"]) == ("It is four.", True)
    assert (first[versions[1]]["status"], first[versions[1]]["checks"][0]["reason"]) == (
        "failed",
        "No. Check the name of the model and the options against the documentation of the service.",
    )
    # What another sees.
    assert [one["name"] for one in (await served["bob"].get("/api/agents/evaluation-sets")).json()["items"]] == ["Sums"]
    assert (await served["bob"].get("/api/agents/evaluations")).json()["items"] == []
    for name, path in (("bob", f"/api/agents/evaluations/{found['evaluationUuid']}"), ("eve", place)):
        assert (await served[name].get(path)).status_code == 404
    assert len((await served["ann"].get("/api/agents/evaluations")).json()["items"]) == 1


async def test_sets_are_kept_changed_and_deleted(served: Served) -> None:
    kept = (await served["ann"].post("/api/agents/evaluation-sets", json={"name": "Sums", "cases": CASES})).json()
    place = f"/api/agents/evaluation-sets/{kept['evaluationSetUuid']}"
    changed = await served["ann"].put(place, json={"name": "Fewer", "cases": CASES[:1]})
    assert (changed.json()["name"], len(changed.json()["cases"])) == ("Fewer", 1)
    strange = {"agentUuid": (await served.hosted.agent()).agent_uuid, "agentVersionUuids": ["none"]}
    assert (await served["ann"].post(f"{place}/evaluations", json=strange)).status_code == 404
    assert (await served["ann"].delete(place)).status_code == 204
    assert (await served["ann"].get(place)).status_code == 404
    bad = {"name": "Bad", "cases": [{"question": "?", "checks": [{"kind": "guess"}]}]}
    assert (await served["ann"].post("/api/agents/evaluation-sets", json=bad)).status_code == 422


@pytest.mark.parametrize("pattern", ["(", SLOW_TO_COMPILE])
async def test_a_pattern_that_cannot_be_used_is_refused_when_it_is_kept(served: Served, pattern: str) -> None:
    cases = [{"question": "?", "checks": [{"kind": "matches", "pattern": pattern}]}]
    refused = await served["ann"].post("/api/agents/evaluation-sets", json={"name": "Bad", "cases": cases})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad-field")
