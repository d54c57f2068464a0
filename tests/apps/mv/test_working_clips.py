"""The working clip of a scene: its part of the original clip, cut by the job that composes the film."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from gateleg.apps.mv import object_keys, scenes
from gateleg.apps.mv.playing import playing_clip
from gateleg.apps.mv.service import load_project
from gateleg.apps.mv.tables import Project, Scene, TrimPoints
from gateleg.apps.mv.takes import store_working_clip
from tests.apps.mv.served import Served, serving
from tests.apps.mv.test_playing import Edited
from tests.apps.mv.test_work import made, work

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore

pytest.importorskip("skia")


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path, f"embedded:{tmp_path}/store?durability=relaxed") as served:
        yield served


def row(served: Served, where: str, sequence: int = 1) -> dict[str, Any]:
    """The clips of a scene as they are stored, without the model."""
    key = {"PK": {"S": f"PROJECT#{where.rsplit('/', 1)[1]}"}, "SK": {"S": f"SCENE#{sequence:03d}"}}
    item = served.host.store.transport.engine.call("GetItem", {"TableName": "MVProjects", "Key": key})["Item"]  # type: ignore[attr-defined]
    names = ("videoClipS3Key", "originalVideoClipS3Key", "workingVideoClipS3Key")
    return {name: item.get(name, {}).get("S") for name in names}


async def test_the_film_cuts_the_working_clip_and_a_trim_or_take_forgets_it(served: Served, tmp_path: Path) -> None:
    from gateleg.apps.mv.composing.conforming import probe_clip

    where, owner, objects = await made(served, tmp_path), served["owner"], served.host.objects
    project_id = UUID(where.rsplit("/", 1)[1])
    current, take = object_keys.scene_key(project_id, 1), object_keys.take_key(project_id, 1, 1)
    working = object_keys.working_key(project_id, 1)
    for _ in range(2):
        assert (await owner.post(f"{where}/scenes", json={"sceneConcept": "He waves", "duration": 2})).status_code == 201
    await work(served, (await owner.post(f"{where}/generate")).json()["jobId"])
    whole = {"videoClipS3Key": current, "originalVideoClipS3Key": take, "workingVideoClipS3Key": None}
    assert row(served, where) == whole
    original = await objects.get(take)

    trimmed = await owner.post(f"{where}/scenes/1/trim", json={"trimPoints": {"in": 0.5, "out": 1.5}})
    assert trimmed.status_code == 200, trimmed.text
    assert row(served, where) == whole
    await work(served, (await owner.post(f"{where}/compose")).json()["jobId"])
    assert row(served, where) == {"videoClipS3Key": working, "originalVideoClipS3Key": take, "workingVideoClipS3Key": working}
    assert row(served, where, 2)["workingVideoClipS3Key"] is None
    (tmp_path / "working.mp4").write_bytes(await objects.get(working))
    assert abs(probe_clip(tmp_path / "working.mp4").seconds - 1.0) < 0.1
    assert await objects.get(take) == await objects.get(current) == original
    scene = (await owner.get(f"{where}/scenes/1")).json()
    assert scene["workingVideoClipUrl"] == scene["videoClipUrl"] != scene["originalVideoClipUrl"]

    # The next film is cut from the original again, not from the part that the last one played.
    wider = await owner.post(f"{where}/scenes/1/trim", json={"trimPoints": {"in": 0.0, "out": 1.8}})
    assert wider.status_code == 200, wider.text
    assert row(served, where) == whole
    await work(served, (await owner.post(f"{where}/compose")).json()["jobId"])
    (tmp_path / "working.mp4").write_bytes(await objects.get(working))
    assert abs(probe_clip(tmp_path / "working.mp4").seconds - 1.8) < 0.1
    await work(served, (await owner.post(f"{where}/scenes/1/render")).json()["jobId"])
    assert row(served, where) == {**whole, "originalVideoClipS3Key": object_keys.take_key(project_id, 1, 2)}

    assert (await owner.post(f"{where}/duplicate")).status_code == 201
    assert (await owner.delete(f"{where}/scenes/1")).status_code == 200
    assert not await objects.exists(working)


async def test_the_halves_of_a_split_scene_have_no_working_clip(
    store: AsyncStore, objects: AsyncObjects, project: Project, tmp_path: Path
) -> None:
    edited = await Edited(store, objects, project, tmp_path).prepare()
    (tmp_path / "cut.mp4").write_bytes(b"part")
    scene = await scenes.trim_scene(store, project.project_id, 2, TrimPoints(start=1, end=3))
    await store_working_clip(store, objects, scene, tmp_path / "cut.mp4")
    first, second = await scenes.split_scene(store, project.project_id, 2, 1.0)
    take = object_keys.take_key(project.project_id, 2, 2)
    assert (first.video_clip_s3_key, first.working_video_clip_s3_key) == (object_keys.scene_key(project.project_id, 2), None)
    assert (second.video_clip_s3_key, second.working_video_clip_s3_key) == (take, None)
    assert second.trim_points == TrimPoints(start=2, end=3)
    assert edited.project_id == project.project_id


async def test_a_scene_that_was_changed_or_deleted_meanwhile_does_not_get_the_clip(
    store: AsyncStore, objects: AsyncObjects, project: Project, tmp_path: Path
) -> None:
    edited = await Edited(store, objects, project, tmp_path).prepare()
    (tmp_path / "cut.mp4").write_bytes(b"part")
    read = await scenes.trim_scene(store, project.project_id, 1, TrimPoints(start=1, end=3))
    now = await scenes.trim_scene(store, project.project_id, 1, TrimPoints(start=0, end=2))
    await store_working_clip(store, objects, read, tmp_path / "cut.mp4")
    assert (await scenes.get_scene(store, project.project_id, 1)).working_video_clip_s3_key is None
    await store_working_clip(store, objects, now, tmp_path / "cut.mp4")
    assert (await scenes.get_scene(store, project.project_id, 1)).working_video_clip_s3_key is not None
    await edited.take(1)
    assert (await scenes.get_scene(store, project.project_id, 1)).working_video_clip_s3_key is None
    await scenes.delete_scene(store, objects, project.project_id, 1)
    await store_working_clip(store, objects, now, tmp_path / "cut.mp4")
    assert not await objects.exists(object_keys.working_key(project.project_id, 1))


async def test_clips_of_another_program_play_as_it_stored_them(
    store: AsyncStore, objects: AsyncObjects, project: Project, tmp_path: Path
) -> None:
    await scenes.add_scenes(store, project.project_id, [scenes.SceneDraft("He waves", 2.0) for _ in range(3)])
    trim = Scene.trim_points.set(TrimPoints(start=1, end=2))
    # Only its trimmed clip; the original beside it; only the clip of the public schema.
    stored = {
        1: [Scene.working_video_clip_s3_key.set("mv/theirs/working.mp4")],
        2: [Scene.working_video_clip_s3_key.set("mv/theirs/working.mp4"), Scene.original_video_clip_s3_key.set("mv/theirs/whole.mp4")],
        3: [Scene.video_clip_s3_key.set("mv/theirs/whole.mp4")],
    }
    for sequence, actions in stored.items():
        await store.patch(Scene, *actions, trim, project_id=project.project_id, sequence=sequence)
    loaded = await load_project(store, project.project_id)
    part = TrimPoints(start=1, end=2)
    played = [playing_clip(loaded, scene) for scene in loaded.scenes]
    assert played == [("mv/theirs/working.mp4", None), ("mv/theirs/whole.mp4", part), ("mv/theirs/whole.mp4", part)]
    (tmp_path / "cut.mp4").write_bytes(b"part")
    await store_working_clip(store, objects, loaded.scenes[2], tmp_path / "cut.mp4")
    after = await load_project(store, project.project_id)
    assert playing_clip(after, after.scenes[2]) == ("mv/theirs/whole.mp4", part)
    first, second = await scenes.split_scene(store, project.project_id, 3, 1.0)
    assert (first.video_clip_s3_key, second.video_clip_s3_key) == ("mv/theirs/whole.mp4", "mv/theirs/whole.mp4")
