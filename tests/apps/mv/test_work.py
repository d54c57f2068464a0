"""A project from a sentence to its film, by the jobs of a real worker."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gateleg.jobs import Worker, follow_async
from tests.apps.mv.served import Served, serving

pytest.importorskip("skia")


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path, f"embedded:{tmp_path}/store?durability=relaxed") as served:
        yield served


def song(folder: Path, seconds: float = 5.0) -> bytes:
    from gateleg.apps.mv.listening.sound import write_wave
    from gateleg.apps.mv.music import synthesise_song

    write_wave(synthesise_song(seconds, tempo=120.0).sound, folder / "song.wav")
    return (folder / "song.wav").read_bytes()


async def made(served: Served, folder: Path, **changes: Any) -> str:
    """A small project with a track."""
    project = await served.create(resolution=144, fps=12, title="Austin", **changes)
    where = f"/api/mv/projects/{project['projectId']}"
    assert (await served["owner"].put(f"{where}/audio", content=song(folder))).status_code == 200
    return where


async def work(served: Served, job_id: str) -> None:
    """Work until a job has ended."""
    worker = Worker(served.host.queue, concurrency=2)
    running = asyncio.ensure_future(worker.run())
    try:
        async for _ in follow_async(served.host.queue, UUID(job_id)):
            pass
    finally:
        worker.stop()
        await running


async def test_sentence_and_song_become_a_film(served: Served, tmp_path: Path) -> None:
    import av

    where, owner = await made(served, tmp_path), served["owner"]
    begun = await owner.post(f"{where}/generate")
    assert begun.status_code == 202, begun.text
    assert (await owner.get(where)).json()["status"] == "queued"
    assert (await owner.post(f"{where}/generate")).status_code == 409
    await work(served, begun.json()["jobId"])
    project = (await owner.get(where)).json()
    assert (project["status"], project["errorMessage"]) == ("completed", None)
    assert project["completedScenes"] == project["sceneCount"] == len(project["scenes"]) > 0
    film = (await owner.get(f"{where}/final-video")).json()
    (tmp_path / "film.mp4").write_bytes((await owner.get(film["videoUrl"])).content)
    with av.open(str(tmp_path / "film.mp4")) as container:
        assert container.duration is not None
        assert abs(container.duration / av.time_base - project["audioDuration"]) < 0.1
        assert {stream.type for stream in container.streams} == {"video", "audio"}
        assert container.metadata["synopsis"] == "procedural"
    assert {"poster", "contact-sheet", "edit-list"} <= film["companionUrls"].keys()
