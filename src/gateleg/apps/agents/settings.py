"""The settings of the agent engine: `[agents]` in `gateleg.toml`, and `GATELEG_AGENTS__FIELD`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from gateleg.apps.agents.errors import BadPartition
from gateleg.apps.agents.partitions import Partition

Policy = Literal["reject", "enqueue", "interrupt"]


class InternalMcp(BaseModel):
    """The MCP server that every tenant has without registering it."""

    model_config = ConfigDict(extra="forbid")

    base_url: str = Field(description="its URL; {endpoint_id} is replaced by the endpoint of the request")
    headers: dict[str, str] | None = Field(
        default=None, description="headers of every request; a value secret:NAME is the host's secret of that name"
    )


class AgentsSettings(BaseModel):
    """The operator's settings of the agent engine."""

    model_config = ConfigDict(extra="forbid")

    endpoint_id: str = Field(default="local", description="the endpoint_id of requests that do not name one; partition keys begin with it")
    connection_id: str | None = Field(
        default=None, description="the connection_id of requests that do not name one; answers are streamed to it"
    )
    editors: str | None = Field(
        default=None,
        description="the group whose members may change agents, prompts, flows, servers and wizards; by default every member of the tenant",
    )
    thread_life_minutes: int = Field(
        default=30,
        ge=0,
        le=525_600,
        description="minutes after its last activity during which a thread is continued instead of starting a new one",
    )
    page_limit: int = Field(default=1000, ge=1, le=1000, description="the maximum number of items per page")
    internal_mcp: InternalMcp | None = Field(default=None, description="an MCP server for the agents of all tenants")

    handlers: list[str] = Field(
        default=[], description="names of the model handlers that agents may use; by default all that are installed"
    )
    policy: Policy = Field(
        default="reject", description="what happens to a message while its thread answers another one: reject, enqueue or interrupt"
    )
    runs_at_once: int = Field(
        default=200,
        ge=1,
        le=1000,
        description="how many runs a worker process answers at once, in addition to the jobs of its --concurrency",
    )
    waiting_runs: int = Field(default=20, ge=1, le=100, description="the maximum number of queued messages in a thread")
    run_seconds: int = Field(default=600, ge=1, le=86_400, description="the time after which an unfinished run expires, in seconds")
    approval_seconds: int = Field(
        default=86_400, ge=1, le=2_592_000, description="how long a run waits for approval of its tool calls, in seconds"
    )
    tool_steps: int = Field(
        default=8, ge=0, le=50, description="the maximum number of replies with tool calls in a run; an agent may set a lower one"
    )
    approve: list[str] = Field(default=[], description="tools that always need approval, regardless of the agent; * matches any text")
    tool_seconds: float = Field(default=60.0, gt=0, le=3600, description="the time limit of a tool call, in seconds")
    tool_result_limit: int = Field(
        default=20_000, ge=100, le=300_000, description="the maximum length of a tool result for the model, in characters"
    )
    mcp_seconds: float = Field(default=30.0, gt=0, le=600, description="the time limit of a request to an MCP server, in seconds")
    fallback_models: list[str] = Field(
        default=[], description="addresses of models to use if an agent's model is unreachable, in order of preference"
    )

    judge_model: str | None = Field(
        default=None, description="the address of the model that judges answers in evaluations; by default the host's chat model"
    )

    @field_validator("endpoint_id")
    @classmethod
    def check_endpoint(cls, value: str) -> str:
        """Check that it can be part of a partition key."""
        try:
            return Partition(endpoint_id=value).endpoint_id
        except BadPartition as error:
            raise ValueError(error.message) from None
