"""Asking agents: questions, their runs, and a subscription that follows a run."""

from collections.abc import AsyncIterator
from typing import Any

import strawberry
from pydantic import ValidationError
from strawberry.types.unset import UNSET

from gateleg.apps.agents.errors import NotFoundInPartition
from gateleg.apps.agents.graphql.calls import Call, Info
from gateleg.apps.agents.graphql.fields import SavePayload, resolver_field, save_payload_type, stored_arguments, subscription_field
from gateleg.apps.agents.graphql.input_files import read_input_files
from gateleg.apps.agents.graphql.scalars import JSON, Verbatim
from gateleg.apps.agents.graphql.thread_types import AskModelType, RunType
from gateleg.apps.agents.items import refused
from gateleg.apps.agents.running.approvals import Decision, decide_calls
from gateleg.apps.agents.running.frame_stream import follow_run
from gateleg.apps.agents.running.frames import Frame
from gateleg.apps.agents.running.questions import Question
from gateleg.apps.agents.running.run_end import cancel_run, retry_run
from gateleg.apps.agents.running.submission import TASK_FUNCTION, ask
from gateleg.apps.agents.running.threads import find_run
from gateleg.apps.agents.thread_tables import AsyncTask, RunStatus

_TRIED_AGAIN = (RunStatus.FAILED, RunStatus.EXPIRED)


@strawberry.type(name="FrameType", description="One piece of a run's stream.")
class FrameType:
    """A frame."""

    index: int = strawberry.field(description="Its position in the run's stream, from 0 without gaps.")
    kind: str = strawberry.field(description="status, text, reasoning, call, result, message, restart or end.")
    delta: str = strawberry.field(description="For `text` and `reasoning`: the next characters.")
    step: int = strawberry.field(description="The number of its model reply, from 1.")
    status: str = strawberry.field(description="The status of the run or tool call.")
    id: str = strawberry.field(description="The id of the message or of the tool call.")
    name: str = strawberry.field(description="The name of the tool.")

    @resolver_field(JSON | None)
    def data(root: strawberry.Parent[Frame]) -> Any:
        """The arguments of a call, its result, or at the end usage, cost and error."""
        return Verbatim(root.data) if isinstance(root.data, dict) and root.kind in ("call", "result") else root.data


@strawberry.type(name="ExecuteAskModel", description="Whether the question of a task is being or was answered.")
class ExecuteAskModel:
    """The payload of executeAskModel."""

    ok: bool


CancelRun = save_payload_type("CancelRun", "run", RunType)
RetryRun = save_payload_type("RetryRun", "run", RunType)
DecideToolCalls = save_payload_type("DecideToolCalls", "run", RunType)


async def ask_model(
    self: Any,
    info: Info,
    agent_uuid: str,
    user_query: str,
    thread_uuid: str | None = UNSET,
    user_id: str | None = UNSET,
    input_files: list[JSON | None] | None = UNSET,
    stream: bool | None = UNSET,
    thread_life_minutes: int | None = UNSET,
    updated_by: str | None = UNSET,
    idempotency_key: str | None = UNSET,
    policy: str | None = UNSET,
    output_schema: JSON | None = UNSET,
    options: JSON | None = UNSET,
) -> dict[str, str]:
    """Ask an agent. A worker writes the answer: query `asyncTask` for it, or follow the run with the subscription `runFrames`.

    Without `threadUuid`, the most recent thread of the caller and `userId` with the agent is continued, if it is recent enough. Every
    answer is streamed, so `stream` has no effect. `policy` determines what happens to a question while the thread answers another: reject,
    enqueue or interrupt.
    """
    call = info.context
    asked = {
        name: value
        for name, value in stored_arguments(locals(), clearing=False).items()
        if value is not None and name not in ("call", "stream")
    }
    asked["input_files"] = await read_input_files(call, asked.get("input_files") or [])
    try:
        question = Question(**{"updated_by": call.context.principal.name, **asked})
    except ValidationError as error:
        raise refused(error) from None
    found = await ask(call.resources, call.context, question)
    return {
        "agent_uuid": found.agent_uuid,
        "thread_uuid": found.thread_uuid,
        "user_query": user_query,
        "function_name": TASK_FUNCTION,
        "async_task_uuid": found.async_task_uuid,
        "current_run_uuid": found.run_uuid,
    }


@strawberry.type
class AskingQueries:
    """`askModel` as a query, for clients of the public engine."""

    ask_model = resolver_field(AskModelType, deprecated="It changes data: use the mutation of the same name.")(ask_model)


@strawberry.type
class AskingMutations:
    """Mutations that ask agents and control runs."""

    ask_model = resolver_field(AskModelType)(ask_model)

    @resolver_field(ExecuteAskModel)
    async def execute_ask_model(self, info: Info, arguments: JSON, async_task_uuid: str) -> dict[str, bool]:
        """Retry the question of a task if its run failed or expired; otherwise the queue answers it without this.

        `arguments` are ignored, because the task has them; they are accepted for clients of the public engine.
        """
        call = info.context
        run = await _run_of(call, async_task_uuid)
        if run.status in _TRIED_AGAIN:
            run = await retry_run(call.resources, call.context, run.thread_uuid, run.run_uuid)
        return {"ok": run.status is not RunStatus.CANCELLED}

    @resolver_field(CancelRun)
    async def cancel_run(self, info: Info, thread_uuid: str, run_uuid: str) -> SavePayload:
        """Cancel a run that has not ended."""
        return SavePayload(await cancel_run(info.context.resources, info.context.context, thread_uuid, run_uuid))

    @resolver_field(RetryRun)
    async def retry_run(self, info: Info, thread_uuid: str, run_uuid: str) -> SavePayload:
        """Retry a failed or expired run from where it stopped."""
        return SavePayload(await retry_run(info.context.resources, info.context.context, thread_uuid, run_uuid))

    @resolver_field(DecideToolCalls)
    async def decide_tool_calls(self, info: Info, thread_uuid: str, run_uuid: str, decisions: list[JSON]) -> SavePayload:
        """Approve or deny pending tool calls: `[{toolCallUuid, approve, reason}]`. The run continues when all are decided."""
        try:
            found = [Decision.model_validate(one) for one in stored_arguments({"decisions": decisions})["decisions"]]
        except ValidationError as error:
            raise refused(error) from None
        return SavePayload(await decide_calls(info.context.resources, info.context.context, thread_uuid, run_uuid, found))


@strawberry.type
class Subscription:
    """Subscriptions."""

    @subscription_field(FrameType)
    async def run_frames(self, info: Info, thread_uuid: str, run_uuid: str, after: int = -1) -> AsyncIterator[Frame]:
        """The frames of a run after an index (-1 for all), as they are written. The last one ends the run."""
        call = info.context
        async for frame in await follow_run(call.resources, call.context, thread_uuid, run_uuid, after=after):
            yield frame


async def _run_of(call: Call, async_task_uuid: str) -> Any:
    """The run of a task that the caller may see. Raises `NotFoundInPartition`."""
    task = await call.loaders.find(AsyncTask, async_task_uuid=async_task_uuid)
    place = {} if task is None else task.arguments or {}
    if "run_uuid" not in place:
        raise NotFoundInPartition(f"There is no task {async_task_uuid!r} with a question.")
    return await find_run(call.store, call.context, place["thread_uuid"], place["run_uuid"])
