"""Store a new clip, whether drawn, generated or uploaded, as a take of its scene."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.mv import object_keys
from gateleg.apps.mv.playing import whole_clip
from gateleg.apps.mv.scenes import finish_take, get_scene, next_take
from gateleg.apps.mv.tables import Scene, Take
from gateleg.store import ConditionFailed, NotFound

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from gateleg.model import UpdateAction
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore


@dataclass(frozen=True, slots=True)
class NewClip:
    """A clip in a file."""

    path: Path
    #: the length in seconds
    duration: float
    provider: str
    content_type: str = "video/mp4"
    #: a still image of the clip, as JPEG
    still: Path | None = None
    seed: int | None = None
    #: the cost in US dollars
    cost: float = 0.0
    job_id: UUID | None = None


async def store_take(store: AsyncStore, objects: AsyncObjects, project_id: UUID, sequence: int, clip: NewClip) -> Scene:
    """Store a clip as a take, under the take's key and the scene's key, and make it the current take."""
    prompt = (await get_scene(store, project_id, sequence)).prompt
    number = await next_take(store, project_id, sequence)
    key = object_keys.take_key(project_id, sequence, number)
    await _put(objects, key, clip.path, clip.content_type)
    await objects.copy(key, object_keys.scene_key(project_id, sequence))
    still = None if clip.still is None else object_keys.still_key(project_id, sequence, number)
    if still is not None and clip.still is not None:
        await _put(objects, still, clip.still, "image/jpeg")
    take = Take(
        project_id=project_id,
        sequence=sequence,
        take=number,
        clip_s3_key=key,
        still_s3_key=still,
        prompt=prompt,
        provider=clip.provider,
        duration=clip.duration,
        seed=clip.seed,
        cost=clip.cost,
        job_id=clip.job_id,
    )
    return await finish_take(store, take)


async def store_working_clip(store: AsyncStore, objects: AsyncObjects, scene: Scene, path: Path) -> None:
    """Store the trimmed clip of a scene as its working and current clip, beside the whole one, unless the scene plays another part now."""
    key, whole = object_keys.working_key(scene.project_id, scene.sequence), whole_clip(scene)
    await _put(objects, key, path, "video/mp4")
    actions: list[UpdateAction] = [Scene.working_video_clip_s3_key.set(key), Scene.video_clip_s3_key.set(key)]
    if scene.original_video_clip_s3_key is None and whole is not None:
        # Another program made the clip, and stored only the key that is replaced.
        actions.append(Scene.original_video_clip_s3_key.set(whole))
    unchanged = (Scene.take == scene.take) & (Scene.trim_points == scene.trim_points)
    try:
        await store.patch(Scene, *actions, project_id=scene.project_id, sequence=scene.sequence, condition=unchanged)
    except NotFound:
        await objects.delete(key)
    except ConditionFailed:
        # Somebody has trimmed it again, or chosen another take: the next film cuts that.
        return


async def _put(objects: AsyncObjects, key: str, path: Path, content_type: str) -> None:
    with path.open("rb") as content:
        await objects.put(key, content, content_type=content_type)
