"""The job that directs the others: what it submits, and what it does when it is retried. The jobs below it make nothing here."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from gateleg.apps.mv.job_types import COMPOSE, GENERATE, RENDER, ComposeConfig, GenerateConfig, RenderConfig
from gateleg.apps.mv.service import move_project
from gateleg.apps.mv.tables import ProjectStatus
from gateleg.apps.mv.work import direct
from gateleg.jobs import AsyncQueue, Job, JobContext, Jobs, JobStatus, Retry, Submission, Worker, follow_async
from tests.apps.mv.served import Served, serving


@dataclass
class Crew:
    """Handlers that note that they were called; one scene cannot be rendered while the light is off."""

    light: bool = True
    called: list[str] = field(default_factory=list)

    def open(self, served: Served) -> None:
        """Take over the jobs of a host."""
        jobs = Jobs()

        @jobs.handler(GENERATE, config=GenerateConfig, retry=Retry(times=0))
        async def generate(job: JobContext, config: GenerateConfig) -> None:
            await direct(job, config, self.resources)

        @jobs.handler(RENDER, config=RenderConfig, retry=Retry(times=0))
        async def render(job: JobContext, config: RenderConfig) -> None:
            if config.sequence == 2 and not self.light:
                raise ValueError("no light")
            self.called.append(f"scene {config.sequence}")

        @jobs.handler(COMPOSE, config=ComposeConfig, retry=Retry(times=0))
        async def compose(job: JobContext, config: ComposeConfig) -> None:
            self.called.append("film")

        host = served.host
        self.queue = AsyncQueue(host.store, jobs, tables=host.queue.tables.names)
        self.resources: Any = replace(host.resources["mv"], queue=self.queue)

    async def ended(self, job_id: UUID) -> Job:
        async for _ in follow_async(self.queue, job_id):
            pass
        return await self.queue.get(job_id)


@asynccontextmanager
async def filming(served: Served) -> AsyncIterator[tuple[Crew, str]]:
    """A worker, and a project of two scenes."""
    crew = Crew()
    crew.open(served)
    project = await served.create()
    for concept in ("dawn", "dusk"):
        assert (await served["owner"].post(f"/api/mv/projects/{project['projectId']}/scenes", json={"sceneConcept": concept})).is_success
    await move_project(served.host.store, UUID(project["projectId"]), ProjectStatus.QUEUED)
    worker = Worker(crew.queue, concurrency=2)
    running = asyncio.ensure_future(worker.run())
    try:
        yield crew, project["projectId"]
    finally:
        worker.stop()
        await running


async def test_a_retry_renders_what_failed_before_the_film_is_composed(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, filming(served) as (crew, project):
        crew.light = False
        job = (await crew.queue.submit(Submission(GENERATE, {"project_id": project}))).job
        failed = await crew.ended(job.job_id)
        assert failed.attempts[-1].error is not None
        assert (failed.status, "no light" in failed.attempts[-1].error.message) == (JobStatus.FAILED, True)
        crew.light = True
        await crew.queue.retry(job.job_id)
        assert (await crew.ended(job.job_id)).status == JobStatus.COMPLETED
        assert crew.called == ["scene 1", "scene 2", "film"]


async def test_jobs_below_are_of_the_one_who_asked_and_of_their_tenant(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, filming(served) as (crew, project):
        job = (await crew.queue.submit(Submission(GENERATE, {"project_id": project}, created_by="ann", tenant="acme", priority=77))).job
        await crew.ended(job.job_id)
        below = [one for one in (await crew.queue.jobs_page(subject=project)).items if one.parent_job_id == job.job_id]
        assert len(below) == 3
        assert {(one.created_by, one.tenant, one.priority, one.subject) for one in below} == {("ann", "acme", 77, project)}
