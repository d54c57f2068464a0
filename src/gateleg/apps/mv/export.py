"""Export a project as a ZIP: the film and its companion files, the current clips, the song, and the project as JSON."""

from __future__ import annotations

import asyncio
import json
import zipfile
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv.playing import playing_clip
from gateleg.apps.mv.tables import FinalVersion
from gateleg.model.errors import S3KeyRefused
from gateleg.objects import ObjectMissing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.apps.mv.tables import Scene
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore


#: The attributes of a project that `project.json` contains.
_DESCRIBED = (
    *("title", "concept_prompt", "character_description", "product_description", "director_config", "provider", "seed", "tempo"),
    *("aspect_ratio", "resolution", "fps", "audio_duration"),
)


async def write_pack(store: AsyncStore, objects: AsyncObjects, loaded: ProjectWithScenes, path: Path) -> None:
    """Write the ZIP file. Films and clips are stored uncompressed, because compression would not make them smaller."""
    film = None
    if loaded.project.final_version:
        number = loaded.project.final_version
        film = await store.find(FinalVersion, project_id=loaded.project.project_id, number=number, consistent=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("project.json", json.dumps(describe(loaded), indent=2, ensure_ascii=False))
        for name, key in _files(loaded, film):
            try:
                async with await objects.stream(key) as download:
                    with archive.open(name, "w", force_zip64=True) as member:
                        async for chunk in download:
                            await asyncio.to_thread(member.write, chunk)
            except (ObjectMissing, S3KeyRefused):
                archive.writestr(f"{name}.missing.txt", "This file does not exist.")


def _files(loaded: ProjectWithScenes, film: FinalVersion | None) -> Iterator[tuple[str, str]]:
    if film is not None:
        yield "film.mp4", film.video_s3_key
        for name, key in film.companions.items():
            yield f"{name.replace(':', 'x')}.{key.rsplit('.', 1)[-1]}", key
    for scene in loaded.scenes:
        clip, _ = playing_clip(loaded, scene)
        if clip is not None:
            # The edit list uses these file names.
            yield f"clips/scene_{scene.sequence:03d}.mp4", clip
    project = loaded.project
    for name, own in (
        ("song", project.audio_backing_track_s3_key),
        ("lyrics", project.lyrics_s3_key),
        ("analysis", project.analysis_s3_key),
    ):
        if own is not None:
            yield f"{name}.{own.rsplit('.', 1)[-1]}", own


def describe(loaded: ProjectWithScenes) -> dict[str, Any]:
    """A project and its scenes as JSON values, without object keys."""
    project = loaded.project
    return {name: getattr(project, name) for name in _DESCRIBED} | {
        "scenes": [_scene(scene) for scene in loaded.scenes],
        "kind": "procedural",
    }


def _scene(scene: Scene) -> dict[str, Any]:
    trim = None if scene.trim_points is None else {"in": scene.trim_points.start, "out": scene.trim_points.end}
    kept = ("sequence", "prompt", "negative_prompt", "duration", "take", "locked", "plan")
    return {name: getattr(scene, name) for name in kept} | {"trim": trim}
