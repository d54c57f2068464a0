"""Agents of every provider, against servers that speak its protocol: the whole run, and everything that a service may do wrong."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gateleg.apps.agents.running.frames import reply_text
from gateleg.apps.agents.running.submission import SubmittedRun
from gateleg.apps.agents.tables import Agent
from gateleg.apps.agents.thread_tables import Run, RunStatus, ToolCallStatus
from tests.ai.speaking import asked, head
from tests.apps.agents.running.hosted import EVE, Hosted, hosting
from tests.apps.agents.running.protocols import PROTOCOLS, SUM, Protocol
from tests.net.http.faulty import Act, Service, service

EVERY = pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_EC2_METADATA_DISABLED", "true")):
        monkeypatch.setenv(name, value)


@asynccontextmanager
async def talking(folder: Path, protocol: Protocol, *acts: Act, **configuration: Any) -> AsyncIterator[tuple[Hosted, Agent, Service]]:
    """A host whose jobs wait, an agent with the tenant's own key, and its model's server, which acts."""
    with service(*acts) as server:
        async with hosting(folder, models=protocol.settings(server.url), work=False) as hosted:
            await hosted.resources.secrets.put("own", "sk-tenant", tenant="local#acme")
            named = f"{protocol.provider}:{protocol.model}"
            key = {"api_key": "secret:own"} if protocol.key else {}
            wanted = {"model": named, "tools": ["desk.*"], **key, **configuration}
            yield hosted, await hosted.agent(llm=(protocol.handler, "m"), configuration=wanted, instructions="Be brief."), server


async def last_attempt(hosted: Hosted, question: SubmittedRun) -> Run:
    """Have a run answered by a job that is not tried again."""
    run = await hosted.run_of(question)
    job = hosted.resources.queue.tables.job
    await hosted.resources.store.patch(job, job.max_retries.set(0), job_id=run.job_id)
    async with hosted.working():
        return await hosted.ended(question)


@EVERY
async def test_a_run_calls_tools_streams_and_ends_with_usage_and_cost(tmp_path: Path, protocol: Protocol) -> None:
    async with talking(tmp_path, protocol, protocol.calls(SUM), protocol.says(True)) as (hosted, agent, server), hosted.working():
        question = await hosted.ask(agent, "How much is 2 and 3?")
        run = await hosted.ended(question)
        frames = await hosted.frames(question)
        (call,) = (await hosted.transcript(question)).calls
    assert (run.status, run.error, run.iterations) == (RunStatus.COMPLETED, None, 2)
    assert (call.name, call.status, call.content) == ("desk.add", ToolCallStatus.COMPLETED, "5")
    assert (reply_text(frames), [frame.delta for frame in frames if frame.kind == "text"]) == ("It is 5.", ["It is", " 5."])
    assert [frame.index for frame in frames] == list(range(len(frames)))
    assert (run.prompt_tokens, run.completion_tokens, run.total_tokens) == (30, 7, 37)
    # Prices are for a million tokens.
    assert run.cost == (Decimal(30) * 100 + Decimal(7) * 1000) / 1_000_000
    assert len(server.requests) == 2
    assert protocol.result(asked(server))
    assert protocol.key is None or protocol.key in head(server)


@EVERY
async def test_what_goes_wrong_fails_the_run_with_what_to_do(tmp_path: Path, protocol: Protocol) -> None:
    wrong: dict[tuple[object, str], Act] = {
        (401, "Check the key"): protocol.fails(401),
        (429, "Send fewer requests"): protocol.fails(429),
        (500, "Try again later"): protocol.fails(500),
        protocol.refusal: protocol.refuses,
        ("The stream broke", "Send the request again"): protocol.says(False),
    }
    async with talking(tmp_path, protocol, *wrong.values()) as (hosted, agent, server):
        for number, (what, advice) in enumerate(wrong, 1):
            run = await last_attempt(hosted, await hosted.ask(agent))
            assert (run.status, len(server.requests)) == (RunStatus.FAILED, number)
            assert str(what) in (run.error or "")
            assert advice in (run.error or "")
            # The service's own words may repeat what was sent to it: they are in the log of the job only.
            assert "sorry" not in (run.error or "")


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic", "bedrock"])
async def test_arguments_that_are_not_json_are_told_to_the_model_which_corrects_them(tmp_path: Path, name: str) -> None:
    protocol = PROTOCOLS[name]
    acts = (protocol.calls("{oops"), protocol.calls(SUM), protocol.says(True))
    async with talking(tmp_path, protocol, *acts) as (hosted, agent, server), hosted.working():
        question = await hosted.ask(agent)
        assert (await hosted.ended(question)).status is RunStatus.COMPLETED
        calls = (await hosted.transcript(question)).calls
    assert [call.status for call in calls] == [ToolCallStatus.FAILED, ToolCallStatus.COMPLETED]
    assert "not JSON" in (calls[0].content or "")
    assert "not JSON" in server.requests[1].decode()


async def test_an_answer_that_is_cut_off_is_given_anew_and_once(tmp_path: Path) -> None:
    # It takes as long as the pause before the second attempt.
    protocol = PROTOCOLS["openai"]
    async with talking(tmp_path, protocol, protocol.says(False), protocol.says(True)) as (hosted, agent, server), hosted.working():
        question = await hosted.ask(agent)
        run = await hosted.ended(question)
        frames = await hosted.frames(question)
        said = [message.message for message in (await hosted.transcript(question)).messages]
    assert (run.status, run.error, run.attempts, len(server.requests)) == (RunStatus.COMPLETED, None, 2, 2)
    assert (reply_text(frames), said) == ("It is 5.", ["Hello?", "It is 5."])
    assert [frame.kind for frame in frames].count("restart") == 1


async def test_a_tenant_cannot_use_the_key_of_another(tmp_path: Path) -> None:
    protocol = PROTOCOLS["openai"]
    async with talking(tmp_path, protocol) as (hosted, _, server):
        agent = await hosted.agent(principal=EVE, llm=("openai", "m"), configuration={"model": "m", "api_key": "secret:own"})
        async with hosted.working():
            run = await hosted.ended(await hosted.ask(agent, principal=EVE), EVE)
    assert (run.status, server.requests) == (RunStatus.FAILED, [])
    assert "own" in (run.error or "")
