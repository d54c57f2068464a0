"""The job handlers: answer, summarise, move agents to a new flow, evaluate, delete threads, export and erase tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.ai import AiError
from gateleg.apps.agents.erasing.job_types import (
    DELETE_THREAD,
    ERASE_TENANT,
    EXPORT_TENANT,
    DeleteThreadConfig,
    EraseResult,
    ExportResult,
    TenantConfig,
)
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
    from gateleg.host import Resources
    from gateleg.jobs import JobContext

#: Interval of the job that expires overdue runs and ends lost calls of models.
_SWEEP_SECONDS = 60


def agents_jobs(resources: Resources[AgentsSettings]) -> Jobs:
    """Register the handlers. Each imports its implementation on first use, so that a host starts without loading models."""
    jobs, places = Jobs(), resources.settings.runs_at_once

    @jobs.handler(
        ANSWER, config=AnswerConfig, result=AnswerResult, queue=QUEUE, own_concurrency=places, priority=70, retry=Retry(times=2, first=1.0)
    )
    async def answer(job: JobContext, config: AnswerConfig) -> AnswerResult:
        from gateleg.apps.agents.running.answer_job import answer_run

        return await answer_run(job, config, resources)

    @jobs.handler(SUMMARISE, config=SummariseConfig, queue=QUEUE, own_concurrency=places, priority=30, retry=Retry(times=1), timeout=600)
    async def summarise(job: JobContext, config: SummariseConfig) -> dict[str, int]:
        from gateleg.apps.agents.running.summaries import summarise_thread

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
        from gateleg.apps.agents.running.demonstration import ask_when_ready

        return {"runs": await ask_when_ready(job, config, resources)}

    @jobs.handler(EVALUATE, config=EvaluateConfig, queue=QUEUE, own_concurrency=places, priority=40, retry=Retry(times=1), timeout=900)
    async def evaluate_versions(job: JobContext, config: EvaluateConfig) -> dict[str, int]:
        from gateleg.apps.agents.evaluating.scoring import evaluate

        return await evaluate(job, config, resources)

    _add_erasing(jobs, resources)

    @jobs.every(_SWEEP_SECONDS, name=SWEEP)
    @jobs.handler(SWEEP, queue=QUEUE, own_concurrency=places, retry=Retry(times=0), timeout=300, internal=True)
    async def sweep(job: JobContext, config: dict[str, str]) -> dict[str, int]:
        from gateleg.apps.agents.running.expiry import expire_overdue
        from gateleg.apps.agents.usage import settle_lost

        return {"expired": await expire_overdue(resources), "lost_calls": await settle_lost(resources)}

    return jobs


def _add_erasing(jobs: Jobs, resources: Resources[AgentsSettings]) -> None:
    """Register the jobs that delete threads and export or erase tenants. After an interruption each continues with what is left."""

    @jobs.handler(DELETE_THREAD, config=DeleteThreadConfig, result=EraseResult, priority=40, retry=Retry(times=3))
    async def delete_thread(job: JobContext, config: DeleteThreadConfig) -> EraseResult:
        from gateleg.apps.agents.erasing.threads import erase_thread

        def progress(done: int, total: int) -> None:
            job.check()
            job.progress(done, max(1, total), f"{done:,} runs deleted")

        with giving_up(AgentsError):
            return EraseResult(deleted=await erase_thread(resources, config.partition, config.thread_uuid, progress))

    @jobs.handler(EXPORT_TENANT, config=TenantConfig, result=ExportResult, priority=30, retry=Retry(times=2))
    async def export(job: JobContext, config: TenantConfig) -> ExportResult:
        from gateleg.apps.agents.erasing.tenants import export_tenant

        return await export_tenant(job, config, resources)

    @jobs.handler(ERASE_TENANT, config=TenantConfig, result=EraseResult, priority=30, retry=Retry(times=2))
    async def erase(job: JobContext, config: TenantConfig) -> EraseResult:
        from gateleg.apps.agents.erasing.tenants import erase_tenant

        with giving_up(AgentsError):
            return await erase_tenant(job, config, resources)
