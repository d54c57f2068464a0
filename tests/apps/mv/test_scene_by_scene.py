"""The status of a project whose scenes are rendered or uploaded one by one, as other programs see it in the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

from gateleg.apps.mv.rules import is_busy
from gateleg.apps.mv.service import begin_scenes, move_project
from gateleg.apps.mv.tables import Project, ProjectStatus
from tests.apps.mv.served import Served, serving
from tests.apps.mv.test_work import made, song, work

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from gateleg.store import AsyncStore

pytest.importorskip("skia")


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path, f"embedded:{tmp_path}/store?durability=relaxed") as served:
        yield served


def indexed(served: Served) -> list[tuple[str, str, int]]:
    """Status, id and number of finished scenes of all projects, by the index of the public schema and without the model."""
    engine: Any = served.host.store.transport.engine  # type: ignore[attr-defined]
    found = []
    for status in ProjectStatus:
        request = {
            "TableName": "MVProjects",
            "IndexName": "status-created-index",
            "KeyConditionExpression": "GSI1PK = :status",
            "ExpressionAttributeValues": {":status": {"S": status.value}},
        }
        for item in engine.call("Query", request)["Items"]:
            assert item["status"] == item["GSI1PK"]
            found.append((status.value, item["projectId"]["S"], int(item["completedScenes"]["N"])))
    return found


async def scenes_of(served: Served, where: str, count: int = 2) -> None:
    for _ in range(count):
        answer = await served["owner"].post(f"{where}/scenes", json={"sceneConcept": "He waves", "duration": 1})
        assert answer.status_code == 201


async def test_a_project_whose_scenes_are_rendered_one_by_one_is_processing_until_its_film_is_composed(
    served: Served, tmp_path: Path
) -> None:
    where, owner = await made(served, tmp_path), served["owner"]
    project_id = where.rsplit("/", 1)[1]
    await scenes_of(served, where)
    assert indexed(served) == [("pending", project_id, 0)]
    for sequence in (1, 2):
        begun = await owner.post(f"{where}/scenes/{sequence}/render")
        await work(served, begun.json()["jobId"])
        assert indexed(served) == [("processing", project_id, sequence)]
    # No job of the whole project is active, so it can be changed, and there is nothing to cancel.
    assert (await owner.patch(where, json={"title": "New"})).status_code == 200
    assert (await owner.post(f"{where}/cancel")).status_code == 409
    composed = await owner.post(f"{where}/compose")
    assert composed.status_code == 202, composed.text
    await work(served, composed.json()["jobId"])
    assert indexed(served) == [("completed", project_id, 2)]
    await work(served, (await owner.post(f"{where}/scenes/1/render")).json()["jobId"])
    assert indexed(served) == [("completed", project_id, 2)]


def clip(path: Path) -> bytes:
    """A clip of one second."""
    import av
    import numpy as np

    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=12)
        stream.width, stream.height, stream.pix_fmt = 256, 144, "yuv420p"
        for level in range(12):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((144, 256, 3), 10 * level, np.uint8), format="rgb24")))
        container.mux(stream.encode())
    return path.read_bytes()


async def test_an_uploaded_clip_counts_as_work_on_the_project_and_the_film_can_be_generated(served: Served, tmp_path: Path) -> None:
    where, owner = await made(served, tmp_path), served["owner"]
    project_id = where.rsplit("/", 1)[1]
    await scenes_of(served, where)
    uploaded = await owner.post(f"{where}/scenes/1/upload_video", content=clip(tmp_path / "clip.mp4"))
    assert uploaded.status_code == 200, uploaded.text
    assert indexed(served) == [("processing", project_id, 1)]
    begun = await owner.post(f"{where}/generate")
    assert begun.status_code == 202, begun.text
    assert indexed(served) == [("queued", project_id, 1)]
    assert (await owner.post(f"{where}/generate")).status_code == 409
    await work(served, begun.json()["jobId"])
    assert indexed(served) == [("completed", project_id, 2)]


async def test_a_film_of_uploaded_clips_says_that_its_song_is_repeated(served: Served, tmp_path: Path) -> None:
    project, owner = await served.create(resolution=144, fps=12), served["owner"]
    where = f"/api/mv/projects/{project['projectId']}"
    assert (await owner.put(f"{where}/audio", content=song(tmp_path, 1.5))).status_code == 200
    await scenes_of(served, where)
    for sequence in (1, 2):
        assert (await owner.post(f"{where}/scenes/{sequence}/upload_video", content=clip(tmp_path / "clip.mp4"))).status_code == 200
    # No job has listened to the song before.
    assert (await owner.get(where)).json()["audioDuration"] is None
    await work(served, (await owner.post(f"{where}/compose")).json()["jobId"])
    done = (await owner.get(where)).json()
    assert (done["status"], done["warnings"]) == (
        "completed",
        ["The film lasts 2.0 seconds and the song 1.5: the song is repeated."],
    )


async def test_a_failed_project_is_tried_again_and_work_on_the_whole_project_is_left_alone(store: AsyncStore, project: Project) -> None:
    async def status() -> tuple[str, UUID | None, str | None, bool]:
        now = await store.get(Project, project_id=project.project_id, consistent=True)
        return now.status.value, now.root_job_id, now.error_message, is_busy(now)

    job = uuid4()
    for changes in ([Project.root_job_id.set(job)], [Project.root_job_id.remove()]):
        await store.patch(Project, *changes, project_id=project.project_id)
        await move_project(store, project.project_id, ProjectStatus.FAILED, Project.error_message.set("No clip."))
        await begin_scenes(store, project.project_id)
        assert await status() == ("processing", None, None, False)
    await store.patch(Project, Project.status.to(ProjectStatus.QUEUED), Project.root_job_id.set(job), project_id=project.project_id)
    await begin_scenes(store, project.project_id)
    assert await status() == ("queued", job, None, True)


async def test_a_call_that_was_interrupted_between_its_two_steps_is_continued(store: AsyncStore, project: Project) -> None:
    await store.patch(Project, Project.status.to(ProjectStatus.QUEUED), project_id=project.project_id)
    assert not is_busy(await store.get(Project, project_id=project.project_id))
    await begin_scenes(store, project.project_id)
    assert (await store.get(Project, project_id=project.project_id)).status is ProjectStatus.PROCESSING
