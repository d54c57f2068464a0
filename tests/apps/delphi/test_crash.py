"""A worker that is killed in the middle of a run: another one finishes it, and earlier runs are untouched."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gateleg.ai import Models
from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.runs.origin import REPORT_STAGE, TOPICS_STAGE, VOTES_STAGE, Origin, artifact_key
from gateleg.apps.delphi.runs.report_runs import run_report
from gateleg.apps.delphi.runs.run_tables import RunStatus
from gateleg.apps.delphi.runs.topic_runs import run_topics
from gateleg.apps.delphi.service import RESULTS, ensure_tables, latest_run, results, run_votes, runs, upload_conversation
from gateleg.apps.delphi.work import delphi_jobs
from gateleg.jobs import AsyncQueue, Job, JobStatus, QueueSettings, Submission, Worker, follow_async
from gateleg.objects import DirectoryObjects, ThreadedObjects
from gateleg.store import AsyncStore

pytestmark = pytest.mark.crash
#: So few comments that their map needs no UMAP, which takes long to load.
CONVERSATION = synthesise(SyntheticPlan(participants=120, comments=7, topics=2, votes_per_participant=12)).conversation
SUBJECT = CONVERSATION.conversation_id
#: Before a stage has written anything, in the middle of it, and when all is written and the job has not been told.
MOMENTS = [
    *((VOTES_STAGE, moment) for moment in ("batch 0", "batch 7", "end")),
    *((TOPICS_STAGE, moment) for moment in ("step names", "batch 2", "end")),
    *((REPORT_STAGE, moment) for moment in ("batch 0", "file 3", "end")),
]


class Place:
    """A folder with a store, objects and a queue, which another process opens as well."""

    def __init__(self, folder: Path, store: AsyncStore) -> None:
        self.folder = folder
        self.store = store
        self.objects = ThreadedObjects(DirectoryObjects(folder / "objects"))
        self.queue = AsyncQueue(store, delphi_jobs(store, self.objects), QueueSettings(lease_seconds=1.0))

    async def submit(self, job_type: str) -> Job:
        return (await self.queue.submit(Submission(job_type, subject=SUBJECT))).job

    async def run(self, stage: str) -> UUID:
        """A stage under a job of its own, without a worker."""
        job = await self.submit(stage)
        origin = Origin(job.job_id, SUBJECT, job.created_at, job_stage=stage)
        if stage == VOTES_STAGE:
            await run_votes(self.store, origin)
        elif stage == TOPICS_STAGE:
            await run_topics(self.store, Models(), origin)
        else:
            await run_report(self.store, self.objects, origin)
        await self.queue.cancel(job.job_id)
        return job.job_id

    async def kill(self, moment: str) -> None:
        """Let a worker begin, and die at the moment."""
        command = [sys.executable, "-m", "tests.apps.delphi.mortal_worker", str(self.folder), *moment.split(" ", 1)]
        killed = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
        assert killed.returncode == -9, killed.stderr

    async def finish(self, job_id: UUID) -> JobStatus:
        """Let another worker end what there is to do."""
        worker = Worker(self.queue)
        running = asyncio.create_task(worker.run())
        async for _ in follow_async(self.queue, job_id):
            pass
        worker.stop()
        await running
        return (await self.queue.get(job_id)).status

    async def kept(self, job_id: UUID) -> dict[str, Any]:
        """All that a job has written: rows, and files by name."""
        found: dict[str, Any] = {kind.__name__: [row async for row in results(self.store, kind, job_id)] for kind in RESULTS}
        folder = artifact_key(Origin(job_id, SUBJECT, self.store.setup.now()), "")
        files = [entry.key async for entry in self.objects.walk(folder)]
        return found | {key.removeprefix(folder): await self.objects.get(key) for key in files}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncStore.connect(f"embedded:{tmp_path}") as store:
        place = Place(tmp_path, store)
        await place.queue.ensure_tables()
        await ensure_tables(store)
        await upload_conversation(store, CONVERSATION)
        yield place


@pytest.mark.parametrize(("stage", "moment"), MOMENTS)
async def test_a_run_goes_on_after_its_worker_was_killed(place: Place, stage: str, moment: str) -> None:
    if stage == REPORT_STAGE:
        await place.run(VOTES_STAGE)
        await place.run(TOPICS_STAGE)
    earlier = await place.run(stage)
    kept = await place.kept(earlier)
    assert ("report.html" in kept) is (stage == REPORT_STAGE)

    job = await place.submit(stage)
    await place.kill(moment)
    assert (await place.queue.get(job.job_id)).status is JobStatus.PROCESSING

    assert await place.finish(job.job_id) is JobStatus.COMPLETED
    assert (await latest_run(place.store, SUBJECT, stage)).job_id == job.job_id
    assert {run.status async for run in runs(place.store, SUBJECT)} == {RunStatus.COMPLETED}
    assert await place.kept(earlier) == kept
    assert {name: len(entries) for name, entries in (await place.kept(job.job_id)).items()} == {
        name: len(entries) for name, entries in kept.items()
    }


async def test_a_pipeline_goes_on_after_its_worker_was_killed(place: Place) -> None:
    job = await place.submit("FULL_PIPELINE")
    await place.kill("step layers")
    assert await place.finish(job.job_id) is JobStatus.COMPLETED
    assert {(run.stage, run.status) async for run in runs(place.store, SUBJECT)} == {
        (stage, RunStatus.COMPLETED) for stage in (VOTES_STAGE, TOPICS_STAGE, REPORT_STAGE)
    }
