"""Questions over GraphQL: asked as the documentation of the public engine does, followed over a websocket and over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from gateleg.apps.agents.running.submission import SubmittedRun
from gateleg.host import Role
from gateleg.web.app import create_app
from tests.apps.agents.graphql.conftest import Caller, Refused
from tests.apps.agents.graphql.operations import operation
from tests.apps.agents.graphql.sockets import graphql_socket
from tests.apps.agents.running.hosted import SCRIPTS, Hosted, calling, hosting, register_scripts
from tests.web.conftest import client_of

FRAMES = (
    "subscription s($t: String!, $r: String!, $a: Int!) { runFrames(threadUuid: $t, runUuid: $r, after: $a) { index kind delta status } }"
)
ASK = "mutation m($a: String!, $q: String!) { askModel(agentUuid: $a, userQuery: $q) { threadUuid currentRunUuid asyncTaskUuid } }"


@dataclass
class Office:
    """A host with a worker, and its callers."""

    hosted: Hosted
    app: FastAPI
    ann: Caller
    bob: Caller
    admin: Caller


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    register_scripts(monkeypatch.setattr)
    yield
    SCRIPTS.clear()


@pytest.fixture
async def office(scripts: None, tmp_path: Path) -> AsyncIterator[Office]:
    async with hosting(tmp_path) as hosted:
        app = create_app(hosted.host, console=False)
        found = {}
        for name, tenant, role in (("ann", "acme", Role.MEMBER), ("bob", "acme", Role.MEMBER), ("admin", None, Role.ADMIN)):
            token = (await hosted.host.keys.create(name, role, tenant=tenant)).token
            found[name] = Caller(name, token, client_of(app, token=token))
        async with app.router.lifespan_context(app):
            yield Office(hosted, app, **found)
        for caller in found.values():
            await caller.client.aclose()


async def test_the_documented_conversation_runs_as_it_stands(office: Office) -> None:
    agent = await office.hosted.agent("I am an agent.", "You are welcome.")
    declared = "$agentUuid: String!, $threadUuid: String, $userQuery: String!, $stream: Boolean, $updatedBy: String!"
    passed = ", ".join(f"{name}: ${name}" for name in ("agentUuid", "threadUuid", "userQuery", "stream", "updatedBy"))
    answered = "agentUuid threadUuid userQuery functionName asyncTaskUuid currentRunUuid"
    ask = f"query askModel({declared}) {{ askModel({passed}) {{ {answered} }} }}"
    poll = "query p($f: String!, $t: String!) { asyncTask(functionName: $f, asyncTaskUuid: $t) { result status } }"
    thread, answers = None, []
    for text in ("Who are you?", "Thank you."):
        asked = await office.ann.ask(
            ask, agentUuid=agent.agent_uuid, threadUuid=thread, userQuery=text, stream=False, updatedBy="test_user"
        )
        thread = asked["threadUuid"]
        assert (asked["agentUuid"], asked["userQuery"]) == (agent.agent_uuid, text)
        await follow(office, office.ann, asked)
        answers.append(await office.ann.ask(poll, f="async_execute_ask_model", t=asked["asyncTaskUuid"]))
    assert answers == [{"result": text, "status": "completed"} for text in ("I am an agent.", "You are welcome.")]
    transcript = await office.ann.ask("query q($t: String!) { thread(threadUuid: $t) { messages } }", t=thread)
    said = [(one["message"]["role"], one["message"]["content"]) for one in transcript["messages"]]
    assert said == [
        ("user", "Who are you?"),
        ("assistant", "I am an agent."),
        ("user", "Thank you."),
        ("assistant", "You are welcome."),
    ]


async def follow(office: Office, caller: Caller, asked: dict[str, Any], after: int = -1) -> list[dict[str, Any]]:
    """What the subscription answers over a websocket."""
    async with graphql_socket(office.app, caller.token) as socket:
        assert (await socket.open())["type"] == "connection_ack"
        messages = await socket.run(FRAMES, t=asked["threadUuid"], r=asked["currentRunUuid"], a=after)
    return [message.get("payload", {}) for message in messages[:-1]] or [{"errors": message.get("payload")} for message in messages]


async def test_a_run_is_followed_over_a_websocket_from_any_index(office: Office) -> None:
    agent = await office.hosted.agent("One two three.")
    asked = await office.ann.ask(ASK, a=agent.agent_uuid, q="Count.")
    frames = [payload["data"]["runFrames"] for payload in await follow(office, office.ann, asked)]
    assert [frame["index"] for frame in frames] == list(range(len(frames)))
    assert "".join(frame["delta"] for frame in frames if frame["kind"] == "text") == "One two three."
    assert (frames[-1]["kind"], frames[-1]["status"]) == ("end", "completed")
    again = [payload["data"]["runFrames"] for payload in await follow(office, office.ann, asked, after=2)]
    assert again == frames[3:]


async def test_a_run_is_followed_over_http(office: Office) -> None:
    agent = await office.hosted.agent("Hello.")
    asked = await office.ann.ask(ASK, a=agent.agent_uuid, q="Hello?")
    body = {"query": FRAMES, "variables": {"t": asked["threadUuid"], "r": asked["currentRunUuid"], "a": -1}}
    answer = await office.ann.client.post("/graphql", json=body, headers={"accept": "text/event-stream"})
    events = [json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line.startswith("data: {")]
    assert "".join(one["data"]["runFrames"]["delta"] for one in events if one["data"]["runFrames"]["kind"] == "text") == "Hello."


async def test_nobody_follows_or_changes_the_run_of_another(office: Office) -> None:
    agent = await office.hosted.agent("Secret.")
    asked = await office.ann.ask(ASK, a=agent.agent_uuid, q="Tell me.")
    for payload in await follow(office, office.bob, asked):
        assert "Secret" not in json.dumps(payload)
        errors = payload["errors"]
        assert errors[0]["extensions"]["code"] == "not-found-in-partition"
    for name in ("cancelRun", "retryRun"):
        with pytest.raises(Refused) as refused:
            await office.bob.ask(
                f"mutation m($t: String!, $r: String!) {{ {name}(threadUuid: $t, runUuid: $r) {{ run {{ status }} }} }}",
                t=asked["threadUuid"],
                r=asked["currentRunUuid"],
            )
        assert refused.value.code == "not-found-in-partition"


async def test_a_websocket_names_its_part_in_its_first_message(office: Office) -> None:
    query = "{ agentList { agentList { partId } } }"
    await office.hosted.agent("Hello.")
    async with graphql_socket(office.app, office.admin.token) as socket:
        await socket.open(**{"X-Part-ID": "acme"})
        (answer, _) = await socket.run(query)
        assert answer["payload"]["data"]["agentList"]["agentList"] == [{"partId": "acme"}]
    async with graphql_socket(office.app, office.ann.token) as socket:
        refused = await socket.open(**{"X-Part-ID": "umbrella"})
        assert (refused["type"], refused["code"]) == ("websocket.close", 4403)


async def test_a_websocket_sends_its_key_in_its_first_message(office: Office) -> None:
    """As pages of other origins do, because browsers add no headers to a websocket."""
    await office.hosted.agent("Hello.")
    async with graphql_socket(office.app, None, origin="https://app.example.com") as socket:
        begun = await socket.open(**{"Authorization": f"Bearer {office.admin.token}", "X-Part-ID": "acme"})
        assert begun["type"] == "connection_ack"
        (answer, _) = await socket.run("{ agentList { agentList { partId } } }")
        assert answer["payload"]["data"]["agentList"]["agentList"][0] == {"partId": "acme"}
    for payload in ({}, {"Authorization": "Bearer gl_nobody"}):
        async with graphql_socket(office.app, None) as socket:
            refused = await socket.open(**payload)
            assert (refused["type"], refused["code"]) == ("websocket.close", 4401)


async def test_a_tool_call_waits_for_its_approval(office: Office) -> None:
    agent = await office.hosted.agent(
        calling(("desk_add", '{"a": 2, "b": 2}')), "It is four.", configuration={"tools": ["desk.add"], "require_approval": ["desk.add"]}
    )
    asked = await office.ann.ask(ASK, a=agent.agent_uuid, q="What is two and two?")
    assert (await follow(office, office.ann, asked))[-1]["data"]["runFrames"]["status"] == "requires_action"
    place = {"t": asked["threadUuid"], "r": asked["currentRunUuid"]}
    waiting = await office.ann.ask(
        "query q($t: String!, $r: String!) { run(threadUuid: $t, runUuid: $r) { status requiredAction } }", **place
    )
    (call,) = waiting["requiredAction"]["toolCalls"]
    given = {"threadUuid": place["t"], "runUuid": place["r"], "decisions": [{"toolCallUuid": call["toolCallUuid"], "approve": True}]}
    decided = await office.ann.ask(operation("mutation", "decideToolCalls", given), **given)
    assert decided["run"]["status"] in ("queued", "running", "completed")
    assert (await follow(office, office.ann, asked))[-1]["data"]["runFrames"]["status"] == "completed"


async def test_a_failed_question_is_tried_again_by_its_task(office: Office) -> None:
    agent = await office.hosted.agent(llm=("nobody", "knows"))
    asked = await office.ann.ask(ASK, a=agent.agent_uuid, q="Play.")
    again = "mutation m($t: String!) { executeAskModel(asyncTaskUuid: $t, arguments: {}) { ok } }"
    for _ in range(2):
        assert (await follow(office, office.ann, asked))[-1]["data"]["runFrames"]["status"] == "failed"
        assert await office.ann.ask(again, t=asked["asyncTaskUuid"]) == {"ok": True}
    with pytest.raises(Refused) as refused:
        await office.bob.ask(again, t=asked["asyncTaskUuid"])
    assert refused.value.code == "not-found-in-partition"


async def test_a_file_goes_along_and_stays_in_its_users_folder(office: Office) -> None:
    agent = await office.hosted.agent("I see.", "I see again.")
    answer = "{ threadUuid currentRunUuid }"
    ask = f'mutation m($a: String!, $f: [JSONCamelCase]) {{ askModel(agentUuid: $a, userQuery: "Look.", inputFiles: $f) {answer} }}'
    sent = {"filename": "a.txt", "mimeType": "text/plain", "encodedContent": "SGVsbG8="}
    asked = await office.ann.ask(ask, a=agent.agent_uuid, f=[sent])
    assert (await follow(office, office.ann, asked))[-1]["data"]["runFrames"]["status"] == "completed"
    found = await office.ann.ask("query q($t: String!) { messageList(threadUuid: $t) { messageList { files } } }", t=asked["threadUuid"])
    (file,) = found["messageList"][0]["files"]
    assert (file["name"], file["mediaType"], "/acme%2Fann/" in file["objectKey"]) == ("a.txt", "text/plain", True)
    foreign, gone = {"objectKey": file["objectKey"]}, {"fileId": "gone"}
    for given, code in ((foreign, "object-missing"), (gone, "not-found-in-partition"), (5, "bad-field")):
        with pytest.raises(Refused) as refused:
            await office.bob.ask(ask, a=agent.agent_uuid, f=[given])
        assert refused.value.code == code


async def test_many_follow_a_run_at_once_each_from_where_they_were(office: Office) -> None:
    hosted = office.hosted
    agent = await hosted.agent(calling(("desk_wait", '{"a":1,"b":1}')), "One two three.", configuration={"tools": ["desk.*"]})
    asked = await office.ann.ask(ASK, a=agent.agent_uuid, q="Count.")
    events = f"/events/agents/threads/{asked['threadUuid']}/runs/{asked['currentRunUuid']}"

    async def by_websocket(after: int) -> list[int]:
        return [payload["data"]["runFrames"]["index"] for payload in await follow(office, office.ann, asked, after)]

    async def by_events(after: int) -> list[int]:
        answer = await office.ann.client.get(events, headers={"Last-Event-ID": str(after)} if after >= 0 else {})
        return [json.loads(line.removeprefix("data: "))["index"] for line in answer.text.splitlines() if line.startswith("data: ")]

    def listeners() -> list[tuple[int, asyncio.Future[list[int]]]]:
        return [(after, asyncio.ensure_future(way(after))) for after in range(-1, 4) for way in [by_websocket, by_events] * 3]

    # Some are there while it is written, and some come when it is over.
    early = listeners()
    await hosted.desk.here.wait()
    hosted.desk.go.set()
    await asyncio.gather(*(one for _, one in early))
    late = listeners()
    await asyncio.gather(*(one for _, one in late))
    count = (await hosted.frames(SubmittedRun(agent.agent_uuid, asked["threadUuid"], asked["currentRunUuid"], "")))[-1].index + 1
    assert count > 8
    for after, one in [*early, *late]:
        assert one.result() == list(range(after + 1, count))
