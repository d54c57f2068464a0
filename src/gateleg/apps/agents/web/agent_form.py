"""The form of an agent: for a new one, and for the next version of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, create_model

from gateleg.apps.agents.concealing import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.agents.catalogue_tables import Llm
    from gateleg.apps.agents.tables import Agent


#: Between the provider and the name of a model.
_BETWEEN = " / "


def _choice(provider: str, name: str) -> str:
    return f"{provider}{_BETWEEN}{name}"


class AgentForm(BaseModel):
    """What an agent is asked for on its page."""

    name: str = Field(title="Name", min_length=1, max_length=200)
    description: str = Field(default="", title="Description", max_length=5_000)
    #: provider and name of a model of the catalogue; `agent_form` has the choices
    llm: str = Field(title="Model of the catalogue")
    model: str = Field(default="", title="Model", description="its name at the provider; empty: the default")
    instructions: str = Field(default="", title="Instructions", max_length=200_000)
    messages: int = Field(default=10, title="Messages of history", ge=0, le=1_000)
    configuration: dict[str, Any] = Field(
        default_factory=dict, title="Further configuration", description="as JSON; values with names of secrets are kept as secrets"
    )

    @classmethod
    def values_of(cls, agent: Agent) -> dict[str, Any]:
        """What the fields hold for an agent. Its secrets are names by then."""
        rest = {name: value for name, value in shown(agent.configuration).items() if name != "model"}
        return {
            "name": agent.agent_name,
            "description": agent.agent_description or "",
            "llm": _choice(agent.llm_provider, agent.llm_name),
            "model": str(agent.configuration.get("model", "")),
            "instructions": agent.instructions or "",
            "messages": agent.num_of_messages,
            "configuration": rest,
        }

    def values(self) -> dict[str, Any]:
        """The attributes of the agent."""
        configuration = {**self.configuration, **({"model": self.model} if self.model else {})}
        provider, _, name = self.llm.partition(_BETWEEN)
        return {
            "agent_name": self.name,
            "agent_description": self.description or None,
            "llm_provider": provider,
            "llm_name": name,
            "instructions": self.instructions or None,
            "num_of_messages": self.messages,
            "configuration": configuration,
        }


def agent_form(llms: Sequence[Llm]) -> type[AgentForm]:
    """The form with the models of the catalogue to choose from."""
    choices = tuple(_choice(one.llm_provider, one.llm_name) for one in llms)
    chosen: Any = Literal[choices]
    return create_model("AgentForm", __base__=AgentForm, llm=(chosen, Field(title="Model of the catalogue")))
