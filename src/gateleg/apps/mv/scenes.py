"""Use cases: scenes and their takes.

A scene's sequence number is never reused. The order of the scenes is one list on the project. The project's counts are updated in the
transaction that changes a scene, so they stay correct under concurrent writes.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv import object_keys, rules
from gateleg.apps.mv.playing import is_stale, whole_clip
from gateleg.apps.mv.service import load_project
from gateleg.apps.mv.tables import Project, Scene, SceneStatus, Take, TrimPoints
from gateleg.host.errors import Unknown
from gateleg.model.inspection import is_refused
from gateleg.store import ConditionFailed, NotFound, TransactionCanceled, TransactionConflict, create, delete, patch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from uuid import UUID

    from gateleg.model import UpdateAction
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore, WriteOperation

#: How many times a change is retried on conflicts with concurrent writes.
_ATTEMPTS = 50
#: The maximum number of scenes created in one transaction, together with the project. DynamoDB allows 100 writes.
_MAX_ADDED_TOGETHER = 90


@dataclass(frozen=True, slots=True)
class SceneDraft:
    """A scene to be added."""

    prompt: str
    duration: float
    negative_prompt: str | None = None
    needs_lip_sync: bool = False
    reference_image_s3_keys: tuple[str, ...] = ()
    plan: tuple[tuple[str, str | float | bool], ...] = ()

    def scene(self, project_id: UUID, sequence: int) -> Scene:
        """The scene, with its sequence number."""
        return Scene(
            project_id=project_id,
            sequence=sequence,
            prompt=self.prompt,
            duration=self.duration,
            negative_prompt=self.negative_prompt,
            needs_lip_sync=self.needs_lip_sync,
            reference_image_s3_keys=list(self.reference_image_s3_keys),
            plan=dict(self.plan),
        )


async def add_scenes(store: AsyncStore, project_id: UUID, drafts: Sequence[SceneDraft], position: int | None = None) -> list[Scene]:
    """Add scenes at a position, or at the end. Up to 90 scenes are added atomically."""
    added: list[Scene] = []
    for start in range(0, len(drafts), _MAX_ADDED_TOGETHER):
        part = drafts[start : start + _MAX_ADDED_TOGETHER]
        at = None if position is None else position + start
        added += await _change_order(store, project_id, partial(_add, part, at))
    return added


async def _add(drafts: Sequence[SceneDraft], position: int | None, project: Project) -> _OrderChange:
    sequences = rules.next_sequences(project, len(drafts))
    scenes = [draft.scene(project.project_id, sequence) for draft, sequence in zip(drafts, sequences, strict=True)]
    order = rules.insert_scenes(project.scene_order, sequences, position)
    return _OrderChange(order, [create(scene) for scene in scenes], last=sequences[-1])


async def reorder(store: AsyncStore, project_id: UUID, wanted: Sequence[int]) -> Project:
    """Change the playing order, atomically."""

    async def change(project: Project) -> _OrderChange:
        return _OrderChange(rules.check_order(project.scene_order, wanted), [])

    await _change_order(store, project_id, change)
    return await store.get(Project, project_id=project_id, consistent=True)


async def split_scene(store: AsyncStore, project_id: UUID, sequence: int, at: float) -> list[Scene]:
    """Split a scene `at` seconds after its start, and return both halves. The second one is a new scene with the rest of the clip."""

    async def change(project: Project) -> _OrderChange:
        scene = await get_scene(store, project_id, sequence)
        if not 0 < at < scene.duration:
            raise rules.BadOrder(
                f"Scene {sequence} lasts {scene.duration:g} s and cannot be split at {at:g} s.", fix="Choose a time within the scene."
            )
        (second,) = rules.next_sequences(project, 1)
        first: list[UpdateAction] = [Scene.duration.set(at)]
        if scene.video_clip_s3_key is not None:
            start = scene.trim_points.start if scene.trim_points else 0.0
            first += [Scene.trim_points.set(TrimPoints(start=start, end=start + at)), *_uncut(scene)]
        order = rules.insert_scenes(project.scene_order, [second], project.scene_order.index(sequence) + 2)
        return _OrderChange(order, [patch(scene, *first), create(_second_half(scene, second, at))], last=second)

    await _change_order(store, project_id, change)
    loaded = await load_project(store, project_id)
    place = loaded.position(sequence)
    return list(loaded.scenes[place - 1 : place + 1])


def _second_half(scene: Scene, sequence: int, at: float) -> Scene:
    start = (scene.trim_points.start if scene.trim_points else 0.0) + at
    trim = TrimPoints(start=start, end=start + scene.duration - at) if scene.video_clip_s3_key is not None else None
    # Both halves use the key of the take, because later takes replace the object at the scene's own key.
    fresh: dict[str, Any] = {"sequence": sequence, "duration": scene.duration - at, "trim_points": trim, "version": 0}
    fresh |= {"video_clip_s3_key": whole_clip(scene), "working_video_clip_s3_key": None}
    fresh |= {"take": 0, "last_take": 0, "video_generation_job_id": None}
    fresh |= {"lipsync_job_id": None, "lip_synced_video_clip_s3_key": None, "lip_sync_source": None}
    return Scene(**{**{name: getattr(scene, name) for name in Scene.model_fields}, **fresh})


@asynccontextmanager
async def removing_stale_lip_syncs(store: AsyncStore, project_id: UUID) -> AsyncIterator[None]:
    """Remove the lip-synced clips that no longer belong to what their scenes play after the change in this block.

    If a process dies in between, a film still does not use them: see `playing.is_lip_synced`.
    """
    before = await load_project(store, project_id)
    yield
    if all(scene.lip_synced_video_clip_s3_key is None for scene in before.scenes):
        return
    after = await load_project(store, project_id)
    for scene in after.scenes:
        if is_stale(before, after, scene):
            actions = [Scene.lip_synced_video_clip_s3_key.remove(), Scene.lip_sync_source.remove()]
            try:
                await store.patch(scene, *actions, condition=Scene.lip_synced_video_clip_s3_key == scene.lip_synced_video_clip_s3_key)
            except (ConditionFailed, NotFound):
                # Another change has replaced the clip, or deleted the scene.
                continue


async def get_scene(store: AsyncStore, project_id: UUID, sequence: int) -> Scene:
    """The current state of a scene. Raises `Unknown` if it does not exist."""
    scene = await store.find(Scene, project_id=project_id, sequence=sequence, consistent=True)
    if scene is None:
        raise Unknown(f"There is no scene {sequence} in this project.", fix="GET /api/mv/projects/{id} lists its scenes.")
    return scene


async def edit_scene(
    store: AsyncStore, project_id: UUID, sequence: int, actions: Sequence[UpdateAction], version: int | None = None
) -> Scene:
    """Change attributes of a scene; with a `version`, only if it still has that version."""
    condition = None if version is None else Scene.version == version
    try:
        async with removing_stale_lip_syncs(store, project_id):
            await store.patch(Scene, *actions, project_id=project_id, sequence=sequence, condition=condition)
    except NotFound:
        raise Unknown(f"There is no scene {sequence} in this project.") from None
    return await get_scene(store, project_id, sequence)


async def begin_scene(store: AsyncStore, project_id: UUID, sequence: int, job_id: UUID | None = None) -> Scene:
    """Mark a scene as processing. For a failed scene, this counts a retry. A scene that is already processing stays unchanged."""

    def decide(scene: Scene) -> list[UpdateAction]:
        if scene.status is SceneStatus.PROCESSING:
            return []
        actions: list[UpdateAction] = [Scene.status.to(SceneStatus.PROCESSING), Scene.error_message.remove()]
        if job_id is not None:
            actions.append(Scene.video_generation_job_id.set(job_id))
        if scene.status is SceneStatus.FAILED:
            actions.append(Scene.retry_count.add(1))
        return actions

    return await _update_scene(store, project_id, sequence, decide)


async def _update_scene(store: AsyncStore, project_id: UUID, sequence: int, decide: Callable[[Scene], list[UpdateAction]]) -> Scene:
    """Change a scene with the actions that `decide` returns for its current state. Conflicts are retried."""
    try:
        return await store.retrying(Scene, decide, project_id=project_id, sequence=sequence)
    except NotFound:
        raise Unknown(f"There is no scene {sequence} in this project.", fix="GET /api/mv/projects/{id} lists its scenes.") from None


async def finish_take(store: AsyncStore, take: Take) -> Scene:
    """Store a take and make it the current one of its scene. A second call changes nothing."""

    async def operations() -> list[WriteOperation[Any]]:
        scene = await get_scene(store, take.project_id, take.sequence)
        known = await store.find(take, consistent=True)
        if known is not None and scene.take == take.take and scene.status is SceneStatus.COMPLETED:
            return []
        return [patch(scene, *_playing(scene, take)), *([] if known is not None else [create(take)])]

    await _transact(store, operations)
    return await get_scene(store, take.project_id, take.sequence)


def _playing(scene: Scene, take: Take) -> list[UpdateAction]:
    """The actions that make a take current. The trim and the lip-sync of the previous take are removed."""
    actions: list[UpdateAction] = [
        Scene.video_clip_s3_key.set(object_keys.scene_key(take.project_id, take.sequence)),
        Scene.original_video_clip_s3_key.set(take.clip_s3_key),
        Scene.working_video_clip_s3_key.remove(),
        Scene.lip_synced_video_clip_s3_key.remove(),
        Scene.lip_sync_source.remove(),
        Scene.trim_points.remove(),
        Scene.error_message.remove(),
        Scene.take.set(take.take),
        Scene.still_s3_key.remove() if take.still_s3_key is None else Scene.still_s3_key.set(take.still_s3_key),
    ]
    return [*actions, Scene.status.to(SceneStatus.COMPLETED)] if scene.status is SceneStatus.PROCESSING else actions


async def trim_scene(store: AsyncStore, project_id: UUID, sequence: int, points: TrimPoints | None) -> Scene:
    """Set the part of a scene's clip that plays, or None for all of it, and adjust the scene's duration. The stored clip is not changed."""
    scene = await get_scene(store, project_id, sequence)
    take = await store.find(Take, project_id=project_id, sequence=sequence, take=max(scene.take, 1), consistent=True)
    if take is None or scene.take == 0:
        raise rules.WrongProjectState(f"Scene {sequence} has no clip to trim.", fix="Render the scene or upload a clip first.")
    actions: list[UpdateAction] = [Scene.trim_points.remove(), Scene.duration.set(take.duration)]
    if points is not None:
        kept = rules.check_trim(points, take.duration)
        actions = [Scene.trim_points.set(kept), Scene.duration.set(kept.end - kept.start)]
    return await edit_scene(store, project_id, sequence, [*actions, *_uncut(scene)], scene.version)


def _uncut(scene: Scene) -> list[UpdateAction]:
    """The actions that make the whole clip the current one, until a job cuts the new part. Clips of other programs are kept."""
    working = object_keys.working_key(scene.project_id, scene.sequence)
    if scene.working_video_clip_s3_key != working:
        return []
    whole = object_keys.scene_key(scene.project_id, scene.sequence) if scene.take else scene.original_video_clip_s3_key
    current = Scene.video_clip_s3_key.remove() if whole is None else Scene.video_clip_s3_key.set(whole)
    return [Scene.working_video_clip_s3_key.remove(), *([current] if scene.video_clip_s3_key == working else [])]


async def use_take(store: AsyncStore, objects: AsyncObjects, project_id: UUID, sequence: int, number: int) -> Scene:
    """Make an earlier take the current one of its scene."""
    take = await store.find(Take, project_id=project_id, sequence=sequence, take=number, consistent=True)
    if take is None:
        raise Unknown(f"Scene {sequence} has no take {number}.", fix="GET /api/mv/projects/{id}/scenes/{sequence}/takes lists them.")
    if is_refused(take.clip_s3_key):
        fix = "POST /api/mv/projects/{id}/repair finds its clip, or removes the take."
        raise rules.WrongProjectState(f"Take {number} of scene {sequence} has no clip: its clipS3Key is not an object key.", fix=fix)
    await objects.copy(take.clip_s3_key, object_keys.scene_key(project_id, sequence))
    return await finish_take(store, take)


async def next_take(store: AsyncStore, project_id: UUID, sequence: int) -> int:
    """Reserve the number of the next take. Numbers are never reused."""
    return (await _update_scene(store, project_id, sequence, lambda scene: [Scene.last_take.set(scene.last_take + 1)])).last_take


async def fail_scene(store: AsyncStore, project_id: UUID, sequence: int, message: str) -> Scene | None:
    """Mark a scene as failed, unless it was deleted or has received a clip in the meantime."""

    def decide(scene: Scene) -> list[UpdateAction]:
        if not scene.status.may_become(SceneStatus.FAILED):
            return []
        return [Scene.status.to(SceneStatus.FAILED), Scene.error_message.set(message[:2_000])]

    try:
        return await _update_scene(store, project_id, sequence, decide)
    except Unknown:
        return None


async def delete_scene(store: AsyncStore, objects: AsyncObjects, project_id: UUID, sequence: int) -> Project:
    """Delete a scene with its takes and clips. A call that was interrupted can be repeated."""

    async def change(project: Project) -> _OrderChange:
        rules.check_deletable(project)
        scene = await get_scene(store, project_id, sequence)
        return _OrderChange([other for other in project.scene_order if other != sequence], [delete(scene)])

    await _change_order(store, project_id, change)
    takes = [take async for take in store.query(Take.of_scene, project_id=project_id, sequence=sequence)]
    prefix = object_keys.project_prefix(project_id)
    owned = {take.clip_s3_key for take in takes} | {object_keys.scene_key(project_id, sequence)}
    owned |= {object_keys.lip_sync_key(project_id, sequence), object_keys.scene_audio_key(project_id, sequence)}
    owned.add(object_keys.working_key(project_id, sequence))
    loaded = await load_project(store, project_id)
    owned |= {take.still_s3_key for take in takes if take.still_s3_key is not None}
    pictures = f"{prefix}scenes/references/scene_{sequence:03d}_"
    owned |= {entry.key async for entry in objects.walk(pictures)}
    kept: set[str | None] = {key for other in loaded.scenes for key in other.reference_image_s3_keys}
    kept |= {key for other in loaded.scenes for key in (other.original_video_clip_s3_key, other.video_clip_s3_key, other.still_s3_key)}
    await objects.delete_many(sorted(key for key in owned - kept if key.startswith(prefix) and not is_refused(key)))
    await store.batch_write(deletes=takes)
    return loaded.project


@dataclass(frozen=True, slots=True)
class _OrderChange:
    """A new order of the scenes, and the other writes of the same transaction."""

    order: list[int]
    writes: Sequence[WriteOperation[Any]]
    #: the highest sequence number that the change assigns
    last: int | None = None

    def operations(self, project: Project) -> list[WriteOperation[Any]]:
        """All writes. The first updates the project, on condition that its order has not changed."""
        actions: list[UpdateAction] = [Project.scene_order.set(self.order)]
        if self.last is not None:
            actions.append(Project.last_sequence.set(self.last))
        unchanged = (Project.scene_order == project.scene_order) & (Project.last_sequence == project.last_sequence)
        return [patch(Project.key(project_id=project.project_id), *actions, condition=unchanged), *self.writes]


async def _change_order(store: AsyncStore, project_id: UUID, decide: Callable[[Project], Awaitable[_OrderChange]]) -> list[Any]:
    """Change the order of a project's scenes together with the scenes, in one transaction."""

    async def operations() -> list[WriteOperation[Any]]:
        project = await store.find(Project, project_id=project_id, consistent=True)
        if project is None:
            raise Unknown(f"There is no project {project_id}.")
        return (await decide(project)).operations(project)

    async with removing_stale_lip_syncs(store, project_id):
        written = await _transact(store, operations)
    return written[1:]


async def _transact(store: AsyncStore, operations: Callable[[], Awaitable[list[WriteOperation[Any]]]]) -> list[Any]:
    """Run operations in one transaction. On conflicts, compute them again from the current state."""
    for attempt in range(_ATTEMPTS):
        writes = await operations()
        if not writes:
            return []
        try:
            return await store.transact(writes)
        except (TransactionCanceled, TransactionConflict):
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")
