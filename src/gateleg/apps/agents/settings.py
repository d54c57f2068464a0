"""The settings of the agent engine: `[agents]` in `gateleg.toml`, and `GATELEG_AGENTS__FIELD`."""

from pydantic import BaseModel, ConfigDict, Field, field_validator


class InternalMcp(BaseModel):
    """The MCP server that every tenant has without registering it."""

    model_config = ConfigDict(extra="forbid")

    base_url: str = Field(description="its address; {endpoint_id} is replaced by the endpoint of the request")
    headers: dict[str, str] | None = Field(
        default=None, description="headers of every request; a value secret:NAME is the host's secret of that name"
    )


class AgentsSettings(BaseModel):
    """What whoever runs a host decides about agents."""

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
    page_limit: int = Field(default=1000, ge=1, le=10_000, description="the most items of one page of a list")
    internal_mcp: InternalMcp | None = Field(default=None, description="an MCP server for the agents of all tenants")

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
