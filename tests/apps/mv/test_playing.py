"""Which clip of a scene plays: a lip-synced one only as long as it belongs to what the scene plays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gateleg.apps.mv import object_keys, scenes, uploads
from gateleg.apps.mv.playing import is_lip_synced, lip_sync_source, playing_clip
from gateleg.apps.mv.service import load_project
from gateleg.apps.mv.tables import Project, Scene, Take, TrimPoints
from gateleg.web.uploads import ReceivedFile

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path
    from uuid import UUID

    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore


class Edited:
    """A project of three scenes with two takes each, whose second scene is lip-synced."""

    def __init__(self, store: AsyncStore, objects: AsyncObjects, project: Project, folder: Path) -> None:
        self.store, self.objects, self.project, self.folder = store, objects, project, folder
        self.project_id: UUID = project.project_id

    async def prepare(self, *, known: bool = True) -> Edited:
        await self.track(b"first")
        await scenes.add_scenes(self.store, self.project_id, [scenes.SceneDraft(f"Scene {at}", 4.0) for at in range(3)])
        for sequence in (1, 2, 3):
            for _ in range(2):
                await self.take(sequence)
        loaded = await load_project(self.store, self.project_id)
        key = object_keys.lip_sync_key(self.project_id, 2)
        made = [Scene.lip_synced_video_clip_s3_key.set(key)]
        made += [Scene.lip_sync_source.set(lip_sync_source(loaded, loaded.scenes[1]))] if known else []
        await self.store.patch(loaded.scenes[1], *made)
        return self

    async def take(self, sequence: int) -> None:
        number = await scenes.next_take(self.store, self.project_id, sequence)
        key = object_keys.take_key(self.project_id, sequence, number)
        await self.objects.put(key, b"clip")
        facts: dict[str, Any] = {"clip_s3_key": key, "prompt": "p", "provider": "studio", "duration": 4.0}
        await scenes.finish_take(self.store, Take(project_id=self.project_id, sequence=sequence, take=number, **facts))

    async def track(self, content: bytes) -> None:
        path = self.folder / "song.wav"
        path.write_bytes(content)
        file = ReceivedFile(path=path, name="song.wav", size=len(content), content_type="audio/wav", sha256="")
        project = await self.store.get(Project, project_id=self.project_id)
        await uploads.store_asset(self.store, self.objects, project, "audio", file)

    async def lip_synced(self) -> tuple[bool, bool]:
        """Whether the second scene has a lip-synced clip, and whether a film plays it."""
        loaded = await load_project(self.store, self.project_id)
        scene = next(scene for scene in loaded.scenes if scene.sequence == 2)
        key, _ = playing_clip(loaded, scene)
        return scene.lip_synced_video_clip_s3_key is not None, key == object_keys.lip_sync_key(self.project_id, 2)


CHANGES: dict[str, Callable[[Edited], Awaitable[object]]] = {
    "trim": lambda e: scenes.trim_scene(e.store, e.project_id, 2, TrimPoints(start=1, end=2)),
    "trim of a scene before": lambda e: scenes.trim_scene(e.store, e.project_id, 1, TrimPoints(start=1, end=2)),
    "reorder": lambda e: scenes.reorder(e.store, e.project_id, [2, 1, 3]),
    "new take": lambda e: e.take(2),
    "earlier take": lambda e: scenes.use_take(e.store, e.objects, e.project_id, 2, 1),
    "new track": lambda e: e.track(b"second"),
    "split": lambda e: scenes.split_scene(e.store, e.project_id, 2, 1.0),
    "length": lambda e: scenes.edit_scene(e.store, e.project_id, 2, [Scene.duration.set(3.0)]),
    "length of a scene before": lambda e: scenes.edit_scene(e.store, e.project_id, 1, [Scene.duration.set(3.0)]),
    "scene before deleted": lambda e: scenes.delete_scene(e.store, e.objects, e.project_id, 1),
    "scene before added": lambda e: scenes.add_scenes(e.store, e.project_id, [scenes.SceneDraft("New", 1.0)], 1),
}
KEPT: dict[str, Callable[[Edited], Awaitable[object]]] = {
    "nothing": lambda e: load_project(e.store, e.project_id),
    "trim of a scene after": lambda e: scenes.trim_scene(e.store, e.project_id, 3, TrimPoints(start=1, end=2)),
    "text": lambda e: scenes.edit_scene(e.store, e.project_id, 2, [Scene.prompt.set("Another text")]),
    "scene after": lambda e: scenes.add_scenes(e.store, e.project_id, [scenes.SceneDraft("New", 1.0)]),
    "same track again": lambda e: e.track(b"first"),
}


@pytest.mark.parametrize("known", [True, False], ids=["new", "of an earlier release"])
@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_of_what_a_scene_plays_removes_its_lip_synced_clip(
    change: str, known: bool, store: AsyncStore, objects: AsyncObjects, project: Project, tmp_path: Path
) -> None:
    edited = await Edited(store, objects, project, tmp_path).prepare(known=known)
    assert await edited.lip_synced() == (True, True)
    await CHANGES[change](edited)
    assert await edited.lip_synced() == (False, False)


@pytest.mark.parametrize("known", [True, False], ids=["new", "of an earlier release"])
@pytest.mark.parametrize("change", KEPT)
async def test_other_changes_keep_it(
    change: str, known: bool, store: AsyncStore, objects: AsyncObjects, project: Project, tmp_path: Path
) -> None:
    edited = await Edited(store, objects, project, tmp_path).prepare(known=known)
    await KEPT[change](edited)
    assert await edited.lip_synced() == (True, True)


async def test_a_stale_clip_that_another_program_left_is_not_played(
    store: AsyncStore, objects: AsyncObjects, project: Project, tmp_path: Path
) -> None:
    edited = await Edited(store, objects, project, tmp_path).prepare()
    # Another program writes the row itself.
    await store.patch(Scene, Scene.trim_points.set(TrimPoints(start=0, end=2)), project_id=project.project_id, sequence=2)
    loaded = await load_project(store, project.project_id)
    assert not is_lip_synced(loaded, loaded.scenes[1])
    assert await edited.lip_synced() == (True, False)
