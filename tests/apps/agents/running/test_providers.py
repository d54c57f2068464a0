"""Agents whose models are at a server with OpenAI's API that the host's settings name, and a judge there."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from gateleg.apps.agents.evaluating.cases import Case, Judged
from gateleg.apps.agents.evaluating.sets import begin_evaluation, find_evaluation, save_set
from gateleg.apps.agents.running.frames import reply_text
from gateleg.apps.agents.thread_tables import RunStatus
from gateleg.jobs import follow_async
from tests.ai.speaking import asked, events, head, said
from tests.apps.agents.running.hosted import hosting
from tests.net.http.faulty import service

USAGE = {"prompt_tokens": 1_000, "completion_tokens": 2, "total_tokens": 1_002}


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "c1", "model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def house(url: str) -> dict[str, str]:
    """The settings of a host that names the server `house`, with a price."""
    return {
        "MODELS__PROVIDERS": json.dumps({"house": {"url": url, "speaks": "openai"}}),
        "MODELS__PRICES": json.dumps({"house:m": {"input": 3, "output": 15}}),
    }


async def test_a_compatible_server_answers_with_usage_and_cost(tmp_path: Path) -> None:
    usage = {"id": "c1", "model": "m-1", "choices": [], "usage": USAGE}
    with service(events(chunk(content="Hel"), chunk(content="lo"), chunk("stop"), usage)) as server:
        async with hosting(tmp_path, models=house(server.url)) as hosted:
            await hosted.resources.secrets.put("own", "sk-tenant", tenant="local#acme")
            configuration = {"model": "house:m", "api_key": "secret:own", "temperature": 0.5}
            agent = await hosted.agent(llm=("openai-compatible", "m"), configuration=configuration, instructions="Be brief.")
            question = await hosted.ask(agent, "Hi")
            run = await hosted.ended(question)
            assert (run.status, run.error) == (RunStatus.COMPLETED, None)
            assert reply_text(await hosted.frames(question)) == "Hello"
    assert (run.model, run.prompt_tokens, run.completion_tokens, run.cost) == ("house:m", 1_000, 2, Decimal("0.00303"))
    assert asked(server)["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert asked(server)["temperature"] == 0.5
    assert "authorization: bearer sk-tenant" in head(server)


async def test_a_model_judges_answers(tmp_path: Path) -> None:
    message = {"content": '{"passed": false, "reason": "It is rude."}'}
    with service(said({"model": "m-1", "choices": [{"message": message, "finish_reason": "stop"}]})) as server:
        async with hosting(tmp_path, models=house(server.url), judge_model="house:m") as hosted:
            agent = await hosted.agent("Go away.")
            context, store = hosted.context(), hosted.resources.store
            kept = await save_set(store, context, "Manners", [Case(question="Hi", checks=[Judged(criterion="It is polite.")])])
            evaluation = await begin_evaluation(hosted.resources, context, kept.evaluation_set_uuid, agent.agent_uuid)
            async for _ in follow_async(hosted.resources.queue, UUID(evaluation.job_id or "")):
                pass
            found = await find_evaluation(store, context, evaluation.evaluation_uuid)
    (check,) = found.results[0]["versions"][agent.agent_version_uuid]["checks"]
    assert (check["passed"], check["reason"], found.passed) == (False, "It is rude.", {agent.agent_version_uuid: 0})
    assert "Criterion: It is polite." in asked(server)["messages"][-1]["content"]
