"""`/api/mv`: routes of projects and scenes. Jobs are started in `web/job_api`, files uploaded in `web/upload_api`."""

import re
import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response
from fastapi import Path as InPath
from starlette.background import BackgroundTask
from starlette.responses import FileResponse

from gateleg.apps.mv import object_keys, rules, scenes, service
from gateleg.apps.mv.export import write_pack
from gateleg.apps.mv.reconciliation import reconcile
from gateleg.apps.mv.settings import MVSettings
from gateleg.apps.mv.tables import FinalVersion, Project, ProjectStatus, Reference, Take, TrimPoints
from gateleg.apps.mv.web.bodies import Cut, NewOrder, NewProject, NewScene, NewTrim, ProjectChanges, SceneChanges
from gateleg.apps.mv.web.views import (
    FinalView,
    Links,
    ProjectSummary,
    ProjectView,
    SceneView,
    StatusCountView,
    TakeView,
    View,
    summary_of,
    view_final,
    view_project,
    view_scene,
    view_take,
)
from gateleg.host import Resources, Role
from gateleg.host.errors import BadRequest, Unknown
from gateleg.web.api.calls import ApiCall, Using, Viewing
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter()
Sequence = Annotated[int, InPath(ge=1, le=999, description="The scene's permanent number, not its position.")]
IfMatch = Annotated[
    str | None, Header(description='The `ETag` that was read, such as `"3"`. The request is refused if the item has changed since.')
]


class DeletedScene(View):
    """The deleted scene, and how many scenes remain."""

    deleted_sequence: int
    remaining_scene_count: int


def resources_of(call: ApiCall) -> Resources[MVSettings]:
    """The resources of this application."""
    return call.host.resources["mv"]


def links_of(call: ApiCall) -> Links:
    """Creates the expiring URLs in responses."""
    return Links(call.host.objects, resources_of(call).settings.link_seconds)


async def visible_project(call: ApiCall, project_id: UUID) -> Project:
    """The project, reconciled with its jobs. Raises `Unknown` if it does not exist or the caller may not see it."""
    project = await service.find_project(call.host.store, project_id)
    rules.check_visible(call.principal, project, f"project {project_id}")
    return (await reconcile(call.host.store, call.host.queue, project_id)).project


async def changeable_project(call: ApiCall, project_id: UUID) -> Project:
    """The project. Raises `Unknown` if the caller may not see it, and `NotAllowed` if the caller may not change it."""
    project = await visible_project(call, project_id)
    rules.check_changeable(call.principal, project)
    return project


def expected_version(if_match: str | None) -> int | None:
    """The version in an If-Match header; None if the header is missing or matches any version."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'\s*(?:W/)?"(\d+)"\s*', if_match)
    if found is None:
        raise BadRequest(
            "The If-Match header is not an ETag of this API.", fix='Send the ETag header of the response that you read, such as "3".'
        )
    return int(found[1])


async def check_pictures(call: ApiCall, project_id: UUID, keys: Collection[str] | None) -> None:
    """Raise `Unknown` unless each key is a file of the project, or a reference picture that the caller may see."""
    for key in keys or ():
        reference_id = object_keys.reference_id_of(key)
        if reference_id is not None:
            reference = await call.host.store.find(Reference, reference_id=reference_id, consistent=True)
            rules.check_visible(call.principal, reference, f"picture {key}")
        elif not key.startswith(object_keys.project_prefix(project_id)):
            raise Unknown(f"There is no picture {key}.", fix="Use the key of a picture of this project, or of a reference picture.")
        if not await call.host.objects.exists(key):
            raise Unknown(f"There is no picture {key}.", fix="Upload one with POST /api/mv/projects/{id}/scenes/{sequence}/references.")


async def project_view(call: ApiCall, project_id: UUID, response: Response | None = None) -> ProjectView:
    """The project with its scenes. Sets the ETag of the response to the project's version."""
    loaded = await service.load_project(call.host.store, project_id)
    if response is not None:
        response.headers["ETag"] = f'"{loaded.project.version}"'
    return await view_project(links_of(call), loaded)


async def scene_view(call: ApiCall, project_id: UUID, sequence: int) -> SceneView:
    """The current state of a scene."""
    loaded = await service.load_project(call.host.store, project_id)
    found = next((scene for scene in loaded.scenes if scene.sequence == sequence), None)
    if found is None:
        raise Unknown(f"There is no scene {sequence} in this project.")
    return await view_scene(links_of(call), found, loaded.position(sequence))


@router.post("/projects", status_code=201)
async def create_project(call: Using, new: NewProject) -> ProjectSummary:
    """Create a project. Then upload a track with `PUT /projects/{id}/audio`, and start with `POST /projects/{id}/generate`."""
    project = await service.create_project(call.host.store, new.project(call.principal.owner, resources_of(call).settings))
    await call.note("mv.create", str(project.project_id))
    return summary_of(project)


@router.get("/projects")
async def list_projects(
    call: Using,
    status: Annotated[
        ProjectStatus | None,
        Query(description="Only projects in this status. Viewers get the projects of all owners, other callers their own."),
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[ProjectSummary]:
    """List the caller's projects, newest first. With a `status`, viewers get the projects of all owners."""
    store, owner = call.host.store, call.principal.owner
    if status is not None and call.principal.may(Role.VIEWER):
        page = await service.projects_in(store, status, limit, cursor)
    else:
        page = await service.projects_of(store, owner, limit, cursor, status)
    return Listing(items=[summary_of(project) for project in page], next=page.next)


@router.get("/board")
async def board(call: Viewing) -> list[StatusCountView]:
    """Count the projects in each status, with the creation time of the oldest."""
    return [StatusCountView.of(row) for row in await service.status_board(call.host.store)]


@router.get("/projects/{project_id}")
async def get_project(call: Using, project_id: UUID, response: Response) -> ProjectView:
    """Get a project with its scenes in playing order. URLs in the response expire."""
    await visible_project(call, project_id)
    return await project_view(call, project_id, response)


@router.patch("/projects/{project_id}")
async def edit_project(call: Using, project_id: UUID, changes: ProjectChanges, response: Response, if_match: IfMatch = None) -> ProjectView:
    """Change a project. Fields that are not sent keep their values; null removes a value."""
    await changeable_project(call, project_id)
    changes.check()
    actions = changes.actions()
    if actions:
        await service.edit_project(call.host.store, project_id, actions, expected_version(if_match))
    return await project_view(call, project_id, response)


@router.delete("/projects/{project_id}", status_code=204)
async def delete_project(call: Using, project_id: UUID) -> None:
    """Delete a project with its scenes, takes, films and files."""
    rules.check_startable(await changeable_project(call, project_id))
    await service.delete_project(call.host.store, call.host.objects, project_id)
    await call.note("mv.delete", str(project_id))


@router.post("/projects/{project_id}/duplicate", status_code=201)
async def duplicate_project(call: Using, project_id: UUID) -> ProjectView:
    """Copy a project: its texts, files and scenes, without clips and films. The copy belongs to the caller."""
    await visible_project(call, project_id)
    copy = await service.duplicate_project(call.host.store, call.host.objects, project_id, call.principal.owner)
    await call.note("mv.duplicate", str(project_id), copy=str(copy.project_id))
    return await project_view(call, copy.project_id)


@router.post("/projects/{project_id}/repair")
async def repair_project(call: Using, project_id: UUID) -> ProjectView:
    """Clear the attributes in `invalidFields`: another program has stored something else than an object key in them.

    A take or film without its file is removed.
    """
    await changeable_project(call, project_id)
    cleared = await service.repair_project(call.host.store, call.host.objects, project_id)
    await call.note("mv.repair", str(project_id), cleared=", ".join(cleared))
    return await project_view(call, project_id)


@router.post("/projects/{project_id}/scenes", status_code=201)
async def add_scene(call: Using, project_id: UUID, new: NewScene) -> SceneView:
    """Add a scene at a position, or at the end."""
    rules.check_room(await changeable_project(call, project_id), 1, resources_of(call).settings.most_scenes)
    pictures = tuple(new.reference_image_s3_keys)
    await check_pictures(call, project_id, pictures)
    draft = scenes.SceneDraft(new.scene_concept, new.duration, new.negative_prompt, new.needs_lip_sync, pictures)
    (scene,) = await scenes.add_scenes(call.host.store, project_id, [draft], new.position)
    return await scene_view(call, project_id, scene.sequence)


@router.patch("/projects/{project_id}/scenes/reorder")
async def reorder(call: Using, project_id: UUID, new: NewOrder) -> ProjectView:
    """Change the playing order. The body lists the sequence numbers of all scenes."""
    await changeable_project(call, project_id)
    await scenes.reorder(call.host.store, project_id, new.scene_order)
    return await project_view(call, project_id)


@router.get("/projects/{project_id}/scenes/{sequence}")
async def get_scene(call: Using, project_id: UUID, sequence: Sequence, response: Response) -> SceneView:
    """Get a scene."""
    await visible_project(call, project_id)
    found = await scene_view(call, project_id, sequence)
    response.headers["ETag"] = f'"{found.version}"'
    return found


@router.patch("/projects/{project_id}/scenes/{sequence}")
async def edit_scene(call: Using, project_id: UUID, sequence: Sequence, changes: SceneChanges, if_match: IfMatch = None) -> SceneView:
    """Change a scene. Fields that are not sent keep their values; null removes a value."""
    await changeable_project(call, project_id)
    await check_pictures(call, project_id, changes.reference_image_s3_keys)
    actions = changes.actions()
    if actions:
        await scenes.edit_scene(call.host.store, project_id, sequence, actions, expected_version(if_match))
    return await scene_view(call, project_id, sequence)


@router.delete("/projects/{project_id}/scenes/{sequence}")
async def delete_scene(call: Using, project_id: UUID, sequence: Sequence) -> DeletedScene:
    """Delete a scene with its takes and clips. Its sequence number is not reused."""
    await changeable_project(call, project_id)
    left = await scenes.delete_scene(call.host.store, call.host.objects, project_id, sequence)
    return DeletedScene(deleted_sequence=sequence, remaining_scene_count=len(left.scene_order))


@router.post("/projects/{project_id}/scenes/{sequence}/split")
async def split_scene(call: Using, project_id: UUID, sequence: Sequence, cut: Cut) -> list[SceneView]:
    """Split a scene in two; the second half becomes a new scene."""
    rules.check_room(await changeable_project(call, project_id), 1, resources_of(call).settings.most_scenes)
    halves = await scenes.split_scene(call.host.store, project_id, sequence, cut.at)
    return [await scene_view(call, project_id, half.sequence) for half in halves]


@router.post("/projects/{project_id}/scenes/{sequence}/trim")
async def trim_scene(call: Using, project_id: UUID, sequence: Sequence, new: NewTrim) -> SceneView:
    """Play only part of a scene's clip, or with null the whole clip again. The stored clip is not changed."""
    await changeable_project(call, project_id)
    points = None if new.trim_points is None else TrimPoints(start=new.trim_points.start, end=new.trim_points.end)
    await scenes.trim_scene(call.host.store, project_id, sequence, points)
    return await scene_view(call, project_id, sequence)


@router.get("/projects/{project_id}/scenes/{sequence}/takes")
async def list_takes(call: Using, project_id: UUID, sequence: Sequence, limit: Limit = 50, cursor: Cursor = None) -> Listing[TakeView]:
    """List the takes of a scene, newest first."""
    await visible_project(call, project_id)
    scene = await scenes.get_scene(call.host.store, project_id, sequence)
    page = await call.host.store.page(Take.of_scene, project_id=project_id, sequence=sequence, limit=limit, cursor=cursor)
    return Listing(items=[await view_take(links_of(call), take, scene) for take in page], next=page.next)


@router.post("/projects/{project_id}/scenes/{sequence}/takes/{take}/use")
async def use_take(call: Using, project_id: UUID, sequence: Sequence, take: Annotated[int, InPath(ge=1, le=999)]) -> SceneView:
    """Make an earlier take the current one of its scene."""
    await changeable_project(call, project_id)
    await scenes.use_take(call.host.store, call.host.objects, project_id, sequence, take)
    return await scene_view(call, project_id, sequence)


@router.get("/projects/{project_id}/finals")
async def list_finals(call: Using, project_id: UUID, limit: Limit = 50, cursor: Cursor = None) -> Listing[FinalView]:
    """List the films of a project, newest first."""
    project = await visible_project(call, project_id)
    page = await call.host.store.page(FinalVersion.of_project, project_id=project_id, limit=limit, cursor=cursor)
    return Listing(items=[await view_final(links_of(call), final, project) for final in page], next=page.next)


@router.get("/projects/{project_id}/export", response_class=FileResponse)
async def export(call: Using, project_id: UUID) -> FileResponse:
    """Download a project as a ZIP: the film, its poster, captions and edit list, the clips, the song and the texts."""
    await visible_project(call, project_id)
    loaded = await service.load_project(call.host.store, project_id)
    folder = Path(tempfile.mkdtemp(prefix="gateleg-mv-"))
    try:
        await write_pack(call.host.store, call.host.objects, loaded, folder / "video.zip")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    removed = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(folder / "video.zip", media_type="application/zip", filename=f"{project_id}.zip", background=removed)


@router.get("/projects/{project_id}/final-video")
async def final_video(call: Using, project_id: UUID) -> FinalView:
    """Get the current film."""
    project = await visible_project(call, project_id)
    final = await call.host.store.find(FinalVersion, project_id=project_id, number=max(project.final_version, 1), consistent=True)
    if final is None or project.final_version == 0:
        raise Unknown("This project has no film yet.", fix="Create one with POST /api/mv/projects/{id}/generate.")
    return await view_final(links_of(call), final, project)
