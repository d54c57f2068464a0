"""Agents for OpenAI's own Python SDK."""

import base64
from datetime import UTC, datetime
from typing import Any

import httpx2
import openai
import orjson
import pytest

from gateleg.ai import Assistant, Reply, System, User
from gateleg.ai.errors import AiError, KeyMissing, ModelRefused, PriceUnknown, SpendCapReached, WeightsMissing
from gateleg.apps.agents.running.frames import Frame
from gateleg.apps.agents.web.openai_api import _Chunks
from tests.apps.agents.running.hosted import EVE, calling
from tests.apps.agents.web.conftest import Served


def sdk(served: Served, name: str = "ann") -> openai.AsyncOpenAI:
    """The SDK, as somebody with a key of the host uses it."""
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(served.app, client=("127.0.0.1", 50_000)))
    return openai.AsyncOpenAI(api_key=served.tokens[name], base_url="http://127.0.0.1:8000/v1", http_client=http, max_retries=0)


async def test_the_sdk_lists_agents_and_asks_one(served: Served) -> None:
    agent = await served.hosted.agent("Four.", agent_name="Little Helper", instructions="Be brief.")
    await served.hosted.agent(principal=EVE, agent_name="Stranger")
    async with sdk(served) as client:
        assert [model.id async for model in client.models.list()] == ["little_helper"]
        assert (await client.models.retrieve("little_helper")).owned_by == agent.agent_uuid
        completion = await client.chat.completions.create(
            model="little_helper",
            messages=[
                {"role": "system", "content": "Count well."},
                {"role": "user", "content": "One and one?"},
                {"role": "assistant", "content": "Two."},
                {"role": "user", "content": [{"type": "text", "text": "Two and two?"}]},
            ],
            temperature=0.5,
            max_tokens=9,
        )
    assert (completion.choices[0].message.content, completion.choices[0].finish_reason) == ("Four.", "stop")
    assert completion.usage is not None
    assert completion.usage.total_tokens > 0
    (prompt,) = served.hosted.script(agent).requests
    assert prompt.messages == (System("Be brief."), System("Count well."), User("One and one?"), Assistant("Two."), User("Two and two?"))
    assert (prompt.temperature, prompt.max_tokens) == (0.5, 9)


async def test_the_sdk_streams(served: Served) -> None:
    agent = await served.hosted.agent(
        calling(("desk_add", '{"a":2,"b":3}'), text="Hm."), "It is five.", configuration={"tools": ["desk.add"]}
    )
    async with sdk(served) as client:
        stream = await client.chat.completions.create(
            model=agent.agent_uuid, messages=[{"role": "user", "content": "?"}], stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "Hm.\n\nIt is five."
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None


async def test_the_sdk_gets_structures_and_sends_pictures(served: Served) -> None:
    agent = await served.hosted.agent('{"colour": "red"}')
    schema: Any = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
    picture = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()
    content: Any = [{"type": "text", "text": "Which colour?"}, {"type": "image_url", "image_url": {"url": picture}}]
    async with sdk(served) as client:
        completion = await client.chat.completions.create(
            model=agent.agent_uuid,
            messages=[{"role": "user", "content": content}],
            response_format={"type": "json_schema", "json_schema": {"name": "found", "schema": schema}},
        )
    assert completion.choices[0].message.content == '{"colour":"red"}'
    assert [file.media_type for file in served.hosted.script(agent).requests[0].files] == ["image/png"]


async def test_errors_are_those_of_the_sdk(served: Served) -> None:
    agent = await served.hosted.agent(ModelRefused("No."))
    message: Any = [{"role": "user", "content": "?"}]
    async with sdk(served) as ann, sdk(served, "eve") as eve:
        with pytest.raises(openai.NotFoundError, match="There is no agent"):
            await eve.chat.completions.create(model=agent.agent_uuid, messages=message)
        with pytest.raises(openai.BadRequestError, match="return one answer"):
            await ann.chat.completions.create(model=agent.agent_uuid, messages=message, n=2)
        with pytest.raises(openai.BadRequestError, match="must end with a message of the role"):
            await ann.chat.completions.create(model=agent.agent_uuid, messages=[{"role": "system", "content": "?"}])
        orphan: Any = [{"role": "tool", "tool_call_id": "call_1", "content": "5"}, *message]
        with pytest.raises(openai.BadRequestError, match="which no earlier message made"):
            await ann.chat.completions.create(model=agent.agent_uuid, messages=orphan)
        with pytest.raises(openai.InternalServerError, match="No\\."):
            await ann.chat.completions.create(model=agent.agent_uuid, messages=message)
        stranger = ann.with_options(api_key="gk_nobody")
        with pytest.raises(openai.AuthenticationError):
            await stranger.models.list()


async def test_a_reply_that_is_written_anew_goes_on_where_it_broke() -> None:
    async def frames() -> Any:
        for frame in (
            Frame(kind="text", delta="Hel", step=1),
            Frame(kind="restart", step=1),
            Frame(kind="text", delta="He", step=1),
            Frame(kind="text", delta="llo!", step=1),
            Frame(kind="end", status="completed"),
        ):
            yield frame

    sent = b"".join([chunk async for chunk in _Chunks("m", "r", created=datetime.now(UTC), usage=False).of(frames())]).decode()
    texts = [orjson.loads(line.removeprefix("data: "))["choices"][0]["delta"].get("content") for line in sent.split("\n\n")[:-2]]
    assert texts == ["", "Hel", "lo!", None]


@pytest.mark.parametrize(("finish", "reason"), [("length", "length"), ("filtered", "content_filter"), ("stop", "stop")])
async def test_an_answer_that_was_cut_says_why(served: Served, finish: Any, reason: str) -> None:
    agent = await served.hosted.agent(Reply("Once upon", finish=finish), Reply("Once upon", finish=finish))
    async with sdk(served) as client:
        whole = await client.chat.completions.create(model=agent.agent_uuid, messages=[{"role": "user", "content": "?"}])
        stream = await client.chat.completions.create(model=agent.agent_uuid, messages=[{"role": "user", "content": "?"}], stream=True)
        chunks = [chunk async for chunk in stream]
    assert (whole.choices[0].finish_reason, chunks[-1].choices[0].finish_reason) == (reason, reason)
    assert all(chunk.created >= whole.created > 0 for chunk in chunks)


@pytest.mark.parametrize("options", [{"temperature": 9}, {"temperature": -1}, {"max_tokens": 0}, {"max_completion_tokens": -1}])
async def test_impossible_options_are_the_mistake_of_the_client(served: Served, options: dict[str, Any]) -> None:
    agent = await served.hosted.agent("Never.")
    async with sdk(served) as client:
        with pytest.raises(openai.BadRequestError, match=next(iter(options))):
            await client.chat.completions.create(model=agent.agent_uuid, messages=[{"role": "user", "content": "?"}], **options)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SpendCapReached("The tenant 'acme' may spend 1 a day.", retry_after=60), 429),
        (KeyMissing("openai:m@http://10.0.0.5:8731/v1 needs a key."), 502),
        (PriceUnknown("There is a spend cap, but no known price for openai:m@http://10.0.0.5:8731/v1."), 502),
        (WeightsMissing("The weights are not in /srv/models.", fix="pip install x"), 502),
    ],
)
async def test_a_failure_has_its_code_is_not_repeated_and_shows_no_member_the_inside_of_the_host(
    served: Served, error: AiError, status: int
) -> None:
    agent = await served.hosted.agent(*[error] * 4)
    ann = served["ann"]
    body = {"model": agent.agent_uuid, "messages": [{"role": "user", "content": "?"}]}
    refused = await ann.post("/v1/chat/completions", json=body)
    assert (refused.status_code, refused.json()["error"]["code"], refused.headers["x-should-retry"]) == (status, error.code, "false")
    streamed = await ann.post("/v1/chat/completions", json={**body, "stream": True})
    assert f'"code":"{error.code}"' in streamed.text
    called = await served.hosted.ended(await served.hosted.ask(agent))
    job_id = called.job_id
    place = f"/api/agents/threads/{called.thread_uuid}/runs/{called.run_uuid}"
    query = "query($t:String!,$r:String!){run(threadUuid:$t,runUuid:$r){error}}"
    graph = await ann.post("/graphql", json={"query": query, "variables": {"t": called.thread_uuid, "r": called.run_uuid}})
    frames = await ann.get(place.replace("/api/", "/events/"))
    job = await ann.get(f"/api/agents/jobs/{job_id}")
    log = await ann.get(f"/api/agents/jobs/{job_id}/logs")
    run = await ann.get(place)
    assert [one.status_code for one in (run, graph, frames, job, log)] == [200] * 5
    assert run.json()["error"] in graph.text
    for text in (refused.text, streamed.text, run.text, graph.text, frames.text, job.text, log.text):
        for inside in ("10.0.0.5", "gateleg.toml", "models.providers", "models.caps", "models.prices", "/srv/models", "pip install"):
            assert inside not in text
