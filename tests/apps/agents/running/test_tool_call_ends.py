"""Tool calls of runs that have ended: none stays open."""

from collections.abc import Sequence

from gateleg.apps.agents.running.run_end import cancel_run
from gateleg.apps.agents.thread_tables import RunStatus, ToolCallStatus
from tests.apps.agents.running.hosted import Hosted, calling

TOOLS = {"tools": ["desk.*"]}
WAITING, ADDING = ("desk_wait", '{"a":1,"b":2}'), ("desk_add", '{"a":1,"b":2}')


async def states(hosted: Hosted, asked: object) -> Sequence[ToolCallStatus]:
    return sorted(call.status for call in (await hosted.transcript(asked)).calls)  # type: ignore[arg-type]


async def test_calls_of_a_cancelled_run_are_cancelled(hosted: Hosted) -> None:
    agent = await hosted.agent(calling(WAITING, ADDING), configuration={**TOOLS, "require_approval": ["desk_add"]})
    asked = await hosted.ask(agent)
    await hosted.desk.here.wait()
    assert await states(hosted, asked) == ["in_progress", "requires_approval"]
    await cancel_run(hosted.resources, hosted.context(), asked.thread_uuid, asked.run_uuid)
    assert await states(hosted, asked) == ["cancelled", "cancelled"]
    hosted.desk.go.set()
    assert (await hosted.ended(asked)).status is RunStatus.CANCELLED
    assert await states(hosted, asked) == ["cancelled", "cancelled"]


async def test_calls_of_an_interrupted_run_are_cancelled(hosted: Hosted) -> None:
    agent = await hosted.agent(calling(WAITING), "Again.", configuration=TOOLS)
    first = await hosted.ask(agent)
    await hosted.desk.here.wait()
    second = await hosted.ask(agent, "Second?", thread_uuid=first.thread_uuid, policy="interrupt")
    assert await states(hosted, first) == ["cancelled"]
    hosted.desk.go.set()
    ended = await hosted.ended(second)
    assert ended.status is RunStatus.COMPLETED, ended.error


async def test_calls_beyond_the_limit_are_cancelled_and_the_error_has_a_code(hosted: Hosted) -> None:
    agent = await hosted.agent(calling(ADDING), calling(ADDING), configuration={**TOOLS, "tool_steps": 1})
    asked = await hosted.ask(agent)
    run = await hosted.ended(asked)
    assert (run.status, run.error_code) == (RunStatus.FAILED, "too-many-steps")
    assert await states(hosted, asked) == [ToolCallStatus.CANCELLED, ToolCallStatus.COMPLETED]
