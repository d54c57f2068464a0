"""Runs over HTTP: asking, reading, events, cancelling, approving; and who may do so."""

import json
from typing import Any

from gateleg.ai import User
from gateleg.ai.errors import ModelRefused
from tests.apps.agents.running.hosted import calling
from tests.apps.agents.web.conftest import Served


async def asked(served: Served, agent: Any, text: str = "Hello?", **more: Any) -> dict[str, Any]:
    answer = await served["ann"].post("/api/agents/ask", json={"agentUuid": agent.agent_uuid, "userQuery": text, **more})
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


def events_of(text: str) -> list[tuple[str, str, Any]]:
    """The events of a stream: id, name, data."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in fields:
            found.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return found


async def test_a_question_is_asked_followed_and_read(served: Served) -> None:
    agent = await served.hosted.agent(calling(("desk_add", '{"a":2,"b":3}')), "It is five.", configuration={"tools": ["desk.add"]})
    question = await asked(served, agent)
    events = events_of((await served["ann"].get(question["events"])).text)
    assert [one[0] for one in events] == [str(number) for number in range(len(events))]
    assert [one[1] for one in events if one[1] != "text"] == ["status", "message", "call", "result", "message", "end"]
    assert "".join(one[2]["delta"] for one in events if one[1] == "text") == "It is five."
    again = events_of((await served["ann"].get(question["events"], headers={"Last-Event-ID": "3"})).text)
    assert again == events[4:]
    for junk in ("junk", "-1", "\u0665", "1" * 10):
        refused = await served["ann"].get(question["events"], params={"after": junk})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "bad-request")
    run = (await served["ann"].get(f"/api/agents/threads/{question['threadUuid']}/runs/{question['runUuid']}")).json()
    assert (run["status"], [one["message"] for one in run["messages"]][-1]) == ("completed", "It is five.")
    assert [(one["name"], one["content"], one["status"]) for one in run["toolCalls"]] == [("desk.add", "5", "completed")]
    assert "request" not in run
    listed = (await served["ann"].get(f"/api/agents/threads/{question['threadUuid']}/messages", params={"limit": 1})).json()
    assert [one["message"] for one in listed["items"]] == ["It is five."]
    assert listed["next"] is not None


async def test_an_idempotency_key_comes_as_a_header(served: Served) -> None:
    agent = await served.hosted.agent("Once.")
    body = {"agentUuid": agent.agent_uuid, "userQuery": "Hello?"}
    found = [(await served["ann"].post("/api/agents/ask", json=body, headers={"Idempotency-Key": "k"})).json() for _ in range(2)]
    assert found[0]["runUuid"] == found[1]["runUuid"]
    assert [one["created"] for one in found] == [True, False]


async def test_a_run_is_approved_and_cancelled_and_retried(served: Served) -> None:
    configuration = {"tools": ["desk.add"], "require_approval": "always"}
    agent = await served.hosted.agent(calling(("desk_add", '{"a":2,"b":3}')), ModelRefused("No."), "Five.", configuration=configuration)
    question = await asked(served, agent)
    place = f"/api/agents/threads/{question['threadUuid']}/runs/{question['runUuid']}"
    await served["ann"].get(question["events"])
    run = (await served["ann"].get(place)).json()
    assert run["status"] == "requires_action"
    decision = {"toolCallUuid": run["requiredAction"]["tool_calls"][0]["tool_call_uuid"], "approve": True}
    answer = await served["ann"].post(f"{place}/decisions", json={"decisions": [decision]})
    assert (answer.status_code, answer.json()["status"]) == (200, "queued")
    await served["ann"].get(question["events"])
    assert (await served["ann"].get(place)).json()["status"] == "failed"
    refused = await served["ann"].post(f"{place}/cancel")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "run-ended")
    assert (await served["ann"].post(f"{place}/retry")).json()["status"] == "queued"
    await served["ann"].get(question["events"])
    assert (await served["ann"].get(place)).json()["status"] == "completed"


PLACES = [
    ("GET", "/api/agents/threads/{threadUuid}/runs/{runUuid}"),
    ("GET", "/api/agents/threads/{threadUuid}/messages"),
    ("POST", "/api/agents/threads/{threadUuid}/runs/{runUuid}/cancel"),
    ("POST", "/api/agents/threads/{threadUuid}/runs/{runUuid}/retry"),
    ("POST", "/api/agents/threads/{threadUuid}/runs/{runUuid}/decisions"),
    ("GET", "/events/agents/threads/{threadUuid}/runs/{runUuid}"),
]


async def test_nothing_of_a_run_reaches_another_user_or_tenant(served: Served) -> None:
    agent = await served.hosted.agent("Secret.")
    question = await asked(served, agent)
    await served["ann"].get(question["events"])
    for name in ("bob", "eve"):
        for method, place in PLACES:
            body: Any = {"json": {"decisions": [{"toolCallUuid": "x", "approve": True}]}} if place.endswith("decisions") else {}
            answer = await served[name].request(method, place.format(**question), **body)
            assert (answer.status_code, "Secret" in answer.text) == (404, False), (name, place)
    stolen = await served["eve"].post("/api/agents/ask", json={"agentUuid": agent.agent_uuid, "userQuery": "Hello?"})
    assert stolen.status_code == 404
    part = await served["eve"].get(PLACES[0][1].format(**question), headers={"X-Part-ID": "acme"})
    assert (part.status_code, part.json()["error"]["code"]) == (403, "foreign-part")
    seen = await served["otto"].get(PLACES[0][1].format(**question), headers={"X-Part-ID": "acme"})
    assert seen.json()["messages"][-1]["message"] == "Secret."


async def test_a_file_is_sent_with_a_question(served: Served) -> None:
    agent = await served.hosted.agent("I see.")
    kept = await served["ann"].put("/api/agents/files/notes.txt", content=b"Tea at four.", headers={"Content-Type": "text/plain"})
    assert kept.status_code == 201
    files = [{"objectKey": kept.json()["objectKey"], "mediaType": "text/plain"}]
    question = await asked(served, agent, inputFiles=files)
    await served["ann"].get(question["events"])
    (said,) = served.hosted.script(agent).requests[0].turns
    assert isinstance(said, User)
    assert [getattr(file, "data", None) for file in said.files] == [b"Tea at four."]
    stolen = {"agentUuid": agent.agent_uuid, "userQuery": "?", "inputFiles": files}
    assert (await served["bob"].post("/api/agents/ask", json=stolen)).status_code == 404


async def test_a_question_that_makes_no_sense_is_refused(served: Served) -> None:
    for body in ({}, {"agentUuid": "a"}, {"agentUuid": "a", "userQuery": "x", "policy": "maybe"}, {"agentUuid": "a", "userQuery": ""}):
        assert (await served["ann"].post("/api/agents/ask", json=body)).status_code == 422
