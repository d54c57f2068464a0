"""Use cases: evaluation sets, and evaluations of agent versions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gateleg.apps.agents.access import check_editor, may_see
from gateleg.apps.agents.errors import BadField, NotFoundInPartition
from gateleg.apps.agents.evaluating.cases import Matches, check_size
from gateleg.apps.agents.evaluation_tables import Evaluation, EvaluationSet
from gateleg.apps.agents.patterns import check_patterns
from gateleg.apps.agents.running.agents import active_agent, agent_version
from gateleg.apps.agents.running.job_types import EVALUATE, EvaluateConfig, RunRequest, StoredCaller
from gateleg.apps.agents.running.structures import check_output_schemas
from gateleg.host import submitted_by
from gateleg.jobs import Submission
from gateleg.store import create

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.agents.evaluating.cases import Case
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources
    from gateleg.store import AsyncStore

__all__ = ["begin_evaluation", "delete_set", "find_evaluation", "find_set", "save_set"]


async def save_set(
    store: AsyncStore, context: Context, name: str, cases: Sequence[Case], evaluation_set_uuid: str | None = None
) -> EvaluationSet:
    """Create or update a set. Raises `BadOutputSchema`, and `BadField` for a pattern that is not a regular expression."""
    check_editor(context)
    await check_patterns([check.pattern for case in cases for check in case.checks if isinstance(check, Matches)])
    await check_output_schemas([case.output_schema for case in cases if case.output_schema is not None])
    stored: dict[str, Any] = {
        "partition": context.partition,
        "name": name,
        "cases": [case.model_dump(mode="json", exclude_none=True) for case in cases],
        "updated_by": context.principal.name,
    }
    if evaluation_set_uuid is None:
        return await store.create(EvaluationSet(**stored))
    before = await find_set(store, context, evaluation_set_uuid)
    return await store.put(EvaluationSet(**stored, evaluation_set_uuid=evaluation_set_uuid, created_at=before.created_at))


async def find_set(store: AsyncStore, context: Context, evaluation_set_uuid: str) -> EvaluationSet:
    """A set of the tenant. Raises `NotFoundInPartition`."""
    found = await store.find(EvaluationSet, partition=context.partition, evaluation_set_uuid=evaluation_set_uuid, consistent=True)
    if found is None:
        raise NotFoundInPartition(f"There is no evaluation set {evaluation_set_uuid!r}.")
    return found


async def delete_set(store: AsyncStore, context: Context, evaluation_set_uuid: str) -> None:
    """Delete a set. Its evaluations are kept, because they contain a copy of the questions."""
    check_editor(context)
    await find_set(store, context, evaluation_set_uuid)
    await store.delete(EvaluationSet, partition=context.partition, evaluation_set_uuid=evaluation_set_uuid)


async def begin_evaluation(
    resources: Resources[AgentsSettings], context: Context, evaluation_set_uuid: str, agent_uuid: str, versions: Sequence[str] = ()
) -> Evaluation:
    """Start an evaluation of one or two versions of an agent; by default, of the active one. Its runs belong to the caller."""
    store = resources.store
    chosen = await find_set(store, context, evaluation_set_uuid)
    active = await active_agent(store, context.partition, agent_uuid)
    wanted = list(dict.fromkeys(versions)) or [active.agent_version_uuid]
    if len(wanted) > 2:
        raise BadField(f"{len(wanted)} versions were given; an evaluation compares at most two.")
    for version in wanted:
        if (await agent_version(store, context.partition, version)).agent_uuid != agent_uuid:
            raise BadField(f"{version!r} is not a version of the agent {agent_uuid!r}.")
    check_size(chosen.cases, len(wanted))
    evaluation = Evaluation(
        partition=context.partition,
        evaluation_set_uuid=evaluation_set_uuid,
        name=chosen.name,
        owner_id=context.owner,
        agent_uuid=agent_uuid,
        agent_version_uuids=wanted,
        cases=chosen.cases,
        job_id=str(uuid4()),
    )
    enlisted = await resources.queue.enlist(_job(resources, context, evaluation))
    evaluation = evaluation.model_copy(update={"job_id": str(enlisted.job.job_id)})
    await store.transact([create(evaluation), *enlisted.writes])
    return await find_evaluation(store, context, evaluation.evaluation_uuid)


def _job(resources: Resources[AgentsSettings], context: Context, evaluation: Evaluation) -> Submission:
    request = RunRequest(
        asker=StoredCaller.of(context.principal),
        user_id=context.user_id,
        part_given=context.part_given,
        seconds=resources.settings.run_seconds,
    )
    config = EvaluateConfig(
        endpoint_id=context.endpoint_id, part_id=context.part_id, evaluation_uuid=evaluation.evaluation_uuid, request=request
    )
    return replace(submitted_by(context.principal, Submission(EVALUATE, config, subject=evaluation.evaluation_uuid)), job_id=uuid4())


async def find_evaluation(store: AsyncStore, context: Context, evaluation_uuid: str) -> Evaluation:
    """An evaluation that the caller may see: viewers see all, members their own. Raises `NotFoundInPartition`."""
    found = await store.find(Evaluation, partition=context.partition, evaluation_uuid=evaluation_uuid, consistent=True)
    if found is None or not may_see(context, found):
        raise NotFoundInPartition(f"There is no evaluation {evaluation_uuid!r}.")
    return found
