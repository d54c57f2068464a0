"""What a host shows of agents at first."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from gateleg.apps.agents.demonstration import AGENT, QUESTIONS, TOOLS, load
from gateleg.apps.agents.running.job_types import DEMONSTRATE, DemonstrateConfig
from gateleg.apps.agents.tables import Agent
from gateleg.apps.agents.thread_tables import Run, RunStatus
from gateleg.apps.agents.versions import AGENTS, find_active
from gateleg.host import LOCAL
from gateleg.jobs import JobStatus, Submission, follow_async
from tests.apps.agents.running.hosted import SCRIPTS, hosting, register_scripts


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    register_scripts(monkeypatch.setattr)
    yield
    SCRIPTS.clear()


async def test_the_demonstration_is_loaded_once(tmp_path: Path) -> None:
    async with hosting(tmp_path, work=False) as hosted:
        for _ in range(2):
            await load(hosted.resources)
        agent = await find_active(hosted.resources.store, hosted.context(LOCAL), AGENTS, AGENT)
        assert isinstance(agent, Agent)
        assert agent.configuration["tools"] == [TOOLS]
        # Its application is not here, so there is nothing to ask about.
        async with hosted.working():
            (job,) = [one async for one in hosted.resources.store.query(hosted.resources.queue.tables.job.of_type(job_type=DEMONSTRATE))]
            updates = [update async for update in follow_async(hosted.resources.queue, job.job_id)]
        assert updates[-1].job.status is JobStatus.COMPLETED
        assert [run async for run in hosted.resources.store.query(Run.in_partition(partition=agent.partition))] == []


async def test_questions_are_asked_when_the_tool_has_something_to_answer(tmp_path: Path) -> None:
    async with hosting(tmp_path) as hosted:
        agent = await hosted.agent("One.", "Two.", principal=LOCAL)
        config = DemonstrateConfig(agent_uuid=agent.agent_uuid, tool="desk.today", questions=list(QUESTIONS))
        job = (await hosted.resources.queue.submit(Submission(DEMONSTRATE, config))).job
        updates = [update async for update in follow_async(hosted.resources.queue, job.job_id)]
        assert updates[-1].job.status is JobStatus.COMPLETED
        runs = [run async for run in hosted.resources.store.query(Run.in_partition(partition=agent.partition))]
        assert len(runs) == 2
        for run in runs:
            async for _ in follow_async(hosted.resources.queue, _job(run)):
                pass
        runs = [run async for run in hosted.resources.store.query(Run.in_partition(partition=agent.partition))]
        assert {run.status for run in runs} == {RunStatus.COMPLETED}


def _job(run: Run) -> UUID:
    return UUID(run.job_id or "")
