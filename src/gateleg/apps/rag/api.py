"""The routes of `/api/rag` for repositories. The other routes are in `web`."""

import re
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.deleting.submission import start_repository_deletion
from gateleg.apps.rag.drafts import NewRepository, RepositoryChanges
from gateleg.apps.rag.host_checks import check_folders, check_model
from gateleg.apps.rag.pipelines.schedules import sync_schedules
from gateleg.apps.rag.repositories import create_repository, get_repository, list_repositories, page_repositories, update_repository
from gateleg.apps.rag.settings import RagSettings
from gateleg.apps.rag.tables import Repository, RepositoryStatus
from gateleg.apps.rag.web.views import RepositoryView, View
from gateleg.host import Resources
from gateleg.host.errors import BadRequest
from gateleg.web.api.calls import ApiCall, Using, Viewing

router = APIRouter()
IfMatch = Annotated[
    str | None,
    Header(description='The `ETag` that you read, such as `"3"`. The request is refused with 412 if the item has changed since.'),
]
PageSize = Annotated[int, Query(alias="pageSize", description="The number of results per page: 1 to 100.")]
Token = Annotated[
    str | None, Query(alias="lastEvaluatedKey", max_length=4000, description="The token of the next page, from the previous response.")
]


class JobStarted(View):
    """The job that carries out the request."""

    job_id: UUID
    status: str


def resources_of(call: ApiCall) -> Resources[RagSettings]:
    """The resources of this application on the host."""
    return call.host.resources["rag"]


def caller_of(call: ApiCall) -> Caller:
    """The caller of a request, for access decisions."""
    return Caller(call.principal, resources_of(call).settings.admin_group)


def clamp_page_size(size: int) -> int:
    """Clamp a page size to 1 to 100, as the public system does."""
    return min(max(size, 1), 100)


def expected_version(if_match: str | None) -> int | None:
    """Parse the version from an `If-Match` header; None if it accepts any version."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'\s*(?:W/)?"(\d+)"\s*', if_match)
    if found is None:
        raise BadRequest("If-Match is not an ETag of this API.", fix='Send the ETag that you read, such as "3".')
    return int(found[1])


def set_etag(response: Response, version: int) -> None:
    """Set the ETag of a response to a version."""
    response.headers["ETag"] = f'"{version}"'


def _with_etag(response: Response, repository: Repository) -> RepositoryView:
    set_etag(response, repository.version)
    return RepositoryView.of(repository)


@router.get("/repository")
async def list_all(call: Using, response: Response, page_size: PageSize = 100, token: Token = None) -> list[RepositoryView]:
    """List the repositories that the caller can read: first those without a tenant, then tenant by tenant, each sorted by id.

    The `Link` header points to the next page, if there is one. A page may be short even if it is not the last.
    """
    size = clamp_page_size(page_size)
    page = await page_repositories(call.host.store, caller_of(call), size=size, token=token)
    if page.next is not None:
        response.headers["Link"] = f'</api/rag/repository?pageSize={size}&lastEvaluatedKey={page.next}>; rel="next"'
    return [RepositoryView.of(row) for row in page.rows]


@router.get("/repository/status")
async def list_status(call: Viewing) -> dict[str, RepositoryStatus]:
    """The status of every repository, for viewers, operators and admins of the host."""
    return {row.repository_id: row.status for row in await list_repositories(call.host.store, caller_of(call))}


@router.post("/repository", status_code=201)
async def create(call: Using, new: NewRepository, response: Response) -> RepositoryView:
    """Create a repository with its default collection, ready for use. Requires an administrator of the host."""
    resources = resources_of(call)
    usual = resources.settings.embedding_model or str(resources.models.embeddings().model)
    check_model(resources, new.embedding_model_id)
    check_folders(resources.settings, new.pipelines)
    made = await create_repository(call.host.store, caller_of(call), new, usual)
    if made.config.pipelines:
        await sync_schedules(resources)
    await call.note("rag.create-repository", made.repository_id)
    response.headers["Location"] = f"/api/rag/repository/{made.repository_id}"
    return _with_etag(response, made)


@router.get("/repository/{repository_id}")
async def get_one(call: Using, repository_id: str, response: Response) -> RepositoryView:
    """Read a repository."""
    return _with_etag(response, await get_repository(call.host.store, caller_of(call), repository_id))


@router.put("/repository/{repository_id}")
async def update(
    call: Using, repository_id: str, changes: RepositoryChanges, response: Response, if_match: IfMatch = None
) -> RepositoryView:
    """Change a repository; null clears a field. RAG administrators may change only its pipelines."""
    check_folders(resources_of(call).settings, changes.pipelines)
    found = await update_repository(call.host.store, caller_of(call), repository_id, changes, expected_version(if_match))
    if "pipelines" in changes.model_fields_set:
        await sync_schedules(resources_of(call))
    await call.note("rag.update-repository", repository_id, fields=sorted(changes.model_fields_set))
    return _with_etag(response, found)


@router.delete("/repository/{repository_id}", status_code=202)
async def delete(call: Using, repository_id: str) -> JobStarted:
    """Start a job that deletes a repository and everything in it. Repeating the request returns the same job."""
    started = await start_repository_deletion(call.host.queue, caller_of(call), repository_id)
    if started.created:
        await call.note("rag.delete-repository", repository_id, job=str(started.job.job_id))
    return JobStarted(job_id=started.job.job_id, status=started.job.status.value)
