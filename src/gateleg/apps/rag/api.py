"""`/api/rag`: repositories. Collections, documents, uploads, searches and jobs have modules of their own in `web`."""

import re
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.deleting.starting import start_repository_deletion
from gateleg.apps.rag.drafts import NewRepository, RepositoryChanges
from gateleg.apps.rag.host_checks import check_folders, check_model
from gateleg.apps.rag.pipelines.following import follow_pipelines
from gateleg.apps.rag.repositories import create_repository, get_repository, list_repositories, page_repositories, update_repository
from gateleg.apps.rag.settings import RagSettings
from gateleg.apps.rag.tables import Repository, RepositoryStatus
from gateleg.apps.rag.web.views import RepositoryView, View
from gateleg.web import Resources
from gateleg.web.api.calls import Call, Using, Viewing
from gateleg.web.errors import BadRequest

router = APIRouter()
IfMatch = Annotated[
    str | None, Header(description='The `ETag` of what was read, such as `"3"`: refused with 412 when it has changed since.')
]
PageSize = Annotated[int, Query(alias="pageSize", description="How many results to answer with: 1 to 100.")]
Token = Annotated[
    str | None, Query(alias="lastEvaluatedKey", max_length=4000, description="The token of an earlier answer to the same question.")
]


class JobStarted(View):
    """The job that does what was asked for."""

    job_id: UUID
    status: str


def mine(call: Call) -> Resources[RagSettings]:
    """What the host gives to this application."""
    return call.host.resources["rag"]


def caller_of(call: Call) -> Caller:
    """The caller, as use cases decide by."""
    return Caller(call.principal, mine(call).settings.admin_group)


def clamped(size: int) -> int:
    """A page size within its bounds, as the public system takes it."""
    return min(max(size, 1), 100)


def expected(if_match: str | None) -> int | None:
    """The version that a client has read."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'\s*(?:W/)?"(\d+)"\s*', if_match)
    if found is None:
        raise BadRequest("If-Match is not an ETag of this API.", fix='Send the ETag of what was read, such as "3".')
    return int(found[1])


def tag(response: Response, version: int) -> None:
    """Answer with a version as the ETag."""
    response.headers["ETag"] = f'"{version}"'


def _shown(response: Response, repository: Repository) -> RepositoryView:
    tag(response, repository.version)
    return RepositoryView.of(repository)


@router.get("/repository")
async def list_all(call: Using, response: Response, page_size: PageSize = 100, token: Token = None) -> list[RepositoryView]:
    """Repositories that the caller can read. The header `Link` leads to the next page, where there is one: pages may be short before the
    last. Those without a tenant come first, then tenant by tenant, each by id."""
    size = clamped(page_size)
    page = await page_repositories(call.host.store, caller_of(call), size=size, token=token)
    if page.next is not None:
        response.headers["Link"] = f'</api/rag/repository?pageSize={size}&lastEvaluatedKey={page.next}>; rel="next"'
    return [RepositoryView.of(row) for row in page.rows]


@router.get("/repository/status")
async def list_status(call: Viewing) -> dict[str, RepositoryStatus]:
    """The status of every repository, for those who run the host."""
    return {row.repository_id: row.status for row in await list_repositories(call.host.store, caller_of(call))}


@router.post("/repository", status_code=201)
async def create(call: Using, new: NewRepository, response: Response) -> RepositoryView:
    """Create a repository; it is ready at once, with its default collection. For administrators of the host."""
    resources = mine(call)
    usual = resources.settings.embedding_model or str(resources.models.embeddings().model)
    check_model(resources, new.embedding_model_id)
    check_folders(resources.settings, new.pipelines)
    made = await create_repository(call.host.store, caller_of(call), new, usual)
    if made.config.pipelines:
        await follow_pipelines(resources)
    await call.note("rag.create-repository", made.repository_id)
    response.headers["Location"] = f"/api/rag/repository/{made.repository_id}"
    return _shown(response, made)


@router.get("/repository/{repository_id}")
async def get_one(call: Using, repository_id: str, response: Response) -> RepositoryView:
    """A repository."""
    return _shown(response, await get_repository(call.host.store, caller_of(call), repository_id))


@router.put("/repository/{repository_id}")
async def update(
    call: Using, repository_id: str, changes: RepositoryChanges, response: Response, if_match: IfMatch = None
) -> RepositoryView:
    """Change a repository; null clears. RAG administrators change its pipelines only."""
    check_folders(mine(call).settings, changes.pipelines)
    found = await update_repository(call.host.store, caller_of(call), repository_id, changes, expected(if_match))
    if "pipelines" in changes.model_fields_set:
        await follow_pipelines(mine(call))
    await call.note("rag.update-repository", repository_id, fields=sorted(changes.model_fields_set))
    return _shown(response, found)


@router.delete("/repository/{repository_id}", status_code=202)
async def delete(call: Using, repository_id: str) -> JobStarted:
    """Delete a repository with everything in it, by a job. Deleted again meanwhile, it answers with the same job."""
    started = await start_repository_deletion(call.host.queue, caller_of(call), repository_id)
    if started.created:
        await call.note("rag.delete-repository", repository_id, job=str(started.job.job_id))
    return JobStarted(job_id=started.job.job_id, status=started.job.status.value)
