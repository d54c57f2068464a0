"""`/api/mv`: uploads of project files, clips and reference pictures. The request body is the file, or a form with one file."""

from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import Field

from gateleg.apps.mv import job_submission, rules, uploads
from gateleg.apps.mv.api import Sequence, changeable_project, links_of, project_view, resources_of, scene_view
from gateleg.apps.mv.probes import Bounds, Facts, Kind, probe
from gateleg.apps.mv.scenes import get_scene
from gateleg.apps.mv.tables import Reference
from gateleg.apps.mv.web.bodies import NewReferences, Once
from gateleg.apps.mv.web.views import ProjectView, ReferenceView, SceneView, View, view_reference
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.pages import Cursor, Limit, Listing
from gateleg.web.bodies import body_limit
from gateleg.web.uploads import FormFields, UploadRules, form_body, receive_files, receive_form, upload_folder, upload_slot

router = APIRouter()
#: The maximum size of lyrics, in bytes.
_LYRICS = 200_000
Asset = Literal["audio", "character", "product", "lyrics"]


_KINDS: dict[str, Kind] = {"audio": "audio", "character": "picture", "product": "picture"}


def _most(call: ApiCall, asset: str) -> int:
    """The maximum size of a file, in bytes."""
    own = resources_of(call).settings
    wanted = {"audio": own.song_bytes, "lyrics": _LYRICS, "clip": own.clip_bytes}.get(asset, own.picture_bytes)
    return min(wanted, call.host.settings.upload_limit)


async def _probe_upload(call: ApiCall, path: Path, kind: Kind) -> Facts:
    """Probe an uploaded file in a separate process."""
    own = resources_of(call).settings
    longest = own.longest_song if kind == "audio" else own.longest_clip
    return await probe(path, kind, Bounds(longest, own.probe_seconds, own.probe_memory))


class ReferenceFields(FormFields):
    """What may be sent along with a reference picture, in the query or in the form."""

    description: str = Field("", max_length=2_000)


class StartedJob(View):
    """A submitted job."""

    job_id: UUID
    status: str


@router.put("/projects/{project_id}/{asset}", openapi_extra=form_body())
@body_limit("upload")
async def put_asset(call: Using, project_id: UUID, asset: Asset, request: Request) -> ProjectView:
    """Upload the track (any audio or video), character or product (PNG, JPEG, WebP), or lyrics (LRC, SRT, plain text) of a project."""
    project = await changeable_project(call, project_id)
    rules.check_startable(project)
    async with upload_slot(call.principal), upload_folder() as folder:
        (file,) = await receive_files(request, folder, UploadRules(_most(call, asset), types=uploads.TYPES[asset]))
        if asset in _KINDS:
            await _probe_upload(call, file.path, _KINDS[asset])
        await uploads.store_asset(call.host.store, call.host.objects, project, asset, file)
    await call.note("mv.upload", str(project_id), asset=asset, size=file.size)
    return await project_view(call, project_id)


@router.post("/projects/{project_id}/scenes/{sequence}/upload_video", openapi_extra=form_body())
@body_limit("upload")
async def upload_clip(call: Using, project_id: UUID, sequence: Sequence, request: Request) -> SceneView:
    """Upload a clip for a scene: MP4, MOV, WebM or MKV. It becomes the current take."""
    await changeable_project(call, project_id)
    await get_scene(call.host.store, project_id, sequence)
    async with upload_slot(call.principal), upload_folder() as folder:
        (file,) = await receive_files(request, folder, UploadRules(_most(call, "clip"), types=uploads.VIDEOS))
        facts = await _probe_upload(call, file.path, "video")
        await uploads.store_clip(call.host.store, call.host.objects, project_id, sequence, file, facts.seconds)
    await call.note("mv.upload", str(project_id), asset=f"scene {sequence}", size=file.size)
    return await scene_view(call, project_id, sequence)


@router.post("/projects/{project_id}/scenes/{sequence}/references", status_code=201, openapi_extra=form_body())
@body_limit("upload")
async def upload_scene_picture(call: Using, project_id: UUID, sequence: Sequence, request: Request) -> SceneView:
    """Upload a reference picture for one scene: PNG, JPEG or WebP. Models get it first, and the studio draws it as the character."""
    await changeable_project(call, project_id)
    scene = await get_scene(call.host.store, project_id, sequence)
    async with upload_slot(call.principal), upload_folder() as folder:
        (file,) = await receive_files(request, folder, UploadRules(_most(call, "picture"), types=uploads.PICTURES))
        await _probe_upload(call, file.path, "picture")
        await uploads.store_scene_picture(call.host.store, call.host.objects, scene, file)
    await call.note("mv.upload", str(project_id), asset=f"reference of scene {sequence}", size=file.size)
    return await scene_view(call, project_id, sequence)


@router.post("/references", status_code=201, openapi_extra=form_body(ReferenceFields))
@body_limit("upload")
async def upload_reference(call: Using, request: Request, query: Annotated[ReferenceFields, Query()]) -> ReferenceView:
    """Upload a reference picture of a character or product for your projects."""
    async with upload_slot(call.principal), upload_folder() as folder:
        form = await receive_form(request, folder, UploadRules(_most(call, "picture"), types=uploads.PICTURES), query)
        (file,) = form.files
        await _probe_upload(call, file.path, "picture")
        made = await uploads.store_reference(call.host.store, call.host.objects, call.principal.owner, file, form.fields.description)
    return await view_reference(links_of(call), made)


@router.post("/references/generate", status_code=202)
async def generate_references(call: Using, wanted: NewReferences, once: Once = None) -> StartedJob:
    """Make one to four reference pictures from a description. Once the job has completed, they are listed with the caller's references."""
    text, count = wanted.character_description, wanted.num_images
    job = await job_submission.make_references(
        resources_of(call), call.principal, text, count, wanted.seed, provider=wanted.provider, once=once
    )
    return StartedJob(job_id=job.job_id, status=job.status.value)


@router.get("/references")
async def list_references(call: Using, limit: Limit = 50, cursor: Cursor = None) -> Listing[ReferenceView]:
    """List the caller's reference pictures, newest first."""
    owner = call.principal.owner
    page = await call.host.store.page(Reference.of_owner, owner_id=owner, limit=limit, cursor=cursor)
    return Listing(items=[await view_reference(links_of(call), found) for found in page], next=page.next)


async def _reference(call: ApiCall, reference_id: UUID) -> Reference:
    found = await call.host.store.find(Reference, reference_id=reference_id, consistent=True)
    rules.check_visible(call.principal, found, f"reference {reference_id}")
    assert found is not None
    return found


@router.get("/references/{reference_id}")
async def get_reference(call: Using, reference_id: UUID) -> ReferenceView:
    """Get a reference picture."""
    return await view_reference(links_of(call), await _reference(call, reference_id))


@router.delete("/references/{reference_id}", status_code=204)
async def delete_reference(call: Using, reference_id: UUID) -> None:
    """Delete a reference picture."""
    found = await _reference(call, reference_id)
    rules.check_changeable(call.principal, found)
    await uploads.delete_reference(call.host.store, call.host.objects, found)


@router.put("/projects/{project_id}/{asset}/reference/{reference_id}")
async def use_reference(call: Using, project_id: UUID, asset: Literal["character", "product"], reference_id: UUID) -> ProjectView:
    """Use a reference picture as the character or product of a project."""
    project = await changeable_project(call, project_id)
    reference = await _reference(call, reference_id)
    await uploads.use_reference(call.host.store, project, asset, reference)
    return await project_view(call, project_id)
