"""Use cases of projects.

    project = await create_project(store, Project(owner_id=..., concept_prompt="...", character_description="..."))
    scenes = await add_scenes(store, project.project_id, [SceneDraft(prompt="...", duration=4.0)])
    loaded = await load_project(store, project.project_id)

The use cases of scenes and takes are in `scenes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gateleg.apps.mv import object_keys, rules
from gateleg.apps.mv.tables import FinalVersion, Project, ProjectStatus, Scene, Take, project_with_scenes
from gateleg.host.errors import Unknown
from gateleg.model import spec_of
from gateleg.model.inspection import is_refused, refused_object_keys
from gateleg.store import delete

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from gateleg.model import UpdateAction
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore, Page

#: The attributes that a copy of a project keeps: texts and options, files, and the texts of its scenes.
_COPIED = (
    *("concept_prompt", "character_description", "product_description", "title", "mode", "director_config", "provider", "seed"),
    *("aspect_ratio", "resolution", "fps", "audio_duration", "tempo", "spend_cap"),
)
_FILES = ("character_image_s3_key", "product_image_s3_key", "audio_backing_track_s3_key", "lyrics_s3_key", "analysis_s3_key")
_COPIED_OF_SCENES = ("prompt", "negative_prompt", "duration", "needs_lip_sync", "provider", "seed", "plan")


@dataclass(frozen=True, slots=True)
class ProjectWithScenes:
    """A project, and its scenes in playing order."""

    project: Project
    scenes: tuple[Scene, ...]

    def position(self, sequence: int) -> int:
        """The position of a scene, counted from 1: `displaySequence` in the API."""
        return self.project.scene_order.index(sequence) + 1


@dataclass(frozen=True, slots=True)
class StatusCount:
    """One row of the status board."""

    status: ProjectStatus
    count: int
    #: the creation time of the oldest project in this status
    oldest: datetime | None
    #: whether counting stopped at the limit
    more: bool


async def create_project(store: AsyncStore, project: Project) -> Project:
    """Store a new project. Raises `BadProject` if a text is missing that its mode requires."""
    rules.check_complete(project)
    return await store.create(project)


async def find_project(store: AsyncStore, project_id: UUID) -> Project | None:
    """The current state of a project; None if it does not exist."""
    return await store.find(Project, project_id=project_id, consistent=True)


async def load_project(store: AsyncStore, project_id: UUID) -> ProjectWithScenes:
    """A project with its scenes, read in one query. Raises `Unknown` if it does not exist."""
    found = await store.collect(project_with_scenes(project_id=project_id), consistent=True)
    projects = found.of(Project)
    if not projects:
        raise Unknown(f"There is no project {project_id}.")
    project = projects[0]
    scenes = {scene.sequence: scene for scene in found.of(Scene)}
    return ProjectWithScenes(project, tuple(scenes[sequence] for sequence in project.scene_order if sequence in scenes))


async def projects_of(
    store: AsyncStore, owner: str, limit: int, cursor: str | None = None, status: ProjectStatus | None = None
) -> Page[Project]:
    """The projects of an owner, newest first, optionally of one status."""
    question = Project.of_owner(owner_id=owner)
    return await store.page(question if status is None else question.filter(Project.status == status), limit=limit, cursor=cursor)


async def projects_in(store: AsyncStore, status: ProjectStatus, limit: int, cursor: str | None = None) -> Page[Project]:
    """The projects of all owners in a status, newest first."""
    return await store.page(Project.recent, status=status, limit=limit, cursor=cursor)


async def newest_projects(store: AsyncStore, limit: int) -> list[Project]:
    """The newest projects of all owners, in any status."""
    found = [project for status in ProjectStatus for project in await projects_in(store, status, limit)]
    return sorted(found, key=lambda project: project.created_at, reverse=True)[:limit]


async def status_board(store: AsyncStore, most: int = 10_000) -> list[StatusCount]:
    """Count the projects in each status, up to `most`, with the creation time of the oldest."""
    board = []
    for status in ProjectStatus:
        first = await store.page(Project.by_status, status=status, limit=1)
        count = await store.count(Project.by_status, status=status, limit=most) if first.items else 0
        oldest = first.items[0].created_at if first.items else None
        board.append(StatusCount(status, count, oldest, more=count >= most))
    return board


async def edit_project(store: AsyncStore, project_id: UUID, actions: Sequence[UpdateAction], version: int | None = None) -> Project:
    """Change attributes of a project; with `version`, only if the project still has that version."""
    condition = None if version is None else Project.version == version
    return await store.patch(Project, *actions, project_id=project_id, condition=condition)


async def move_project(store: AsyncStore, project_id: UUID, status: ProjectStatus, *actions: UpdateAction) -> Project:
    """Change the status of a project, if the transition is allowed. A project that already has the status stays unchanged."""
    project = await store.get(Project, project_id=project_id, consistent=True)
    moves = (Project.status.to(status),) if project.status is not status else ()
    if not moves and not actions:
        return project
    return await store.patch(Project, *moves, *actions, project_id=project_id)


async def begin_scenes(store: AsyncStore, project_id: UUID) -> None:
    """Mark a pending or failed project as processing, because single scenes of it are rendered or uploaded.

    It is then processing without a job of its own, until a film is composed. A completed project keeps its film and its status.
    """

    def decide(project: Project) -> list[UpdateAction]:
        if project.status is ProjectStatus.PENDING:
            return [Project.status.to(ProjectStatus.QUEUED), Project.root_job_id.remove()]
        if project.status is ProjectStatus.QUEUED and project.root_job_id is None:
            return [Project.status.to(ProjectStatus.PROCESSING)]
        if project.status is ProjectStatus.FAILED:
            return [Project.status.to(ProjectStatus.PROCESSING), Project.root_job_id.remove(), Project.error_message.remove()]
        return []

    # A pending project becomes processing by way of queued. If this stops in between, the next call goes on.
    for _ in range(2):
        await store.retrying(Project, decide, project_id=project_id)


async def duplicate_project(store: AsyncStore, objects: AsyncObjects, project_id: UUID, owner: str) -> Project:
    """Copy a project for an owner, with its texts, files and scenes, but without clips and films."""
    loaded, copied_id = await load_project(store, project_id), uuid4()
    old, new = object_keys.project_prefix(project_id), object_keys.project_prefix(copied_id)
    files = {}
    for name in _FILES:
        key = getattr(loaded.project, name)
        if key is not None and not is_refused(key):
            files[name] = await _copied(objects, key, old, new)
    kept = {name: getattr(loaded.project, name) for name in _COPIED}
    order = {scene.sequence: place for place, scene in enumerate(loaded.scenes, 1)}
    copy = Project(
        **{**kept, **files, "project_id": copied_id, "owner_id": owner, "scene_order": list(order.values()), "last_sequence": len(order)}
    )
    await store.create(copy)
    for scene in loaded.scenes:
        texts = {name: getattr(scene, name) for name in _COPIED_OF_SCENES}
        pictures = [await _copied(objects, key, old, new) for key in scene.reference_image_s3_keys if not is_refused(key)]
        await store.create(Scene(**texts, project_id=copied_id, sequence=order[scene.sequence], reference_image_s3_keys=pictures))
    return await store.get(Project, project_id=copied_id, consistent=True)


async def _copied(objects: AsyncObjects, key: str, old: str, new: str) -> str:
    """The key of a copy below the prefix `new` of an object below `old`. Other objects are shared: several projects may use a reference."""
    if not key.startswith(old):
        return key
    copy = new + key.removeprefix(old)
    await objects.copy(key, copy)
    return copy


async def repair_project(store: AsyncStore, objects: AsyncObjects, project_id: UUID) -> tuple[str, ...]:
    """Clear what other programs have stored in place of object keys in a project, its scenes, takes and films.

    A take or film gets the key at which its file has to be, if the file is there; otherwise it is deleted. Returns the attributes' names.
    """
    loaded = await load_project(store, project_id)
    cleared: list[str] = []
    items: list[Project | Scene | Take | FinalVersion] = [loaded.project, *loaded.scenes]
    items += [take async for take in store.query(Take.in_project, project_id=project_id)]
    items += [film async for film in store.query(FinalVersion.of_project, project_id=project_id)]
    for item in items:
        if not refused_object_keys(item):
            continue
        cleared += refused_object_keys(item)
        file = _file_of(item)
        if file is not None and not await objects.exists(file.key):
            await store.run(delete(item))
        else:
            await store.patch(item, *_clearing(item, file))
    return tuple(cleared)


@dataclass(frozen=True, slots=True)
class _File:
    """The attribute of a take or film that it cannot be without, and the key at which its file has to be."""

    attribute: str
    key: str


def _file_of(item: Project | Scene | Take | FinalVersion) -> _File | None:
    """The file without which an item is nothing, if its key is invalid."""
    if isinstance(item, Take) and is_refused(item.clip_s3_key):
        return _File("clip_s3_key", object_keys.take_key(item.project_id, item.sequence, item.take))
    if isinstance(item, FinalVersion) and is_refused(item.video_s3_key):
        return _File("video_s3_key", object_keys.version_key(item.project_id, item.number))
    return None


def _clearing(item: Project | Scene | Take | FinalVersion, file: _File | None) -> list[UpdateAction]:
    """The actions that set the key of a file, and remove other invalid object keys. A list or mapping keeps its valid ones."""
    names, actions = refused_object_keys(item), list[Any]()
    for attribute in spec_of(type(item)).attributes.values():
        if attribute.wire not in names:
            continue
        value, declared = getattr(item, attribute.name), getattr(type(item), attribute.name)
        if file is not None and attribute.name == file.attribute:
            actions.append(declared.set(file.key))
        elif isinstance(value, list):
            actions.append(declared.set([key for key in value if not is_refused(key)]))
        elif isinstance(value, dict):
            actions.append(declared.set({name: key for name, key in value.items() if not is_refused(key)}))
        else:
            actions.append(declared.remove())
    return actions


async def delete_project(store: AsyncStore, objects: AsyncObjects, project_id: UUID) -> int:
    """Delete a project with all its items and objects, and return the number of objects. A call that was interrupted can be repeated."""
    keys = [entry.key async for entry in objects.walk(object_keys.project_prefix(project_id))]
    for start in range(0, len(keys), 1000):
        await objects.delete_many(keys[start : start + 1000])
    for pattern in (Take.in_project, FinalVersion.of_project):
        await store.batch_write(deletes=[item async for item in store.query(pattern, project_id=project_id)])
    async for scene in store.query(Scene.in_project, project_id=project_id):
        await store.run(delete(scene))
    await store.run(delete(Project.key(project_id=project_id)))
    return len(keys)
