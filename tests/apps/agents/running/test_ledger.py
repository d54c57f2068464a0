"""One ledger of model calls: a run's cost, the application's usage and the host's agree to the last digit, whatever goes wrong."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gateleg.ai import ModelCall, UsageDay, spending
from gateleg.apps.agents.evaluating.cases import Case, Judged
from gateleg.apps.agents.evaluating.sets import begin_evaluation, save_set
from gateleg.apps.agents.running.run_end import cancel_run
from gateleg.apps.agents.thread_tables import Run, RunStatus
from gateleg.apps.agents.usage import settle_lost
from gateleg.apps.agents.usage_tables import DailyUsage
from gateleg.jobs import follow_async
from tests.ai.speaking import events, said
from tests.apps.agents.running.hosted import Hosted, hosting
from tests.apps.agents.running.mortal_worker import LEASE
from tests.apps.agents.running.test_long_threads import long_thread
from tests.apps.agents.running.test_providers import USAGE, chunk, house
from tests.net.http.faulty import Act, answer, service

#: The price of `USAGE` at the server `house`.
ONE = Decimal("0.00303")
AT_HOUSE: dict[str, Any] = {"llm": ("openai-compatible", "m")}


def spoken(*pieces: dict[str, Any], finish: str = "stop") -> Act:
    return events(*pieces, chunk(finish), {"id": "c1", "model": "m-1", "choices": [], "usage": USAGE})


def whole(text: str) -> Act:
    return said({"model": "m-1", "choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": USAGE})


HELLO = spoken(chunk(content="Hello."))
CALL = spoken(
    chunk(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": {"name": "desk_add", "arguments": '{"a":1,"b":2}'}}]),
    finish="tool_calls",
)
#: The first pieces of an answer, and no end.
BEGUN = events(chunk(content="Hel"), done=False, whole=False, end="silence")
CUT = events(chunk(content="Hel"), done=False, whole=False, end="close")


async def agree(hosted: Hosted) -> dict[str, Any]:
    """Check that all sums are those of the ledger; how its calls ended, by purpose, and their cost."""
    store = hosted.host.store
    calls = [call async for call in store.export(ModelCall)]
    daily = [row async for row in store.export(DailyUsage)]
    host = [row async for row in store.export(UsageDay)]
    runs = [run async for run in store.export(Run)]
    counted = [call for call in calls if call.status in ("answered", "unknown")]
    cost = sum(call.cost or 0 for call in counted)
    assert sum(row.cost for row in host) == cost
    assert sum(row.cost for row in daily) == cost
    assert sum(run.cost or 0 for run in runs) == cost
    tokens = (sum(call.input for call in counted), sum(call.output for call in counted))
    assert (sum(row.input for row in host), sum(row.output for row in host)) == tokens
    assert (sum(row.prompt_tokens for row in daily), sum(row.completion_tokens for row in daily)) == tokens
    assert (sum(run.prompt_tokens for run in runs), sum(run.completion_tokens for run in runs)) == tokens
    assert sum(row.replies for row in daily) == len(counted)
    assert sum(row.calls for row in host) == len([call for call in calls if call.status != "refused"])
    assert {row.model for row in daily} | {row.model for row in host} == {"house:m"}
    assert sum(row.runs for row in daily) == len([run for run in runs if run.model is not None])
    return {"calls": sorted((call.purpose, call.status) for call in calls), "cost": cost, "runs": runs}


async def asked(tmp_path: Path, acts: Sequence[Act], status: RunStatus, **question: Any) -> dict[str, Any]:
    """Ask an agent whose server acts like this."""
    with service(*acts) as server:
        async with hosting(tmp_path, models=house(server.url)) as hosted:
            agent = await hosted.agent(configuration={"model": "house:m", "tools": ["desk.*"]}, **AT_HOUSE)
            run = await hosted.ended(await hosted.ask(agent, **question))
            assert run.status is status, run.error
            return await agree(hosted)


async def test_rounds_with_tools(tmp_path: Path) -> None:
    found = await asked(tmp_path, [CALL, HELLO], RunStatus.COMPLETED)
    assert found["calls"] == [("answer", "answered")] * 2
    assert found["cost"] == 2 * ONE


async def test_a_server_that_is_busy_and_then_answers(tmp_path: Path) -> None:
    found = await asked(tmp_path, [answer(status=429), answer(status=500), HELLO], RunStatus.COMPLETED)
    assert (found["calls"], found["cost"]) == ([("answer", "answered")], ONE)


async def test_a_server_that_refuses(tmp_path: Path) -> None:
    found = await asked(tmp_path, [CALL, answer(status=401)], RunStatus.FAILED)
    assert (found["calls"], found["cost"]) == ([("answer", "answered"), ("answer", "failed")], ONE)


async def test_a_stream_that_is_cut_and_answered_again(tmp_path: Path) -> None:
    found = await asked(tmp_path, [CUT, HELLO], RunStatus.COMPLETED)
    assert found["calls"] == [("answer", "answered"), ("answer", "unknown")]
    assert found["cost"] > ONE
    (run,) = found["runs"]
    assert run.usage_estimated


SCHEMA = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"], "additionalProperties": False}


async def test_a_structured_answer_that_fails(tmp_path: Path) -> None:
    found = await asked(tmp_path, [HELLO, *[whole("three")] * 3], RunStatus.FAILED, output_schema=SCHEMA)
    assert (found["calls"], found["cost"]) == ([("answer", "answered")] * 4, 4 * ONE)


async def test_a_structured_answer_with_a_repair(tmp_path: Path) -> None:
    found = await asked(tmp_path, [HELLO, whole("three"), whole('{"sum": 3}')], RunStatus.COMPLETED, output_schema=SCHEMA)
    assert (found["calls"], found["cost"]) == ([("answer", "answered")] * 3, 3 * ONE)


async def test_an_answer_that_is_cancelled(tmp_path: Path) -> None:
    with service(BEGUN) as server:
        async with hosting(tmp_path, models=house(server.url)) as hosted:
            agent = await hosted.agent(configuration={"model": "house:m"}, **AT_HOUSE)
            question = await hosted.ask(agent)
            await streaming(hosted, question)
            await cancel_run(hosted.resources, hosted.context(), question.thread_uuid, question.run_uuid)
            async with asyncio.timeout(30):
                while not (await hosted.run_of(question)).usage_estimated:
                    await asyncio.sleep(0)
            found = await agree(hosted)
    assert found["calls"] == [("answer", "unknown")]
    assert found["cost"] > 0


async def streaming(hosted: Hosted, question: Any) -> None:
    """Wait for the first words of an answer."""
    job_id = UUID((await hosted.run_of(question)).job_id or "")
    async for update in follow_async(hosted.resources.queue, job_id):
        if any(event.get("delta") for event in update.events):
            return


async def test_summaries_and_judges_are_paid_by_their_runs(tmp_path: Path) -> None:
    verdict = whole('{"passed": true, "reason": "It is."}')
    with service(HELLO, HELLO, HELLO, verdict) as server:
        async with hosting(tmp_path, models=house(server.url), judge_model="house:m") as hosted:
            agent = await hosted.agent(configuration={"model": "house:m"}, num_of_messages=4, **AT_HOUSE)
            thread = await long_thread(hosted, agent, 12)
            await hosted.ended(await hosted.ask(agent, thread_uuid=thread.thread_uuid))
            await ended_jobs(hosted, thread.thread_uuid)
            context, store = hosted.context(), hosted.resources.store
            kept = await save_set(store, context, "Manners", [Case(question="Hi", checks=[Judged(criterion="It is polite.")])])
            evaluation = await begin_evaluation(hosted.resources, context, kept.evaluation_set_uuid, agent.agent_uuid)
            async for _ in follow_async(hosted.resources.queue, UUID(evaluation.job_id or "")):
                pass
            found = await agree(hosted)
    assert found["calls"] == [("answer", "answered")] * 2 + [("evaluation", "answered"), ("summary", "answered")]
    assert (found["cost"], sorted(run.cost or 0 for run in found["runs"])[-2:]) == (4 * ONE, [2 * ONE] * 2)


async def ended_jobs(hosted: Hosted, subject: str) -> None:
    question = hosted.resources.queue.tables.job.of_subject(subject=subject)
    for job in [job async for job in hosted.resources.store.query(question)]:
        async for _ in follow_async(hosted.resources.queue, job.job_id):
            pass


async def killed(hosted: Hosted, folder: Path, question: Any, url: str) -> None:
    """Have a worker die by SIGKILL when the first words of an answer are stored."""
    command = [sys.executable, "-m", "tests.apps.agents.running.mortal_worker"]
    command += [str(folder), question.thread_uuid, question.run_uuid, "call", url]
    ended = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == -9, ended.stderr
    assert "open" in [call.status async for call in hosted.host.store.export(ModelCall)]


@pytest.mark.crash
async def test_workers_that_are_killed_in_the_middle_of_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = f"embedded:{tmp_path}/store?durability=relaxed"
    with service(BEGUN, HELLO, BEGUN) as server:
        async with hosting(tmp_path, work=False, store=store, models=house(server.url)) as hosted:
            agent = await hosted.agent(configuration={"model": "house:m", "max_tokens": 100}, **AT_HOUSE)
            question = await hosted.ask(agent)
            await killed(hosted, tmp_path, question, server.url)
            async with hosted.working(lease=LEASE):
                run = await hosted.ended(question)
            assert (run.status, run.attempts, run.usage_estimated) == (RunStatus.COMPLETED, 2, True)
            found = await agree(hosted)
            assert found["calls"] == [("answer", "answered"), ("answer", "unknown")]
            # Nobody answers this one again: its run is cancelled while no worker is there.
            abandoned = await hosted.ask(agent)
            await killed(hosted, tmp_path, abandoned, server.url)
            await cancel_run(hosted.resources, hosted.context(), abandoned.thread_uuid, abandoned.run_uuid)
            assert await settle_lost(hosted.resources) == 0
            monkeypatch.setattr(spending, "_LOST_AFTER_SECONDS", -1_000.0)
            assert await settle_lost(hosted.resources) == 1
            assert (await agree(hosted))["calls"] == [("answer", "answered"), *[("answer", "unknown")] * 2]
            cancelled = await hosted.run_of(abandoned)
            assert (cancelled.status, cancelled.usage_estimated, cancelled.cost is not None) == (RunStatus.CANCELLED, True, True)
