"""The job that moves many agents to a new flow version, submitted in the transaction that writes the version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from gateleg.apps.agents.flows import move_agents
from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.running.job_types import StoredCaller
from gateleg.apps.agents.tables import Agent, VersionStatus
from gateleg.apps.agents.tenancy import Context
from gateleg.host import submitted_by
from gateleg.jobs import Submission

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.host import Resources
    from gateleg.jobs import JobContext
    from gateleg.store import AsyncStore, WriteOperation

MOVE_AGENTS = "agents.move-agents"


class MoveAgentsConfig(BaseModel):
    """The flow version to move agents from, and the one to move them to."""

    model_config = ConfigDict(extra="forbid")

    endpoint_id: str
    part_id: str
    before: str
    after: str
    asker: StoredCaller


class MoveAgentsResult(BaseModel):
    """Number of agents moved."""

    moved: int


def flow_job(resources: Resources[Any], context: Context) -> Callable[[str, str], Sequence[WriteOperation[Any]]]:
    """The `job` argument of `save_flow`: submits the job in the caller's name."""

    def writes(before: str, after: str) -> Sequence[WriteOperation[Any]]:
        place = {"endpoint_id": context.endpoint_id, "part_id": context.part_id}
        config = MoveAgentsConfig(**place, before=before, after=after, asker=StoredCaller.of(context.principal))
        return resources.queue.writes(submitted_by(context.principal, Submission(MOVE_AGENTS, config, subject=after)))

    return writes


async def carry_out(job: JobContext, config: MoveAgentsConfig, store: AsyncStore) -> MoveAgentsResult:
    """Move the agents. After an interruption it moves the remaining ones."""
    partition = Partition(endpoint_id=config.endpoint_id, part_id=config.part_id)
    # Permission was checked when the flow version was written.
    context = Context(partition, config.asker.principal, config.asker.name, part_given=True)
    question = Agent.of_flow(partition=partition, flow_snippet_version_uuid=config.before)
    total = await store.count(question.filter(Agent.status == VersionStatus.ACTIVE))

    async def progress(moved: int) -> None:
        job.check()
        job.progress(moved, max(total, moved, 1), f"{moved} of {total} agents")

    return MoveAgentsResult(moved=await move_agents(store, context, config.before, config.after, progress))
