"""How runs are answered: tools, approval, ends of every kind, structured answers, files, substitutes."""

from importlib.metadata import EntryPoint
from pathlib import Path
from uuid import UUID

import pytest

from gateleg.ai import AiError, KeyMissing, Reply, ToolResult, User
from gateleg.ai.errors import ModelRefused
from gateleg.apps.agents.errors import CallsUndecided, NotFoundInPartition, NotWaiting, RunEnded
from gateleg.apps.agents.running.approvals import Decision, decide_calls
from gateleg.apps.agents.running.expiry import expire_overdue
from gateleg.apps.agents.running.files import store_question_file
from gateleg.apps.agents.running.frames import reply_text
from gateleg.apps.agents.running.handlers import registry
from gateleg.apps.agents.running.run_end import cancel_run, retry_run
from gateleg.apps.agents.running.run_work import RunWork
from gateleg.apps.agents.tables import Thread
from gateleg.apps.agents.thread_tables import AsyncTask, Run, RunStatus, TaskStatus, ToolCallStatus
from gateleg.jobs import JobStatus, follow_async
from tests.apps.agents.running.hosted import BOB, Hosted, ScriptedHandler, calling, hosting

SUM = ("desk_add", '{"a":2,"b":3}')
TOOLS = {"tools": ["desk.*"]}


async def test_tools_are_called_with_the_rights_of_whoever_asks(hosted: Hosted) -> None:
    agent = await hosted.agent(calling(SUM, ("desk_add", '{"a":20,"b":30}'), text="Let me see."), "Five and fifty.", configuration=TOOLS)
    asked = await hosted.ask(agent)
    frames = await hosted.frames(asked)
    assert reply_text(frames) == "Five and fifty."
    calls = (await hosted.transcript(asked)).calls
    assert [(call.name, call.tool_type, call.content, call.status) for call in calls] == [
        ("desk.add", "application", "5", ToolCallStatus.COMPLETED),
        ("desk.add", "application", "50", ToolCallStatus.COMPLETED),
    ]
    assert {name for name, _ in hosted.desk.calls} == {"ann"}
    kinds = [frame.kind for frame in frames]
    assert (kinds.count("call"), kinds.count("result"), kinds.count("message")) == (2, 2, 2)
    results = [message for message in hosted.script(agent).requests[1].messages if isinstance(message, ToolResult)]
    assert [(one.name, one.text) for one in results] == [("desk_add", "5"), ("desk_add", "50")]
    # What needs a role that the user does not have is not even offered.
    assert [tool.name for tool in hosted.script(agent).requests[0].tools] == [
        "desk_add",
        "desk_wait",
        "desk_opening_hours",
        "desk_letter",
        "desk_today",
    ]


async def test_calls_of_one_reply_are_made_side_by_side(hosted: Hosted) -> None:
    wish = '{"a":1,"b":1}'
    agent = await hosted.agent(calling(("desk_wait", wish), ("desk_add", wish)), "Done.", configuration=TOOLS)
    asked = await hosted.ask(agent)
    await hosted.desk.here.wait()
    # The second is made while the first one waits.
    await hosted.desk.added.wait()
    hosted.desk.go.set()
    assert (await hosted.ended(asked)).status is RunStatus.COMPLETED


async def test_what_goes_wrong_with_a_tool_is_told_to_the_model(hosted: Hosted) -> None:
    wishes = calling(("desk_add", '{"a":"x"}'), ("desk_add", "not JSON"), ("desk_dismiss", '{"a":1,"b":1}'), ("nothing", "{}"))
    agent = await hosted.agent(wishes, "Sorry.", configuration=TOOLS)
    asked = await hosted.ask(agent)
    assert (await hosted.ended(asked)).status is RunStatus.COMPLETED
    calls = (await hosted.transcript(asked)).calls
    assert {call.status for call in calls} == {ToolCallStatus.FAILED}
    assert [call.content and call.content.partition(":")[0] for call in calls] == [
        "The arguments are refused",
        "The arguments of the call to desk.add are not JSON",
        "There is no tool desk_dismiss. Tools",
        "There is no tool nothing. Tools",
    ]
    assert hosted.desk.calls == []


async def test_a_model_that_only_calls_tools_ends_after_so_many_steps(hosted: Hosted) -> None:
    agent = await hosted.agent(*[calling(SUM)] * 3, configuration={**TOOLS, "tool_steps": 2})
    asked = await hosted.ask(agent)
    run = await hosted.ended(asked)
    assert (run.status, run.error) == (RunStatus.FAILED, "The model called tools 3 times without answering; the limit is 2.")
    prompts = hosted.script(agent).requests
    assert [bool(prompt.tools) for prompt in prompts] == [True, True, False]
    assert len(hosted.desk.calls) == 2


async def test_a_run_waits_for_approval_without_a_worker(hosted: Hosted) -> None:
    agent = await hosted.agent(calling(SUM, SUM), "Five.", configuration={**TOOLS, "require_approval": ["desk.add"]})
    asked = await hosted.ask(agent)
    run = await hosted.ended(asked)
    assert run.status is RunStatus.REQUIRES_ACTION
    assert run.required_action is not None
    first, second = (one["tool_call_uuid"] for one in run.required_action["tool_calls"])
    before = await hosted.frames(asked)
    assert (before[-1].kind, before[-1].status, hosted.desk.calls) == ("end", "requires_action", [])
    # Nobody works on it.
    updates = [update async for update in follow_async(hosted.resources.queue, UUID(run.job_id or ""))]
    assert updates[-1].job.status is JobStatus.COMPLETED

    resources, context, place = hosted.resources, hosted.context(), (asked.thread_uuid, asked.run_uuid)
    with pytest.raises(NotFoundInPartition):
        await decide_calls(resources, hosted.context(BOB), *place, [Decision(tool_call_uuid=first, approve=True)])
    with pytest.raises(CallsUndecided):
        await decide_calls(resources, context, *place, [Decision(tool_call_uuid="none", approve=True)])
    run = await decide_calls(resources, context, *place, [Decision(tool_call_uuid=first, approve=True)])
    assert run.status is RunStatus.REQUIRES_ACTION
    with pytest.raises(NotWaiting):
        await decide_calls(resources, context, *place, [Decision(tool_call_uuid=first, approve=True)])
    await decide_calls(resources, context, *place, [Decision(tool_call_uuid=second, approve=False, reason="Once is enough.")])
    assert (await hosted.ended(asked)).status is RunStatus.COMPLETED
    calls = (await hosted.transcript(asked)).calls
    assert [(call.status, call.decided_by) for call in calls] == [(ToolCallStatus.COMPLETED, "ann"), (ToolCallStatus.DENIED, "ann")]
    assert len(hosted.desk.calls) == 1
    results = [one.text for one in hosted.script(agent).requests[1].messages if isinstance(one, ToolResult)]
    assert results == ["5", "The user has denied this call. Once is enough."]
    # The stream goes on where it was, over both jobs of the run.
    after = await hosted.frames(asked)
    assert after[: len(before) - 1] == before[:-1]
    assert after[len(before) - 1] == before[-1].model_copy(update={"kind": "status"})
    assert sum(frame.ends for frame in after) == 1
    assert [frame.index for frame in after] == list(range(len(after)))
    assert await hosted.frames(asked, after=before[-1].index) == after[len(before) :]
    with pytest.raises(NotWaiting):
        await decide_calls(resources, context, *place, [Decision(tool_call_uuid=first, approve=True)])


async def test_a_host_can_demand_approval(tmp_path: Path) -> None:
    async with hosting(tmp_path, approve="desk.a*") as hosted:
        agent = await hosted.agent(calling(SUM), configuration=TOOLS)
        assert (await hosted.ended(await hosted.ask(agent))).status is RunStatus.REQUIRES_ACTION


async def test_a_run_is_cancelled_and_its_thread_goes_on(hosted: Hosted) -> None:
    agent = await hosted.agent(calling(("desk_wait", '{"a":1,"b":1}')), "Next.", configuration=TOOLS)
    asked = await hosted.ask(agent)
    waiting = await hosted.ask(agent, "Next?", thread_uuid=asked.thread_uuid, policy="enqueue")
    await hosted.desk.here.wait()
    with pytest.raises(NotFoundInPartition):
        await cancel_run(hosted.resources, hosted.context(BOB), asked.thread_uuid, asked.run_uuid)
    run = await cancel_run(hosted.resources, hosted.context(), asked.thread_uuid, asked.run_uuid)
    assert (run.status, (await hosted.frames(asked))[-1].status) == (RunStatus.CANCELLED, "cancelled")
    assert (await hosted.ended(waiting)).status is RunStatus.COMPLETED
    with pytest.raises(RunEnded):
        await cancel_run(hosted.resources, hosted.context(), asked.thread_uuid, asked.run_uuid)


async def test_a_failed_run_is_tried_again_from_what_it_had_done(hosted: Hosted) -> None:
    refused = ModelRefused("The model says no.")
    agent = await hosted.agent(calling(SUM), refused, "Five.", configuration=TOOLS)
    asked = await hosted.ask(agent)
    run = await hosted.ended(asked)
    assert (run.status, run.error) == (RunStatus.FAILED, refused.public_text)
    task = await hosted.resources.store.get(AsyncTask, partition=run.partition, async_task_uuid=asked.async_task_uuid)
    assert task.status is TaskStatus.FAILED
    assert "Traceback" not in (task.notes or "")
    await retry_run(hosted.resources, hosted.context(), asked.thread_uuid, asked.run_uuid)
    run = await hosted.ended(asked)
    assert (run.status, run.error, len(hosted.desk.calls)) == (RunStatus.COMPLETED, None, 1)
    with pytest.raises(RunEnded):
        await retry_run(hosted.resources, hosted.context(), asked.thread_uuid, asked.run_uuid)


async def test_a_run_that_takes_too_long_expires(hosted: Hosted) -> None:
    agent = await hosted.agent(calling(("desk_wait", '{"a":1,"b":1}')), configuration=TOOLS)
    asked = await hosted.ask(agent, seconds=1)
    run = await hosted.ended(asked)
    assert (run.status, run.error) == (RunStatus.EXPIRED, "The run expired: it took too long.")


async def test_runs_that_nobody_works_on_are_swept(idle: Hosted) -> None:
    store = idle.resources.store
    agent = await idle.agent()
    late, young = await idle.ask(agent), await idle.ask(agent)
    run = await idle.run_of(late)
    await store.patch(run, Run.deadline.set(run.created_at.replace(year=2020)))
    assert await expire_overdue(idle.resources) == 1
    assert [(await idle.run_of(one)).status for one in (late, young)] == [RunStatus.EXPIRED, RunStatus.QUEUED]
    thread = await store.get(Thread, partition=run.partition, thread_uuid=late.thread_uuid)
    assert thread.current_run_uuid is None
    assert await expire_overdue(idle.resources) == 0


async def test_a_message_ends_the_run_before_it_whose_time_is_up(hosted: Hosted) -> None:
    agent = await hosted.agent(calling(SUM), "Hello.", configuration={**TOOLS, "require_approval": "always"})
    asked = await hosted.ask(agent)
    run = await hosted.ended(asked)
    await hosted.resources.store.patch(run, Run.deadline.set(run.created_at.replace(year=2020)))
    again = await hosted.ask(agent, "Again?", thread_uuid=asked.thread_uuid)
    assert [(await hosted.ended(one)).status for one in (asked, again)] == [RunStatus.EXPIRED, RunStatus.COMPLETED]


SCHEMA = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"], "additionalProperties": False}


async def test_an_answer_has_the_structure_that_was_asked_for(hosted: Hosted) -> None:
    agent = await hosted.agent(calling(SUM), "It is five.", '{"sum": "five"}', '{"sum": 5}', configuration=TOOLS)
    asked = await hosted.ask(agent, output_schema=SCHEMA)
    run = await hosted.ended(asked)
    assert (run.status, run.output) == (RunStatus.COMPLETED, {"sum": 5})
    assert reply_text(await hosted.frames(asked)) == '{"sum":5}'


async def test_files_go_along_with_the_question(hosted: Hosted) -> None:
    file = await store_question_file(hosted.resources, hosted.context(), "../notes.txt", "text/plain", b"Tea at four.")
    agent = await hosted.agent("I see.")
    assert (await hosted.ended(await hosted.ask(agent, input_files=[file]))).status is RunStatus.COMPLETED
    (said,) = hosted.script(agent).requests[0].turns
    assert isinstance(said, User)
    assert [(file.name, getattr(file, "data", None)) for file in said.files] == [("../notes.txt", b"Tea at four.")]


async def test_nobody_sends_the_file_of_another(idle: Hosted) -> None:
    file = await store_question_file(idle.resources, idle.context(), "notes.txt", "text/plain", b"Tea at four.")
    agent = await idle.agent()
    with pytest.raises(NotFoundInPartition):
        await idle.ask(agent, principal=BOB, input_files=[file])
    for key in ("agents/none", file.object_key + "x", f"{file.object_key}/../../other"):
        with pytest.raises(NotFoundInPartition):
            await idle.ask(agent, input_files=[file.model_copy(update={"object_key": key})])


async def test_the_local_model_answers_where_another_cannot_be_reached(hosted: Hosted) -> None:
    pytest.importorskip("xllamacpp")
    configuration = {"fallback_models": ["local:smollm2"], "max_tokens": 8, "seed": 1}
    agent = await hosted.agent(KeyMissing("There is no key."), configuration=configuration)
    asked = await hosted.ask(agent, "Say hello.")
    run = await hosted.ended(asked)
    assert (run.status, run.model) == (RunStatus.COMPLETED, "local:smollm2")
    assert 0 < run.completion_tokens <= 8
    assert reply_text(await hosted.frames(asked)) == (await hosted.transcript(asked)).messages[1].message != ""


async def test_a_model_that_fails_fails_the_run(hosted: Hosted) -> None:
    error: AiError = KeyMissing("There is no key.")
    run = await hosted.ended(await hosted.ask(await hosted.agent(error)))
    assert (run.status, run.error) == (RunStatus.FAILED, error.public_text)


async def test_an_agent_with_an_unknown_handler_fails_with_a_reason(hosted: Hosted) -> None:
    run = await hosted.ended(await hosted.ask(await hosted.agent(llm=("os.system", "x"))))
    assert run.status is RunStatus.FAILED
    assert "no handler 'os.system'" in (run.error or "")


async def test_a_key_in_clear_is_refused_and_a_secret_is_used(hosted: Hosted) -> None:
    run = await hosted.ended(await hosted.ask(await hosted.agent("Hi.", configuration={"api_key": "sk-1"})))
    assert (run.status, "unencrypted api_key" in (run.error or "")) == (RunStatus.FAILED, True)
    await hosted.resources.secrets.put("key", "sk-2", tenant="local#acme")
    run = await hosted.ended(await hosted.ask(await hosted.agent("Hi.", configuration={"api_key": "secret:key"})))
    assert run.status is RunStatus.COMPLETED


async def test_a_planner_calls_the_nearest_tool_and_the_answer_quotes_it(hosted: Hosted) -> None:
    pytest.importorskip("tokenizers")
    configuration = {**TOOLS, "planner": "nearest", "quote_tools": True}
    agent = await hosted.agent("From nine to five.", Reply("I do not know."), configuration=configuration)
    asked = await hosted.ask(agent, "At what time does the office open?")
    assert (await hosted.ended(asked)).status is RunStatus.COMPLETED
    (call,) = (await hosted.transcript(asked)).calls
    assert (call.name, call.arguments) == ("desk.opening_hours", '{"question":"At what time does the office open?"}')
    answer = reply_text(await hosted.frames(asked))
    quoted = "From desk.opening_hours:\n> The office is open from 9 to 17 on weekdays."
    assert answer == f"{quoted}\n\nIn the words of the model, which may be wrong: From nine to five."
    assert (await hosted.transcript(asked)).messages[-1].message == answer
    # The model is asked to answer, and not to call: what was looked up stands with the question.
    (prompt,) = hosted.script(agent).requests
    fact = "The office is open from 9 to 17 on weekdays."
    assert (prompt.tools, prompt.messages) == ((), (User(f"{fact}\n\nAt what time does the office open?"),))
    other = await hosted.ask(agent, "Purple monkeys sing loudly")
    assert (await hosted.ended(other)).status is RunStatus.COMPLETED
    assert (await hosted.transcript(other)).calls == ()


class SmallHandler(ScriptedHandler):
    """A handler of models that are too small to choose tools."""

    small = True


async def test_a_small_model_has_its_tools_chosen_and_quoted_unless_told_otherwise(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tokenizers")
    point = EntryPoint("small", f"{__name__}:SmallHandler", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "_registered", lambda: {"small": point})
    waiting = await hosted.agent("From nine.", llm=("small", "s"), configuration={"tools": ["*"], "require_approval": "always"})
    asked = await hosted.ask(waiting, "At what time does the office open?")
    assert (await hosted.ended(asked)).status is RunStatus.REQUIRES_ACTION
    (call,) = (await hosted.transcript(asked)).calls
    decision = Decision(tool_call_uuid=call.tool_call_uuid, approve=True)
    await decide_calls(hosted.resources, hosted.context(), asked.thread_uuid, asked.run_uuid, [decision])
    assert (await hosted.ended(asked)).status is RunStatus.COMPLETED
    assert "The office is open from 9 to 17 on weekdays." in (await hosted.transcript(asked)).messages[-1].message
    plain = await hosted.agent("From nine.", llm=("small", "s"), configuration={"tools": ["*"], "planner": "none"})
    other = await hosted.ask(plain, "At what time does the office open?")
    assert (await hosted.ended(other)).status is RunStatus.COMPLETED
    assert (await hosted.transcript(other)).calls == ()


async def test_history_of_the_caller_replaces_that_of_the_thread(hosted: Hosted) -> None:
    agent = await hosted.agent("Tea.", instructions="Be kind.")
    asked = await hosted.ask(agent, "And now?", history=[{"role": "user", "text": "I like tea."}, {"role": "assistant", "text": "Good."}])
    await hosted.ended(asked)
    assert [message.text for message in hosted.script(agent).requests[0].messages] == ["Be kind.", "I like tea.", "Good.", "And now?"]


async def test_an_answer_quotes_what_tools_have_said(hosted: Hosted) -> None:
    agent = await hosted.agent(calling(SUM), "Five.", configuration={**TOOLS, "quote_tools": True})
    asked = await hosted.ask(agent)
    assert reply_text(await hosted.frames(asked)) == "Five.\n\nFrom desk.add:\n> 5"


async def test_a_run_that_somebody_else_changes_meanwhile_is_answered_once(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    read, reads = RunWork.read_run, 0

    async def overtaken(work: RunWork) -> Run:
        """Another writer changes the run after every other look at it."""
        nonlocal reads
        run = await read(work)
        reads += 1
        if reads % 2:
            await work.resources.store.patch(run, Run.updated_by.set("another"))
        return run

    monkeypatch.setattr(RunWork, "read_run", overtaken)
    agent = await hosted.agent(calling(SUM), "Five.", configuration=TOOLS)
    asked = await hosted.ask(agent)
    assert (await hosted.ended(asked)).status is RunStatus.COMPLETED
    assert [message.message for message in (await hosted.transcript(asked)).messages] == ["Hello?", "", "Five."]
    assert (reads, len(hosted.script(agent).requests), len(hosted.desk.calls)) == (4, 2, 1)
