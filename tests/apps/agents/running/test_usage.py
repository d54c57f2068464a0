"""What runs have used, by day: counted with each reply, seen by who may see the runs."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from gateleg.ai import Delta, Message, Reply, Usage
from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.running.handlers import registry
from gateleg.apps.agents.running.run_end import cancel_run
from gateleg.apps.agents.running.submission import SubmittedRun
from gateleg.apps.agents.thread_tables import Run, RunStatus
from gateleg.apps.agents.usage import summarise_usage
from gateleg.apps.agents.usage_tables import DailyUsage
from gateleg.host import Principal
from tests.apps.agents.running.hosted import ANN, BOB, EVE, OTTO, Hosted, ScriptedHandler, calling

TOOLS = {"tools": ["desk.*"]}
BEGUN = asyncio.Event()


class HaltingHandler(ScriptedHandler):
    """Begins to answer and never ends."""

    async def stream(self, messages: Iterable[Message], **options: Any) -> AsyncGenerator[Delta, None]:
        yield Delta(text="It was a dark and stormy night")
        BEGUN.set()
        await asyncio.Event().wait()


def said(text: str, model: str = "large") -> Reply:
    return Reply(text, usage=Usage(10, 5), model=model)


async def _rows(hosted: Hosted, principal: Principal, by: Any = "day", **asked: str) -> dict[str, tuple[int, int, int]]:
    context, today = hosted.context(principal, **asked), hosted.resources.store.setup.now().date()
    found = await summarise_usage(hosted.resources.store, context, by, today - timedelta(days=29), today)
    assert found.complete
    return {name: (one.runs, one.replies, one.prompt_tokens + one.completion_tokens) for name, one in found.groups.items()}


async def test_every_reply_is_counted_once_by_agent_user_and_model(hosted: Hosted) -> None:
    call = replace(calling(("desk_add", '{"a":1,"b":2}')), usage=Usage(7, 3), model="large")
    first = await hosted.agent(call, said("Three."), said("Again.", "small"), configuration=TOOLS)
    second = await hosted.agent(said("Hello."))
    await hosted.ended(await hosted.ask(first))
    await hosted.ended(await hosted.ask(first, principal=BOB), BOB)
    await hosted.ended(await hosted.ask(second, user_id="customer-7"))
    assert await _rows(hosted, ANN, "model") == {"local:own": (2, 3, 40)}
    assert await _rows(hosted, BOB, "agent") == {first.agent_uuid: (1, 1, 15)}
    assert await _rows(hosted, BOB, "model") == {"local:own": (1, 1, 15)}
    everybody = await _rows(hosted, OTTO, "user", part_id="acme")
    assert everybody == {"acme/ann": (1, 2, 25), "acme/bob": (1, 1, 15), "customer-7": (1, 1, 15)}
    assert await _rows(hosted, EVE) == {}


async def test_a_period_has_a_first_and_a_last_day(hosted: Hosted) -> None:
    await hosted.ended(await hosted.ask(await hosted.agent(said("Hello."))))
    context, today = hosted.context(), hosted.resources.store.setup.now().date()
    before = await summarise_usage(hosted.resources.store, context, "day", today - timedelta(days=3), today - timedelta(days=1))
    assert before.groups == {}
    assert list((await summarise_usage(hosted.resources.store, context, "day", today, today)).groups) == [f"{today}"]
    with pytest.raises(BadField):
        await summarise_usage(hosted.resources.store, context, "day", today, today - timedelta(days=1))


async def _counted(hosted: Hosted, asked: SubmittedRun) -> Run:
    """The run, once its worker has counted what it used."""
    async with asyncio.timeout(30):
        while not (run := await hosted.run_of(asked)).usage_estimated:
            await asyncio.sleep(0)
    return run


async def test_a_cancelled_run_reports_what_it_had_used_by_then(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("halting", f"{__name__}:HaltingHandler", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "_registered", lambda: {"halting": point})
    BEGUN.clear()
    agent = await hosted.agent(llm=("halting", "h"))
    asked = await hosted.ask(agent, "Tell me a story.")
    await BEGUN.wait()
    await cancel_run(hosted.resources, hosted.context(), asked.thread_uuid, asked.run_uuid)
    run = await _counted(hosted, asked)
    assert run.status is RunStatus.CANCELLED
    assert run.prompt_tokens > 0
    assert run.completion_tokens == 9
    (row,) = [one async for one in hosted.resources.store.query(DailyUsage.by_day(partition=run.partition))]
    assert (row.estimated, row.unpriced, row.completion_tokens) == (1, 1, 9)
