"""Projects, scenes and takes, also when several work on one project at once."""

import asyncio
import random
from uuid import uuid4

import pytest

from gateleg.apps.mv import object_keys
from gateleg.apps.mv.rules import BadOrder, BadProject, TooManyScenes, WrongProjectState
from gateleg.apps.mv.scenes import (
    SceneDraft,
    add_scenes,
    begin_scene,
    delete_scene,
    fail_scene,
    finish_take,
    get_scene,
    next_take,
    reorder,
    split_scene,
)
from gateleg.apps.mv.service import create_project, delete_project, load_project, move_project, projects_in, projects_of, status_board
from gateleg.apps.mv.tables import Mode, Project, ProjectStatus, SceneStatus, Take, projects_table
from gateleg.host.errors import Unknown
from gateleg.objects import AsyncObjects
from gateleg.store import AsyncStore


def drafts(count: int) -> list[SceneDraft]:
    return [SceneDraft(prompt=f"Scene {number}", duration=4.0) for number in range(count)]


def take_of(project: Project, sequence: int, number: int) -> Take:
    key = object_keys.take_key(project.project_id, sequence, number)
    return Take(project_id=project.project_id, sequence=sequence, take=number, clip_s3_key=key, prompt="p", provider="studio", duration=4)


async def check_counts(store: AsyncStore, project: Project) -> None:
    """The law: the counts of a project are those of its scenes, and its order names each of them once."""
    loaded = await load_project(store, project.project_id)
    scenes = loaded.scenes
    assert loaded.project.scene_count == len(scenes) == len(set(loaded.project.scene_order)) == len(loaded.project.scene_order)
    assert loaded.project.completed_scenes == sum(scene.status is SceneStatus.COMPLETED for scene in scenes)
    assert loaded.project.failed_scenes == sum(scene.status is SceneStatus.FAILED for scene in scenes)


async def test_scenes_are_added_in_their_places(store: AsyncStore, project: Project) -> None:
    await add_scenes(store, project.project_id, drafts(3))
    await add_scenes(store, project.project_id, [SceneDraft(prompt="between", duration=2)], position=2)
    loaded = await load_project(store, project.project_id)
    assert [scene.sequence for scene in loaded.scenes] == [1, 4, 2, 3]
    assert loaded.position(4) == 2
    await check_counts(store, project)


async def test_more_scenes_than_a_transaction_takes_are_added_in_order(store: AsyncStore, project: Project) -> None:
    await add_scenes(store, project.project_id, drafts(2))
    await add_scenes(store, project.project_id, drafts(120), position=2)
    loaded = await load_project(store, project.project_id)
    assert loaded.project.scene_order == [1, *range(3, 123), 2]
    await check_counts(store, project)


async def test_sequences_are_never_used_twice(store: AsyncStore, objects: AsyncObjects, project: Project) -> None:
    await add_scenes(store, project.project_id, drafts(3))
    await delete_scene(store, objects, project.project_id, 3)
    (added,) = await add_scenes(store, project.project_id, drafts(1))
    assert added.sequence == 4


async def test_concurrent_additions_lose_nothing(store: AsyncStore, project: Project) -> None:
    await asyncio.gather(*(add_scenes(store, project.project_id, drafts(2)) for _ in range(10)))
    loaded = await load_project(store, project.project_id)
    assert sorted(loaded.project.scene_order) == list(range(1, 21))
    await check_counts(store, project)


@pytest.mark.parametrize("seed", range(3))
async def test_counts_hold_under_any_interleaving(store: AsyncStore, objects: AsyncObjects, project: Project, seed: int) -> None:
    await add_scenes(store, project.project_id, drafts(6))
    chance = random.Random(seed)

    async def work(sequence: int) -> None:
        for _ in range(3):
            try:
                await begin_scene(store, project.project_id, sequence)
                await asyncio.sleep(0)
                if chance.random() < 0.4:
                    await fail_scene(store, project.project_id, sequence, "no luck")
                else:
                    number = await next_take(store, project.project_id, sequence)
                    await finish_take(store, take_of(project, sequence, number))
            except Unknown:
                return

    async def edit() -> None:
        await add_scenes(store, project.project_id, drafts(1), position=2)
        await delete_scene(store, objects, project.project_id, 2)
        order = (await load_project(store, project.project_id)).project.scene_order
        await reorder(store, project.project_id, order[::-1])

    await asyncio.gather(*(work(sequence) for sequence in range(1, 7)), edit())
    await check_counts(store, project)


async def test_scene_that_is_deleted_while_it_is_made_stays_deleted(store: AsyncStore, objects: AsyncObjects, project: Project) -> None:
    await add_scenes(store, project.project_id, drafts(2))
    await begin_scene(store, project.project_id, 2)
    await delete_scene(store, objects, project.project_id, 2)
    with pytest.raises(Unknown):
        await finish_take(store, take_of(project, 2, 1))
    assert await fail_scene(store, project.project_id, 2, "too late") is None
    await check_counts(store, project)


async def test_failed_scene_counts_its_retry(store: AsyncStore, project: Project) -> None:
    await add_scenes(store, project.project_id, drafts(1))
    await begin_scene(store, project.project_id, 1)
    await fail_scene(store, project.project_id, 1, "the provider is away")
    failed = await get_scene(store, project.project_id, 1)
    assert (failed.status, failed.error_message, failed.retry_count) == (SceneStatus.FAILED, "the provider is away", 0)
    again = await begin_scene(store, project.project_id, 1)
    assert (again.status, again.error_message, again.retry_count) == (SceneStatus.PROCESSING, None, 1)


async def test_new_take_plays_and_the_old_one_is_kept(store: AsyncStore, project: Project) -> None:
    await add_scenes(store, project.project_id, drafts(1))
    for _ in range(2):
        await begin_scene(store, project.project_id, 1)
        scene = await finish_take(store, take_of(project, 1, await next_take(store, project.project_id, 1)))
    assert (scene.take, scene.status) == (2, SceneStatus.COMPLETED)
    assert scene.video_clip_s3_key == object_keys.scene_key(project.project_id, 1)
    takes = [take.take async for take in store.query(Take.of_scene, project_id=project.project_id, sequence=1)]
    assert takes == [2, 1]
    assert await finish_take(store, take_of(project, 1, 2)) == scene


async def test_split_scene_plays_the_same_clip_on(store: AsyncStore, project: Project) -> None:
    await add_scenes(store, project.project_id, drafts(2))
    await begin_scene(store, project.project_id, 1)
    await finish_take(store, take_of(project, 1, await next_take(store, project.project_id, 1)))
    first, second = await split_scene(store, project.project_id, 1, 1.5)
    assert (first.duration, second.duration) == (1.5, 2.5)
    assert first.trim_points is not None
    assert second.trim_points is not None
    assert (first.trim_points.end, second.trim_points.start, second.trim_points.end) == (1.5, 1.5, 4.0)
    assert second.original_video_clip_s3_key == first.original_video_clip_s3_key
    assert (await load_project(store, project.project_id)).project.scene_order == [1, 3, 2]
    await check_counts(store, project)
    with pytest.raises(BadOrder, match="cannot be split"):
        await split_scene(store, project.project_id, 1, 9)


@pytest.mark.parametrize("wanted", [[1, 2], [1, 2, 2], [1, 2, 4], [1, 2, 3, 3]])
async def test_order_names_each_scene_once(store: AsyncStore, project: Project, wanted: list[int]) -> None:
    await add_scenes(store, project.project_id, drafts(3))
    with pytest.raises(BadOrder):
        await reorder(store, project.project_id, wanted)
    assert (await reorder(store, project.project_id, [3, 1, 2])).scene_order == [3, 1, 2]


async def test_project_keeps_a_scene_and_its_film(store: AsyncStore, objects: AsyncObjects, project: Project) -> None:
    await add_scenes(store, project.project_id, drafts(2))
    await delete_scene(store, objects, project.project_id, 1)
    with pytest.raises(WrongProjectState, match="last scene"):
        await delete_scene(store, objects, project.project_id, 2)


async def test_room_for_scenes_ends_clearly(store: AsyncStore, project: Project) -> None:
    await store.patch(project, Project.last_sequence.set(999))
    with pytest.raises(TooManyScenes, match="999"):
        await add_scenes(store, project.project_id, drafts(1))


async def test_deleted_project_leaves_nothing(store: AsyncStore, objects: AsyncObjects, project: Project) -> None:
    await add_scenes(store, project.project_id, drafts(3))
    await begin_scene(store, project.project_id, 1)
    await finish_take(store, take_of(project, 1, await next_take(store, project.project_id, 1)))
    for name in ("audio.mp3", "scenes/scene_001.mp4", "scenes/takes/scene_001_0001.mp4"):
        await objects.put(f"{object_keys.project_prefix(project.project_id)}{name}", b"x", content_type="video/mp4")
    assert await delete_project(store, objects, project.project_id) == 3
    assert [entry async for entry in objects.walk("mv/")] == []
    assert [item async for item in store.scan(projects_table)] == []


async def test_deleted_scene_leaves_no_clip(store: AsyncStore, objects: AsyncObjects, project: Project) -> None:
    await add_scenes(store, project.project_id, drafts(2))
    await begin_scene(store, project.project_id, 1)
    await finish_take(store, take_of(project, 1, await next_take(store, project.project_id, 1)))
    for key in (object_keys.scene_key(project.project_id, 1), object_keys.take_key(project.project_id, 1, 1)):
        await objects.put(key, b"x", content_type="video/mp4")
    await delete_scene(store, objects, project.project_id, 1)
    assert [entry async for entry in objects.walk("mv/")] == []


async def test_lists_and_the_status_board(store: AsyncStore, project: Project) -> None:
    other = await store.create(Project(owner_id="/bob", concept_prompt="Sea", character_description="Whale"))
    await move_project(store, other.project_id, ProjectStatus.GENERATING_SCENES)
    assert [found.project_id for found in (await projects_of(store, "/ann", 10)).items] == [project.project_id]
    assert [found.project_id for found in (await projects_in(store, ProjectStatus.GENERATING_SCENES, 10)).items] == [other.project_id]
    board = {row.status: row for row in await status_board(store)}
    assert (board[ProjectStatus.PENDING].count, board[ProjectStatus.GENERATING_SCENES].count) == (1, 1)
    assert board[ProjectStatus.PENDING].oldest == project.created_at
    assert board[ProjectStatus.COMPLETED].count == 0


async def test_project_needs_what_its_mode_needs(store: AsyncStore) -> None:
    with pytest.raises(BadProject, match="characterDescription"):
        await create_project(store, Project(owner_id="/ann", concept_prompt="Robot"))
    with pytest.raises(BadProject, match="productDescription"):
        await create_project(store, Project(owner_id="/ann", concept_prompt="Robot", mode=Mode.AD_CREATIVE))


async def test_unknown_project_is_unknown(store: AsyncStore) -> None:
    with pytest.raises(Unknown):
        await load_project(store, uuid4())
