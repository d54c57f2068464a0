"""`RunWork`: the working state of a run's job: the run, its agent, model and tools, and its frame stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.running.agents import agent_version, handler_for
from gateleg.apps.agents.running.job_types import RunRequest
from gateleg.apps.agents.running.tool_planner import NEAREST
from gateleg.apps.agents.running.tools.registered import servers_of
from gateleg.apps.agents.running.tools.tool_lists import ToolListCache
from gateleg.apps.agents.running.tools.toolbox import application_tools, build_toolbox, mcp_tools
from gateleg.apps.agents.thread_tables import Run
from gateleg.apps.agents.usage import ANSWERING, CallRecord, billed_to

if TYPE_CHECKING:
    from gateleg.apps.agents.partitions import Partition
    from gateleg.apps.agents.running.frames import Frame
    from gateleg.apps.agents.running.handlers.contract import AgentHandler
    from gateleg.apps.agents.running.tools.toolbox import Toolbox
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import Agent
    from gateleg.host import Principal, Resources
    from gateleg.jobs import JobContext

__all__ = ["RunWork", "open_work", "toolbox_for"]


#: Key of the process-wide cache of MCP tool lists.
_TOOL_LISTS_KEY = "tool lists"


@dataclass(frozen=True)
class RunWork:
    """Everything that answering one run needs."""

    resources: Resources[AgentsSettings]
    job: JobContext
    run: Run
    request: RunRequest
    agent: Agent
    handler: AgentHandler
    toolbox: Toolbox
    #: adds the calls of the models to the run
    record: CallRecord
    #: the latest message that was left out of the model's context window, if the thread's summary does not cover it yet
    left_out: list[str] = field(default_factory=list)

    @property
    def partition(self) -> Partition:
        """The tenant's partition."""
        return self.run.partition

    @property
    def place(self) -> dict[str, Any]:
        """The attributes that all items of the run share."""
        return {
            "partition": self.run.partition,
            "thread_uuid": self.run.thread_uuid,
            "owner_id": self.run.owner_id,
            "run_uuid": self.run.run_uuid,
        }

    @property
    def cap(self) -> int:
        """Maximum replies with tool calls."""
        wanted = self.agent.configuration.get("tool_steps")
        most = self.resources.settings.tool_steps
        return most if not isinstance(wanted, int | float) else max(0, min(most, int(wanted)))

    @property
    def plans(self) -> bool:
        """Whether the planner chooses tools instead of the model. Defaults to True for small models."""
        return self.agent.configuration.get("planner", NEAREST if self.handler.small else None) == NEAREST

    @property
    def quotes(self) -> bool:
        """Whether answers quote the tool results. Defaults to True for small models."""
        return bool(self.agent.configuration.get("quote_tools", self.handler.small))

    async def read_run(self) -> Run:
        """The run as it is stored now."""
        run = self.run
        return await self.resources.store.get(
            Run, partition=run.partition, thread_uuid=run.thread_uuid, run_uuid=run.run_uuid, consistent=True
        )

    def emit(self, frame: Frame) -> None:
        """Send a frame to the run's stream."""
        self.job.emit(frame.to_event())


async def open_work(resources: Resources[AgentsSettings], job: JobContext, run: Run) -> RunWork:
    """Load the working state of a run. Raises for a misconfigured agent, which no retry can fix."""
    request = RunRequest.model_validate(run.request)
    agent = await agent_version(resources.store, run.partition, run.agent_version_uuid or "")
    record = CallRecord(first=run.model is None)
    models = billed_to(resources, run.partition, ANSWERING, run=run, record=record)
    handler = await handler_for(resources, request.context(run.partition), agent, models, run)
    part = run.partition.part_id if request.part_given else None
    toolbox = await toolbox_for(resources, agent, run.partition, request.asker.principal, part)
    for problem in toolbox.problems:
        job.log(problem, "WARNING")
    return RunWork(resources, job, run, request, agent, handler, toolbox, record)


async def toolbox_for(
    resources: Resources[AgentsSettings], agent: Agent, partition: Partition, principal: Principal, part_id: str | None
) -> Toolbox:
    """The tools an agent may use for a caller: those of its configured applications and MCP servers."""
    settings, configuration = resources.settings, agent.configuration
    wanted = _texts(configuration.get("tools"))
    own = application_tools(resources.tools_for(principal), principal, wanted) if wanted else []
    servers = await servers_of(resources, partition, agent.mcp_server_uuids, part_id)
    lists = resources.state.setdefault(_TOOL_LISTS_KEY, ToolListCache(resources.outgoing))
    others, problems = await mcp_tools(servers, lists, resources.outgoing) if servers else ([], [])
    return build_toolbox(
        [*own, *others], enabled=_texts(configuration.get("enabled_tools")), limit=settings.tool_result_limit, problems=problems
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
