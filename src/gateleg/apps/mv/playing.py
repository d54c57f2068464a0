"""Which clip of a scene plays in the film: the lip-synced one, as long as it belongs to what the scene plays. Pure functions."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.apps.mv.tables import Scene, TrimPoints


def lip_sync_source(loaded: ProjectWithScenes, scene: Scene) -> str:
    """A digest of all that a lip-synced clip is made from: the clip and its trim, the track, and the part of it that the scene plays to.

    It changes with every trim, take, track and length, and if a change before the scene moves it in the film.
    """
    project, trim = loaded.project, scene.trim_points
    start = sum(before.duration for before in loaded.scenes[: loaded.position(scene.sequence) - 1])
    times = [None if trim is None else (_milliseconds(trim.start), _milliseconds(trim.end)), _milliseconds(start)]
    files = [whole_clip(scene), project.audio_backing_track_s3_key, project.audio_tag]
    return hashlib.sha256(json.dumps([*files, *times, _milliseconds(scene.duration)]).encode()).hexdigest()[:32]


def is_lip_synced(loaded: ProjectWithScenes, scene: Scene) -> bool:
    """Whether the scene has a lip-synced clip that belongs to what it plays now."""
    if scene.lip_synced_video_clip_s3_key is None:
        return False
    if scene.lip_sync_source is None:
        # Another program or an earlier release made it, from the whole clip.
        return scene.trim_points is None
    return scene.lip_sync_source == lip_sync_source(loaded, scene)


def is_stale(before: ProjectWithScenes, after: ProjectWithScenes, scene: Scene) -> bool:
    """Whether a change of the project has left a scene with a lip-synced clip that belongs to what it played before."""
    if scene.lip_synced_video_clip_s3_key is None:
        return False
    earlier = next((one for one in before.scenes if one.sequence == scene.sequence), None)
    made_from = scene.lip_sync_source or (None if earlier is None else lip_sync_source(before, earlier))
    return made_from != lip_sync_source(after, scene)


def playing_clip(loaded: ProjectWithScenes, scene: Scene) -> tuple[str | None, TrimPoints | None]:
    """The object key of the clip that plays, and the part of it that plays. A lip-synced clip is already trimmed."""
    if is_lip_synced(loaded, scene):
        return scene.lip_synced_video_clip_s3_key, None
    return whole_clip(scene), scene.trim_points


def whole_clip(scene: Scene) -> str | None:
    """The object key of the current clip, without its trim and lip-sync. Other programs may set only the key of the public schema."""
    return scene.original_video_clip_s3_key or scene.video_clip_s3_key


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
