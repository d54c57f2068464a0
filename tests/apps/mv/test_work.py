"""A project from a sentence to its film, by the jobs of a real worker."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gateleg.apps.mv.job_types import ComposeConfig, GenerateConfig
from gateleg.apps.mv.tables import Take
from gateleg.jobs import Worker, follow_async
from gateleg.objects import sniff
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


async def test_a_project_without_a_song_is_refused_unless_a_synthesised_one_is_asked_for(
    served: Served,
) -> None:
    project = await served.create(resolution=144, fps=12)
    where, owner = f"/api/mv/projects/{project['projectId']}", served["owner"]
    for work in ("generate", "generate?storyboard=true"):
        refused = await owner.post(f"{where}/{work}")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "track-missing")
        assert "demoSong" in refused.json()["error"]["details"]["fix"]
    assert (await owner.post(f"{where}/scenes", json={"sceneConcept": "He waves", "duration": 1})).status_code == 201
    assert (await owner.post(f"{where}/scenes/1/render")).json()["error"]["code"] == "track-missing"
    assert (await owner.get(where)).json()["status"] == "pending"
    begun = await owner.post(f"{where}/generate?demoSong=true&storyboard=true")
    assert begun.status_code == 202, begun.text
    assert (await owner.get(where)).json()["audioBackingTrackUrl"] is None


async def test_a_demo_song_is_made_for_scenes_that_exist(served: Served) -> None:
    project = await served.create(resolution=144, fps=12)
    where, owner = f"/api/mv/projects/{project['projectId']}", served["owner"]
    assert (await owner.post(f"{where}/scenes", json={"sceneConcept": "He waves", "duration": 1})).status_code == 201
    begun = await owner.post(f"{where}/generate?demoSong=true")
    await work(served, begun.json()["jobId"])
    done = (await owner.get(where)).json()
    assert (done["status"], done["errorMessage"], done["sceneCount"]) == ("completed", None, 1)
    assert done["audioBackingTrackUrl"] is not None


async def test_a_missing_clip_is_named_and_the_song_repeats_to_the_end(served: Served, tmp_path: Path) -> None:
    from gateleg.apps.mv.listening.sound import read_sound

    project = await served.create(resolution=144, fps=12)
    where, owner = f"/api/mv/projects/{project['projectId']}", served["owner"]
    assert (await owner.put(f"{where}/audio", content=song(tmp_path, 2.0))).status_code == 200
    for _ in range(2):
        assert (await owner.post(f"{where}/scenes", json={"sceneConcept": "He waves", "duration": 3})).status_code == 201
    await work(served, (await owner.post(f"{where}/generate")).json()["jobId"])
    film = tmp_path / "film.mp4"
    film.write_bytes((await owner.get((await owner.get(f"{where}/final-video")).json()["videoUrl"])).content)
    heard = read_sound(film)
    end = heard.samples[:, 5 * heard.rate :]
    assert float(abs(end).max()) > 0.05
    key = f"mv/projects/{project['projectId']}/scenes/takes/scene_002_0001.mp4"
    await served.host.objects.delete(key)
    await work(served, (await owner.post(f"{where}/compose")).json()["jobId"])
    failed = (await owner.get(where)).json()
    assert failed["status"] == "failed"
    assert key in failed["errorMessage"]
    assert "Render scene 2 again" in failed["errorMessage"]


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
    job = await served.host.queue.get(UUID(begun.json()["jobId"]))
    assert (job.status.value, [attempt.error for attempt in job.attempts if attempt.error is not None]) == ("COMPLETED", [])
    assert (await owner.get(f"/api/mv/jobs/{begun.json()['jobId']}/tree")).status_code == 200
    assert (await served["stranger"].get(f"/api/mv/jobs/{begun.json()['jobId']}")).status_code == 404
    takes = [take async for take in served.host.store.query(Take.in_project, project_id=UUID(project["projectId"]))]
    stills = [await served.host.objects.get(take.still_s3_key or "none") for take in takes]
    assert {sniff(still) for still in stills} == {"image/jpeg"}
    film = (await owner.get(f"{where}/final-video")).json()
    (tmp_path / "film.mp4").write_bytes((await owner.get(film["videoUrl"])).content)
    with av.open(str(tmp_path / "film.mp4")) as container:
        assert container.duration is not None
        assert abs(container.duration / av.time_base - project["audioDuration"]) < 0.1
        assert {stream.type for stream in container.streams} == {"video", "audio"}
        assert container.metadata["synopsis"] == "procedural"
    assert {"poster", "contact-sheet", "edit-list"} <= film["companionUrls"].keys()


async def test_end_of_a_lost_or_cancelled_job_is_seen_in_the_project(served: Served, tmp_path: Path) -> None:
    where, owner = await made(served, tmp_path), served["owner"]
    begun = (await owner.post(f"{where}/generate")).json()
    await served.host.queue.cancel_tree(UUID(begun["jobId"]))
    found = (await owner.get(where)).json()
    assert (found["status"], found["errorMessage"]) == ("failed", "The job was cancelled.")
    assert (await owner.post(f"{where}/cancel")).status_code == 409
    assert (await owner.post(f"{where}/retry")).status_code == 409
    again = await owner.post(f"{where}/generate")
    assert again.status_code == 202
    assert again.json()["jobId"] != begun["jobId"]
    assert (await owner.post(f"{where}/cancel")).status_code == 202
    assert (await owner.get(where)).json()["status"] == "failed"


async def test_double_submission_makes_one_job(served: Served, tmp_path: Path) -> None:
    where, owner = await made(served, tmp_path), served["owner"]
    once = {"Idempotency-Key": "tuesday"}
    answers = await asyncio.gather(*(owner.post(f"{where}/generate", headers=once) for _ in range(5)))
    jobs = {answer.json()["jobId"] for answer in answers if answer.status_code == 202}
    assert len(jobs) == 1
    assert {answer.status_code for answer in answers} <= {202, 409}


async def test_a_selection_of_scenes_is_made_again_and_locked_or_unknown_ones_are_refused(served: Served, tmp_path: Path) -> None:
    where, owner = await made(served, tmp_path), served["owner"]
    for number in range(3):
        await owner.post(f"{where}/scenes", json={"sceneConcept": f"scene {number}", "duration": 2})
    await owner.patch(f"{where}/scenes/3", json={"locked": True})
    unknown, locked = [await owner.post(f"{where}/generate?scene=1&scene={number}") for number in (9, 3)]
    assert (unknown.status_code, "no scene 9" in unknown.json()["error"]["message"]) == (404, True)
    assert (locked.status_code, locked.json()["error"]["details"]["locked"]) == (409, [3])
    begun = await owner.post(f"{where}/generate?scene=2&scene=1&scene=2")
    assert begun.status_code == 202
    assert GenerateConfig.model_validate((await served.host.queue.get(UUID(begun.json()["jobId"]))).job_config).only == (1, 2)


async def test_shapes_of_a_film_are_asked_for_in_the_address_and_unknown_ones_refused(served: Served, tmp_path: Path) -> None:
    where, owner = await made(served, tmp_path), served["owner"]
    await owner.post(f"{where}/scenes", json={"sceneConcept": "alone", "duration": 2})
    await owner.post(f"{where}/scenes/1/upload_video", content=clip(tmp_path))
    assert (await owner.post(f"{where}/compose?variants=4:3")).status_code == 422
    begun = await owner.post(f"{where}/compose?variants=9:16&variants=1:1")
    assert begun.status_code == 202, begun.text
    assert ComposeConfig.model_validate((await served.host.queue.get(UUID(begun.json()["jobId"]))).job_config).variants == ("9:16", "1:1")


def clip(folder: Path) -> bytes:
    """A second of grey."""
    import av
    import numpy as np

    with av.open(str(folder / "clip.mp4"), "w") as container:
        stream: Any = container.add_stream("h264", rate=12, width=64, height=36, pix_fmt="yuv420p")
        for _ in range(12):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((36, 64, 3), 90, dtype=np.uint8))))
        container.mux(stream.encode(None))
    return (folder / "clip.mp4").read_bytes()


async def test_scene_whose_job_is_gone_is_taken_for_failed(served: Served, tmp_path: Path) -> None:
    from uuid import uuid4

    from gateleg.apps.mv.scenes import begin_scene

    where, owner = await made(served, tmp_path), served["owner"]
    await owner.post(f"{where}/scenes", json={"sceneConcept": "alone"})
    await begin_scene(served.host.store, UUID(where.rsplit("/", 1)[1]), 1, uuid4())
    found = (await owner.get(where)).json()
    assert (found["scenes"][0]["status"], found["failedScenes"]) == ("failed", 1)


async def test_studio_costs_nothing_and_unknown_providers_stop_the_work(served: Served, tmp_path: Path) -> None:
    where, owner = await made(served, tmp_path, spendCap=1.0), served["owner"]
    assert (await owner.get(f"{where}/estimate")).json() == {
        "scenes": 0,
        "seconds": 180.0,
        "cost": 0.0,
        "spendCap": 1.0,
        "allowed": True,
    }
    await owner.patch(where, json={"provider": "costly"})
    refused = (await owner.post(f"{where}/generate")).json()["error"]
    assert (refused["code"], "providers: studio" in refused["message"]) == ("unknown-provider", True)


async def test_director_that_looks_late_does_not_take_a_finished_project_back(served: Served) -> None:
    from gateleg.apps.mv.service import move_project
    from gateleg.apps.mv.tables import Project, ProjectStatus
    from gateleg.apps.mv.work import advance

    resources = served.host.resources["mv"]
    made = await served.create()
    project_id = UUID(made["projectId"])
    for status in (ProjectStatus.QUEUED, ProjectStatus.PROCESSING):
        seen = await move_project(resources.store, project_id, status)
    for status in (ProjectStatus.COMPOSING, ProjectStatus.COMPLETED):
        done = await move_project(resources.store, project_id, status)
    for project in (seen, done):
        await advance(resources, project, ProjectStatus.COMPOSING)
    assert (await resources.store.get(Project, project_id=project_id)).status is ProjectStatus.COMPLETED
