"""Use cases of uploaded files: assets of a project, clips, and reference pictures that several projects share.

The type of a file is detected from its content, which also determines the extension of its object key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from gateleg.apps.mv import object_keys, rules
from gateleg.apps.mv.scenes import begin_scene, edit_scene, removing_stale_lip_syncs
from gateleg.apps.mv.service import begin_scenes, edit_project
from gateleg.apps.mv.tables import MAX_REFERENCES, Project, Reference, Scene
from gateleg.apps.mv.takes import NewClip, store_take
from gateleg.host import Refusal
from gateleg.model.inspection import is_refused
from gateleg.store import delete

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.model import UpdateAction
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore
    from gateleg.web.uploads import ReceivedFile

#: The extension of each content type.
EXTENSIONS = {
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "audio/flac": "flac",
    "audio/ogg": "ogg",
    "audio/mp4": "m4a",
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/webm": "webm",
    "video/x-matroska": "mkv",
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "text/plain": "txt",
}
VIDEOS = frozenset(kind for kind in EXTENSIONS if kind.startswith("video/"))
#: A song may be a video file.
SOUNDS = frozenset(kind for kind in EXTENSIONS if kind.startswith("audio/")) | VIDEOS
PICTURES = frozenset(kind for kind in EXTENSIONS if kind.startswith("image/"))
TEXTS = frozenset({"text/plain"})
#: The content types that each upload route accepts.
TYPES = {"audio": SOUNDS, "character": PICTURES, "product": PICTURES, "lyrics": TEXTS}
#: The attribute that holds the key of each asset.
_ATTRIBUTES = {
    "audio": Project.audio_backing_track_s3_key,
    "character": Project.character_image_s3_key,
    "product": Project.product_image_s3_key,
    "lyrics": Project.lyrics_s3_key,
}


class TooManyPictures(Refusal):
    """A scene can have three reference pictures."""

    status = 409
    fix = "Remove one with PATCH /api/mv/projects/{id}/scenes/{sequence} and a shorter referenceImageS3Keys; [] removes all."


async def store_asset(store: AsyncStore, objects: AsyncObjects, project: Project, name: str, file: ReceivedFile) -> Project:
    """Store a file as the audio, character, product or lyrics of a project. New audio discards the analysis of the previous track,
    and the lip-synced clips that were made for it."""
    rules.check_startable(project)
    extension = EXTENSIONS.get(file.content_type, "txt")
    key = object_keys.project_asset(project.project_id, name, extension)
    before = getattr(project, _ATTRIBUTES[name].name)
    with file.path.open("rb") as content:
        stored = await objects.put(key, content, content_type=file.content_type)
    actions: list[UpdateAction] = [_ATTRIBUTES[name].set(key)]
    if name == "audio":
        actions += [Project.analysis_s3_key.remove(), Project.audio_duration.remove(), Project.tempo.remove()]
        actions.append(Project.audio_tag.set(stored.etag))
    async with removing_stale_lip_syncs(store, project.project_id):
        changed = await edit_project(store, project.project_id, actions)
    if (
        before is not None
        and before != key
        and not is_refused(before)
        and before.startswith(object_keys.project_prefix(project.project_id))
    ):
        await objects.delete(before)
    return changed


async def store_reference(store: AsyncStore, objects: AsyncObjects, owner: str, file: ReceivedFile, description: str) -> Reference:
    """Store a reference picture for the projects of its owner."""
    reference_id = uuid4()
    key = object_keys.reference_key(reference_id, EXTENSIONS[file.content_type])
    with file.path.open("rb") as content:
        await objects.put(key, content, content_type=file.content_type)
    return await store.create(Reference(reference_id=reference_id, owner_id=owner, image_s3_key=key, description=description))


async def use_reference(store: AsyncStore, project: Project, name: str, reference: Reference) -> Project:
    """Use a reference picture as the character or product of a project."""
    rules.check_startable(project)
    return await edit_project(store, project.project_id, [_ATTRIBUTES[name].set(reference.image_s3_key)])


async def delete_reference(store: AsyncStore, objects: AsyncObjects, reference: Reference) -> None:
    """Delete a reference picture. Projects that use it keep its key, although the picture no longer exists."""
    await objects.delete(reference.image_s3_key)
    await store.run(delete(reference))


async def store_scene_picture(store: AsyncStore, objects: AsyncObjects, scene: Scene, file: ReceivedFile) -> Scene:
    """Add a reference picture to a scene. Raises `TooManyPictures` if the scene has three already."""
    if len(scene.reference_image_s3_keys) >= MAX_REFERENCES:
        raise TooManyPictures(f"Scene {scene.sequence} has {MAX_REFERENCES} reference pictures already.")
    key = object_keys.scene_reference_key(scene.project_id, scene.sequence, uuid4().hex, EXTENSIONS[file.content_type])
    with file.path.open("rb") as content:
        await objects.put(key, content, content_type=file.content_type)
    actions: list[UpdateAction] = [Scene.reference_image_s3_keys.set([*scene.reference_image_s3_keys, key])]
    return await edit_scene(store, scene.project_id, scene.sequence, actions, scene.version)


async def store_clip(
    store: AsyncStore, objects: AsyncObjects, project_id: UUID, sequence: int, file: ReceivedFile, duration: float
) -> Scene:
    """Store an uploaded clip as a take of a scene, and make it the current one."""
    await begin_scene(store, project_id, sequence)
    await begin_scenes(store, project_id)
    return await store_take(store, objects, project_id, sequence, NewClip(file.path, duration, "upload", file.content_type))
