"""A worker that is killed while it renders: another one finishes the film, and no scene is made twice."""

import asyncio
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from gateleg.apps.mv.service import load_project
from gateleg.apps.mv.tables import FinalVersion, ProjectStatus, Take
from gateleg.jobs import follow_async
from tests.apps.mv.mortal_worker import worker_of
from tests.apps.mv.served import serving
from tests.apps.mv.test_work import made

pytestmark = pytest.mark.crash
pytest.importorskip("skia")


@pytest.mark.parametrize("count", [0, 1])
async def test_film_is_finished_after_its_worker_was_killed(tmp_path: Path, count: int) -> None:
    async with serving(tmp_path, f"embedded:{tmp_path}/store?durability=relaxed") as served:
        where = await made(served, tmp_path)
        project_id = UUID(where.rsplit("/", 1)[1])
        begun = (await served["owner"].post(f"{where}/generate")).json()
        command = [sys.executable, "-m", "tests.apps.mv.mortal_worker", str(tmp_path), str(project_id), str(count)]
        killed = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False, timeout=300)
        assert killed.returncode == -9, killed.stderr
        before = await load_project(served.host.store, project_id)
        assert before.project.status is ProjectStatus.PROCESSING

        worker = worker_of(served.host, tmp_path)
        running = asyncio.ensure_future(worker.run())
        async for _ in follow_async(served.host.queue, UUID(begun["jobId"])):
            pass
        worker.stop()
        await running

        job = await served.host.queue.get(UUID(begun["jobId"]))
        assert (job.status.value, [attempt.error for attempt in job.attempts if attempt.error is not None]) == ("COMPLETED", [])
        after = await load_project(served.host.store, project_id)
        assert (after.project.status, after.project.error_message) == (ProjectStatus.COMPLETED, None)
        takes = [take async for take in served.host.store.query(Take.in_project, project_id=project_id)]
        assert sorted((take.sequence, take.take) for take in takes) == [(scene.sequence, 1) for scene in after.scenes]
        films = [film.number async for film in served.host.store.query(FinalVersion.of_project, project_id=project_id)]
        assert films == [1]
        assert [path for path in (tmp_path / "scratch").rglob("*") if path.is_file() and path.suffix in (".mp4", ".part", ".wav")] == []
