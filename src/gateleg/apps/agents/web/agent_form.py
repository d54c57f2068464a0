"""The form of an agent: for a new one, and for the next version of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from gateleg.apps.agents.tables import Agent


class AgentForm(BaseModel):
    """What an agent is asked for on its page."""

    name: str = Field(title="Name", min_length=1, max_length=200)
    description: str = Field(default="", title="Description", max_length=5_000)
    llm_provider: str = Field(default="local", title="Provider", description="local, openai, anthropic, gemini, ollama, ...")
    llm_name: str = Field(default="local", title="Model family", description="the handler that speaks to it")
    model: str = Field(default="", title="Model", description="its name at the provider; the host's default when empty")
    instructions: str = Field(default="", title="Instructions", max_length=200_000)
    messages: int = Field(default=10, title="Messages of history", ge=0, le=1_000)
    configuration: dict[str, Any] = Field(
        default_factory=dict, title="Further configuration", description="as JSON; values with names of secrets are kept as secrets"
    )

    @classmethod
    def values_of(cls, agent: Agent) -> dict[str, Any]:
        """What the fields hold for an agent. Its secrets are names by then."""
        rest = {name: value for name, value in agent.configuration.items() if name != "model"}
        return {
            "name": agent.agent_name,
            "description": agent.agent_description or "",
            "llm_provider": agent.llm_provider,
            "llm_name": agent.llm_name,
            "model": str(agent.configuration.get("model", "")),
            "instructions": agent.instructions or "",
            "messages": agent.num_of_messages,
            "configuration": rest,
        }

    def values(self) -> dict[str, Any]:
        """The attributes of the agent."""
        configuration = {**self.configuration, **({"model": self.model} if self.model else {})}
        return {
            "agent_name": self.name,
            "agent_description": self.description or None,
            "llm_provider": self.llm_provider,
            "llm_name": self.llm_name,
            "instructions": self.instructions or None,
            "num_of_messages": self.messages,
            "configuration": configuration,
        }
