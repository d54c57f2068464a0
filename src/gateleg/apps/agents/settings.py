"""The settings of the agent engine: `[agents]` in `gateleg.toml`, and `GATELEG_AGENTS__FIELD`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Policy = Literal["reject", "enqueue", "interrupt"]


class InternalMcp(BaseModel):
    """The MCP server that every tenant has without registering it."""

    model_config = ConfigDict(extra="forbid")

    base_url: str = Field(description="its address; {endpoint_id} is replaced by the endpoint of the request")
    headers: dict[str, str] | None = Field(
        default=None, description="headers of every request; a value secret:NAME is the host's secret of that name"
    )


class AgentsSettings(BaseModel):
    """The operator's settings of the agent engine."""

    model_config = ConfigDict(extra="forbid")

    endpoint_id: str = Field(default="local", description="the platform that partition keys begin with, for requests that name none")
    connection_id: str | None = Field(default=None, description="the connection that answers are streamed to, for requests that name none")
    editors: str | None = Field(
        default=None,
        description="the group whose members may change agents, prompts, flows and the like; every member of the tenant may, if left out",
    )
    thread_life_minutes: int = Field(
        default=30,
        ge=0,
        le=525_600,
        description="minutes since its last activity within which a thread is continued instead of a new one begun",
    )
    page_limit: int = Field(default=1000, ge=1, le=1000, description="the most items of one page of a list")
    internal_mcp: InternalMcp | None = Field(default=None, description="an MCP server for the agents of all tenants")

    handlers: list[str] = Field(
        default=[], description="names of the model handlers that agents may use; all that are installed, if left out"
    )
    policy: Policy = Field(
        default="reject", description="what becomes of a message while its thread answers another: reject, enqueue or interrupt"
    )
    runs_at_once: int = Field(
        default=200, ge=1, le=1000, description="runs that one worker process answers at once, beside the jobs of its --concurrency"
    )
    waiting_runs: int = Field(default=20, ge=1, le=100, description="messages that may wait in one thread")
    run_seconds: int = Field(default=600, ge=1, le=86_400, description="seconds after which a run that has not ended expires")
    approval_seconds: int = Field(
        default=86_400, ge=1, le=2_592_000, description="seconds that a run waits for the approval of its tool calls"
    )
    tool_steps: int = Field(default=8, ge=0, le=50, description="replies with tool calls that a run may have, unless the agent says fewer")
    approve: list[str] = Field(default=[], description="tools that always need approval, whatever the agent says; * stands for any text")
    tool_seconds: float = Field(default=60.0, gt=0, le=3600, description="seconds that one tool call may take")
    tool_result_limit: int = Field(default=20_000, ge=100, le=300_000, description="characters of a tool's answer that the model is shown")
    mcp_seconds: float = Field(default=30.0, gt=0, le=600, description="seconds that one request to an MCP server may take")
    fallback_models: list[str] = Field(
        default=[], description="models to ask when that of an agent cannot be reached, by their addresses, first choice first"
    )

    judge_model: str | None = Field(
        default=None, description="the model that judges answers in evaluations, by its address; the host's chat model, if left out"
    )

    @field_validator("endpoint_id")
    @classmethod
    def check_endpoint(cls, value: str) -> str:
        """It must be able to begin a partition key."""
        from gateleg.apps.agents.errors import BadPartition
        from gateleg.apps.agents.tenancy import Partition

        try:
            return Partition(endpoint_id=value).endpoint_id
        except BadPartition as error:
            raise ValueError(error.message) from None
