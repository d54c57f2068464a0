"""Types of conversations: threads, runs, messages, tool calls; and tasks, fine-tuning messages and files."""

from datetime import datetime
from typing import Any

import strawberry
from strawberry.types.unset import UNSET

from gateleg.apps.agents.graphql.agent_types import AgentType, TenantType, TimesType
from gateleg.apps.agents.graphql.calls import Info
from gateleg.apps.agents.graphql.enums import RunStatus, TaskStatus, ToolCallStatus
from gateleg.apps.agents.graphql.fields import resolver_field
from gateleg.apps.agents.graphql.listings import PageType
from gateleg.apps.agents.graphql.scalars import JSON, Verbatim
from gateleg.apps.agents.graphql.transcripts import tool_calls_of, transcript_of
from gateleg.apps.agents.tables import Agent, Thread
from gateleg.apps.agents.thread_tables import FineTuningMessage, Message, Run, ToolCall


@strawberry.type(name="ThreadType", description="A conversation of a user with an agent.")
class ThreadType(TenantType):
    """A thread."""

    thread_uuid: str
    agent_uuid: str
    user_id: str | None
    created_at: datetime
    updated_at: datetime
    title: str | None
    metadata: JSON | None
    agent_version_uuid: str | None = strawberry.field(description="The version that answers, if not the active one.")
    current_run_uuid: str | None = strawberry.field(description="The active run.")

    @resolver_field(AgentType | None)
    async def agent(root: strawberry.Parent[Thread], info: Info) -> Agent | None:
        """The version of the agent that answers: the active one, unless the thread is pinned to another."""
        loaders = info.context.loaders
        if root.agent_version_uuid is not None:
            return await loaders.find(Agent, agent_version_uuid=root.agent_version_uuid)
        return await loaders.find_active(Agent, root.agent_uuid)

    @resolver_field(list[JSON])
    async def messages(root: strawberry.Parent[Thread], info: Info, limit: int | None = UNSET) -> list[dict[str, Any]]:
        """The newest messages and tool calls, oldest first. Tool calls have the role `toolCallRole` of the agent."""
        return await transcript_of(info.context, root, limit or None)

    @resolver_field(list[JSON])
    async def tool_calls(root: strawberry.Parent[Thread], info: Info, limit: int | None = UNSET) -> list[dict[str, Any]]:
        """The newest tool calls, oldest first."""
        return await tool_calls_of(info.context, root, limit or None)


@strawberry.type(name="RunType", description="One question to an agent, until it is answered.")
class RunType(TimesType):
    """A run."""

    thread_uuid: str
    partition_key: str
    run_uuid: str
    run_id: str | None = strawberry.field(description="The provider's own id.")
    completion_tokens: int
    prompt_tokens: int
    total_tokens: int
    time_spent: int | None = strawberry.field(description="Milliseconds.")
    status: RunStatus
    agent_uuid: str | None
    agent_version_uuid: str | None = strawberry.field(description="The version that was active when the run started.")
    model: str | None
    error: str | None = strawberry.field(description="Why it failed.")
    required_action: JSON | None = strawberry.field(description="The pending decision of a suspended run.")
    async_task_uuid: str | None
    started_at: datetime | None
    finished_at: datetime | None

    @resolver_field(float | None)
    def cost(root: strawberry.Parent[Run]) -> float | None:
        """US dollars, by the prices of the settings."""
        return None if root.known_cost is None else float(root.known_cost)

    @resolver_field(JSON | None)
    def output(root: strawberry.Parent[Run]) -> Any:
        """The structured answer, with the property names of the requested schema."""
        return None if root.output is None else Verbatim(root.output)

    @resolver_field(ThreadType | None)
    async def thread(root: strawberry.Parent[Run], info: Info) -> Thread | None:
        """Its thread."""
        return await info.context.loaders.find(Thread, thread_uuid=root.thread_uuid)


@strawberry.type(name="MessageType", description="A message in a thread.")
class MessageType(TimesType):
    """A message."""

    thread_uuid: str
    message_uuid: str
    run_uuid: str
    message_id: str | None = strawberry.field(description="The provider's own id.")
    role: str
    message: str
    files: list[JSON]
    reasoning: str | None

    @resolver_field(RunType | None)
    async def run(root: strawberry.Parent[Message], info: Info) -> Run | None:
        """Its run."""
        return await info.context.loaders.find(Run, thread_uuid=root.thread_uuid, run_uuid=root.run_uuid)


@strawberry.type(name="ToolCallType", description="One tool call with its result.")
class ToolCallType(TimesType):
    """A tool call."""

    thread_uuid: str
    run_uuid: str
    tool_call_uuid: str
    tool_call_id: str | None = strawberry.field(description="The provider's own id.")
    tool_type: str
    name: str
    arguments: str | None = strawberry.field(description="JSON text.")
    content: str | None = strawberry.field(description="The tool's result.")
    status: ToolCallStatus
    notes: str | None
    time_spent: int | None = strawberry.field(description="Milliseconds.")
    decided_by: str | None = strawberry.field(description="Who approved or denied it.")

    @resolver_field(RunType | None)
    async def run(root: strawberry.Parent[ToolCall], info: Info) -> Run | None:
        """Its run."""
        return await info.context.loaders.find(Run, thread_uuid=root.thread_uuid, run_uuid=root.run_uuid)


@strawberry.type(name="AsyncTaskType", description="Work that continues after its request was answered.")
class AsyncTaskType(TimesType):
    """A task."""

    function_name: str
    async_task_uuid: str
    partition_key: str
    task_type: str | None
    arguments: JSON | None
    result: str | None
    output_files: JSON | None
    status: TaskStatus
    notes: str | None
    time_spent: int | None = strawberry.field(description="Milliseconds.")


@strawberry.type(name="FineTuningMessageType", description="A message for fine-tuning models.")
class FineTuningMessageType:
    """A fine-tuning message."""

    agent_uuid: str
    message_uuid: str
    thread_uuid: str
    timestamp: int = strawberry.field(description="Seconds since 1970.")
    endpoint_id: str
    role: str
    tool_calls: list[JSON]
    tool_call_uuid: str | None
    content: str | None
    trained: bool
    updated_by: str | None
    updated_at: datetime

    @resolver_field(float)
    def weight(root: strawberry.Parent[FineTuningMessage]) -> float:
        """The weight in training."""
        return float(root.weight)


@strawberry.type(name="AskModelType", description="The task that answers a question.")
class AskModelType:
    """A question that is being answered."""

    agent_uuid: str
    thread_uuid: str
    user_query: str
    function_name: str = strawberry.field(description="With `asyncTaskUuid`, what to ask `asyncTask` for.")
    async_task_uuid: str
    current_run_uuid: str


@strawberry.type(name="FileType", description="A file of an agent.")
class FileType:
    """A file."""

    identity: str | None
    value: str | None
    file_detail: JSON | None


@strawberry.type(name="PresignedAWSS3UrlType", description="An address that one object can be read from or written to for a while.")
class PresignedAWSS3UrlType:
    """A signed address."""

    url: str
    object_key: str
    expiration: int = strawberry.field(description="Seconds.")


@strawberry.type(name="ThreadListType")
class ThreadListType(PageType):
    """A page of threads."""

    thread_list: list[ThreadType]


@strawberry.type(name="RunListType")
class RunListType(PageType):
    """A page of runs."""

    run_list: list[RunType]


@strawberry.type(name="MessageListType")
class MessageListType(PageType):
    """A page of messages."""

    message_list: list[MessageType]


@strawberry.type(name="ToolCallListType")
class ToolCallListType(PageType):
    """A page of tool calls."""

    tool_call_list: list[ToolCallType]


@strawberry.type(name="AsyncTaskListType")
class AsyncTaskListType(PageType):
    """A page of tasks."""

    async_task_list: list[AsyncTaskType]


@strawberry.type(name="FineTuningMessageListType")
class FineTuningMessageListType(PageType):
    """A page of fine-tuning messages."""

    fine_tuning_message_list: list[FineTuningMessageType]
