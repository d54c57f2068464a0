"""Response bodies of runs, in camel case."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from gateleg.apps.agents.running.submission import SubmittedRun
from gateleg.apps.agents.running.transcripts import Transcript
from gateleg.apps.agents.thread_tables import Message, Run, ToolCall

CAMEL = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", from_attributes=True)


class View(BaseModel):
    """The base of response bodies."""

    model_config = CAMEL


class AskedView(View):
    """An accepted question: where to find its answer, and where to follow it."""

    agent_uuid: str
    thread_uuid: str
    run_uuid: str
    async_task_uuid: str
    #: false if the same question was submitted before with the same key
    created: bool
    events: str

    @classmethod
    def of(cls, asked: SubmittedRun) -> "AskedView":
        """A submitted run."""
        return cls(
            agent_uuid=asked.agent_uuid,
            thread_uuid=asked.thread_uuid,
            run_uuid=asked.run_uuid,
            async_task_uuid=asked.async_task_uuid,
            created=asked.created,
            events=f"/events/agents/threads/{asked.thread_uuid}/runs/{asked.run_uuid}",
        )


class BegunJob(View):
    """The job that carries out the request: `/api/agents/jobs/{jobId}` has its progress, error and result."""

    job_id: str


class MessageView(View):
    """A message of a thread."""

    message_uuid: str
    run_uuid: str
    role: str
    message: str
    reasoning: str | None
    files: list[dict[str, Any]]
    created_at: datetime | None

    @classmethod
    def of(cls, message: Message) -> "MessageView":
        """A stored message."""
        return cls.model_validate({name: getattr(message, name) for name in cls.model_fields})


class ToolCallView(View):
    """A tool call of a run."""

    tool_call_uuid: str
    name: str
    tool_type: str
    arguments: str | None
    content: str | None
    status: str
    notes: str | None
    decided_by: str | None
    time_spent: int | None

    @classmethod
    def of(cls, call: ToolCall) -> "ToolCallView":
        """A stored tool call."""
        return cls.model_validate({name: getattr(call, name) for name in cls.model_fields})


class RunView(View):
    """A run, with its steps."""

    run_uuid: str
    thread_uuid: str
    agent_uuid: str | None
    agent_version_uuid: str | None
    status: str
    error: str | None
    model: str | None
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost: Decimal | None
    #: whether a reply was broken off, so that its tokens are an estimate
    usage_estimated: bool
    time_spent: int | None
    iterations: int
    attempts: int
    required_action: dict[str, Any] | None
    output: dict[str, Any] | None
    user_id: str | None
    job_id: str | None
    created_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    deadline: datetime | None
    messages: list[MessageView] = []
    tool_calls: list[ToolCallView] = []

    @classmethod
    def of(cls, run: Run, transcript: Transcript | None = None) -> "RunView":
        """A stored run with its messages and tool calls."""
        shown = {name: getattr(run, name) for name in cls.model_fields if name not in ("messages", "tool_calls")}
        if transcript is not None:
            shown["messages"] = [MessageView.of(one) for one in transcript.messages]
            shown["tool_calls"] = [ToolCallView.of(one) for one in transcript.calls]
        return cls.model_validate(shown)
