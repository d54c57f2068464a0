"""What the job of a run works with: the run as it is, its agent and model, its tools, and where its frames go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.running.agents import agent_version, handler_for
from gateleg.apps.agents.running.job_types import RunRequest
from gateleg.apps.agents.running.planning import NEAREST
from gateleg.apps.agents.running.tools.registered import servers_of
from gateleg.apps.agents.running.tools.tool_lists import ToolLists
from gateleg.apps.agents.running.tools.toolbox import application_tools, mcp_tools, put_together

if TYPE_CHECKING:
    from gateleg.apps.agents.running.frames import Frame
    from gateleg.apps.agents.running.handlers.contract import AgentHandler
    from gateleg.apps.agents.running.tools.toolbox import Toolbox
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import Agent
    from gateleg.apps.agents.tenancy import Partition
    from gateleg.apps.agents.thread_tables import Run
    from gateleg.jobs import JobContext
    from gateleg.web import Principal, Resources

__all__ = ["RunWork", "open_work", "toolbox_for"]


#: Where a process keeps what MCP servers have listed.
_LISTS = "tool lists"


@dataclass(frozen=True)
class RunWork:
    """All that the answer of one run needs."""

    resources: Resources[AgentsSettings]
    job: JobContext
    run: Run
    request: RunRequest
    agent: Agent
    handler: AgentHandler
    toolbox: Toolbox
    #: the first message of the thread that the model was shown, where older ones were left out
    shown_from: list[str] = field(default_factory=list)

    @property
    def partition(self) -> Partition:
        """The tenant's partition."""
        return self.run.partition

    @property
    def place(self) -> dict[str, Any]:
        """What every item of the run has."""
        return {
            "partition": self.run.partition,
            "thread_uuid": self.run.thread_uuid,
            "owner_id": self.run.owner_id,
            "run_uuid": self.run.run_uuid,
        }

    @property
    def cap(self) -> int:
        """How many replies with tool calls the run may have."""
        wanted = self.agent.configuration.get("tool_steps")
        most = self.resources.settings.tool_steps
        return most if not isinstance(wanted, int | float) else max(0, min(most, int(wanted)))

    @property
    def plans(self) -> bool:
        """Whether the planner chooses the tools in place of the model: as the configuration says, or else for small models."""
        return self.agent.configuration.get("planner", NEAREST if self.handler.small else None) == NEAREST

    @property
    def quotes(self) -> bool:
        """Whether what the tools answered is quoted: as the configuration says, or else for small models."""
        return bool(self.agent.configuration.get("quote_tools", self.handler.small))

    def emit(self, frame: Frame) -> None:
        """Stream a frame to whoever follows the run."""
        self.job.emit(frame.to_event())


async def open_work(resources: Resources[AgentsSettings], job: JobContext, run: Run) -> RunWork:
    """What a run works with. Raises what is wrong with its agent: that will be no better with another attempt."""
    request = RunRequest.model_validate(run.request)
    agent = await agent_version(resources.store, run.partition, run.agent_version_uuid or "")
    handler = await handler_for(resources, request.context(run.partition), agent, run)
    part = run.partition.part_id if request.part_given else None
    toolbox = await toolbox_for(resources, agent, run.partition, request.asker.principal, part)
    for problem in toolbox.problems:
        job.log(problem, "WARNING")
    return RunWork(resources, job, run, request, agent, handler, toolbox)


async def toolbox_for(
    resources: Resources[AgentsSettings], agent: Agent, partition: Partition, principal: Principal, part_id: str | None
) -> Toolbox:
    """The tools that an agent may use on behalf of somebody: those of applications that it names, and those of its MCP servers."""
    settings, configuration = resources.settings, agent.configuration
    wanted = _texts(configuration.get("tools"))
    own = application_tools(resources.tools_for(principal), principal, wanted) if wanted else []
    servers = await servers_of(resources, partition, agent.mcp_server_uuids, part_id)
    lists = resources.state.setdefault(_LISTS, ToolLists(resources.outgoing))
    others, problems = await mcp_tools(servers, lists, resources.outgoing) if servers else ([], [])
    return put_together(
        [*own, *others], enabled=_texts(configuration.get("enabled_tools")), limit=settings.tool_result_limit, problems=problems
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
