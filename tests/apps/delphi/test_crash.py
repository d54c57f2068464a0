"""A worker that is killed in the middle of a run: another one finishes it, and earlier runs are untouched."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from gateleg.apps.delphi.conversations.synthetic import Plan, synthesise
from gateleg.apps.delphi.runs.origin import Origin
from gateleg.apps.delphi.runs.run_tables import RunStatus
from gateleg.apps.delphi.service import RESULTS, ensure_tables, latest_run, results, run_votes, runs, upload_conversation
from gateleg.apps.delphi.work import delphi_jobs
from gateleg.jobs import AsyncQueue, JobStatus, Settings, Submission, Worker, follow_async
from gateleg.objects import DirectoryObjects, Offloaded
from gateleg.store import AsyncStore

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("moment", ["0", "1", "7", "end"])
async def test_a_run_goes_on_after_its_worker_was_killed(tmp_path: Path, moment: str) -> None:
    conversation = synthesise(Plan(participants=120, comments=30)).conversation
    async with AsyncStore.connect(f"embedded:{tmp_path}") as store:
        queue = AsyncQueue(store, delphi_jobs(store, Offloaded(DirectoryObjects(tmp_path / "objects"))), Settings(lease_seconds=1.0))
        await queue.ensure_tables()
        await ensure_tables(store)
        await upload_conversation(store, conversation)
        earlier = (await queue.submit(Submission("PCA", subject=conversation.conversation_id))).job
        before = await run_votes(store, Origin(earlier.job_id, conversation.conversation_id, earlier.created_at))
        kept = {kind: [row async for row in results(store, kind, before.job_id)] for kind in RESULTS}
        await queue.cancel(earlier.job_id)

        job = (await queue.submit(Submission("PCA", subject=conversation.conversation_id))).job
        command = [sys.executable, "-m", "tests.apps.delphi.mortal_worker", str(tmp_path), moment]
        killed = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
        assert killed.returncode == -9, killed.stderr
        assert (await queue.get(job.job_id)).status is JobStatus.PROCESSING

        worker = Worker(queue)
        running = asyncio.create_task(worker.run())
        async for _ in follow_async(queue, job.job_id):
            pass
        worker.stop()
        await running
        assert (await queue.get(job.job_id)).status is JobStatus.COMPLETED
        assert (await latest_run(store, conversation.conversation_id)).job_id == job.job_id
        assert [run.status async for run in runs(store, conversation.conversation_id)] == [RunStatus.COMPLETED, RunStatus.COMPLETED]
        assert {kind: [row async for row in results(store, kind, before.job_id)] for kind in RESULTS} == kept
        for kind in RESULTS:
            assert len([row async for row in results(store, kind, job.job_id)]) == len(kept[kind])
