"""The job types of agents: answer a run, summarise a thread, move agents to a new flow, and end runs whose time is up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.ai import AiError
from gateleg.apps.agents.errors import AgentsError
from gateleg.apps.agents.flow_moves import MOVE_AGENTS, MoveAgentsConfig, MoveAgentsResult
from gateleg.apps.agents.running.job_types import (
    ANSWER,
    DEMONSTRATE,
    EVALUATE,
    QUEUE,
    SUMMARISE,
    SWEEP,
    AnswerConfig,
    AnswerResult,
    DemonstrateConfig,
    EvaluateConfig,
    SummariseConfig,
)
from gateleg.jobs import Jobs, Retry, giving_up

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.jobs import JobContext
    from gateleg.web import Resources

#: Seconds between two looks at runs whose time is up.
_SWEEP = 60


def agents_jobs(resources: Resources[AgentsSettings]) -> Jobs:
    """The job types with their handlers."""
    jobs, places = Jobs(), resources.settings.runs_at_once

    @jobs.handler(
        ANSWER, config=AnswerConfig, result=AnswerResult, queue=QUEUE, own_concurrency=places, priority=70, retry=Retry(times=2, first=1.0)
    )
    async def answer(job: JobContext, config: AnswerConfig) -> AnswerResult:
        from gateleg.apps.agents.running.answering import answer_run

        return await answer_run(job, config, resources)

    @jobs.handler(SUMMARISE, config=SummariseConfig, queue=QUEUE, own_concurrency=places, priority=30, retry=Retry(times=1), timeout=600)
    async def summarise(job: JobContext, config: SummariseConfig) -> dict[str, int]:
        from gateleg.apps.agents.running.summarising import summarise_thread

        with giving_up(AiError, AgentsError):
            return {"messages": await summarise_thread(resources, config)}

    @jobs.handler(
        MOVE_AGENTS,
        config=MoveAgentsConfig,
        result=MoveAgentsResult,
        queue=QUEUE,
        own_concurrency=places,
        priority=50,
        retry=Retry(times=3),
    )
    async def move_agents(job: JobContext, config: MoveAgentsConfig) -> MoveAgentsResult:
        from gateleg.apps.agents.flow_moves import carry_out

        with giving_up(AgentsError):
            return await carry_out(job, config, resources.store)

    @jobs.handler(
        DEMONSTRATE, config=DemonstrateConfig, queue=QUEUE, own_concurrency=places, priority=30, retry=Retry(times=1), timeout=300
    )
    async def demonstrate(job: JobContext, config: DemonstrateConfig) -> dict[str, list[str]]:
        from gateleg.apps.agents.running.demonstrating import ask_when_ready

        return {"runs": await ask_when_ready(job, config, resources)}

    @jobs.handler(EVALUATE, config=EvaluateConfig, queue=QUEUE, own_concurrency=places, priority=40, retry=Retry(times=1), timeout=900)
    async def evaluate_versions(job: JobContext, config: EvaluateConfig) -> dict[str, int]:
        from gateleg.apps.agents.evaluating.scoring import evaluate

        return await evaluate(job, config, resources)

    @jobs.every(_SWEEP, name=SWEEP)
    @jobs.handler(SWEEP, queue=QUEUE, own_concurrency=places, retry=Retry(times=0), timeout=300)
    async def sweep(job: JobContext, config: dict[str, str]) -> dict[str, int]:
        from gateleg.apps.agents.running.sweeping import expire_overdue

        return {"expired": await expire_overdue(resources)}

    return jobs
