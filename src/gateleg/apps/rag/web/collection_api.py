"""The routes of `/api/rag` for collections. `/collection` is an alias of `/collections`."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response

from gateleg.apps.rag.access import Action, explain
from gateleg.apps.rag.api import IfMatch, PageSize, Token, caller_of, clamp_page_size, expected_version, resources_of, set_etag
from gateleg.apps.rag.collection_list import CollectionFilter, SortBy, list_all_collections, list_collections, list_own_collections
from gateleg.apps.rag.collections import OpenedCollection, create_collection, open_collection, soft_delete_collection, update_collection
from gateleg.apps.rag.deleting.submission import impact_of, start_collection_deletion
from gateleg.apps.rag.drafts import CollectionChanges, NewCollection
from gateleg.apps.rag.host_checks import check_folders, check_model, model_problem
from gateleg.apps.rag.pipelines.schedules import sync_schedules
from gateleg.apps.rag.repositories import get_repository
from gateleg.apps.rag.statistics import count_collection
from gateleg.apps.rag.tables import CollectionStatus
from gateleg.apps.rag.web.views import CollectionsView, CollectionView, View
from gateleg.web.api.calls import ApiCall, Using

router = APIRouter()
_MANY = "/repository/{repository_id}/collections"
#: The id of a default collection is that of its embedding model, which may contain a slash.
_ONE = "/repository/{repository_id}/collections/{collection_id:path}"
_ALIASES = {path: path.replace("/collections", "/collection") for path in (_MANY, _ONE)}
Text = Annotated[str | None, Query(alias="filter", max_length=200, description="Substring of the name or description, ignoring case.")]
Status = Annotated[CollectionStatus | None, Query(description="By default, all but deleted collections.")]
Tag = Annotated[str | None, Query(max_length=50, description="Only collections with this tag.")]
Sort = Annotated[SortBy, Query(alias="sortBy")]
Order = Annotated[str, Query(alias="sortOrder", pattern="^(?i:asc|desc)$")]


class ImpactView(View):
    """The documents that a deletion removes."""

    lisa_managed_documents: int
    user_managed_documents: int
    action: str


class DeletionView(View):
    """The job that removes a collection for good."""

    job_id: UUID
    deletion_type: str
    status: str = "DELETE_PENDING"
    summary: ImpactView


class WayIn(View):
    """Whether the caller may take an action, and why."""

    allowed: bool
    reason: str


class AccessView(View):
    """Who can read a collection and why, and what the caller may do with it."""

    readers: list[str]
    caller: dict[Action, WayIn]


class StatisticsView(View):
    """Statistics of a collection."""

    documents: int
    chunks: int
    size: int
    last_upload: int | None
    by_status: dict[str, int]


def _wanted(text: str | None, status: CollectionStatus | None, label: str | None, sort_by: SortBy, order: str) -> CollectionFilter:
    return CollectionFilter(text, status, label, sort_by, descending=order.lower() == "desc")


def _shown(call: ApiCall, response: Response, opened: OpenedCollection, warnings: tuple[str, ...] = ()) -> CollectionView:
    set_etag(response, opened.collection.version)
    problem = model_problem(resources_of(call), opened.collection.embedding_model)
    return CollectionView.of(opened, warnings if problem is None else (*warnings, problem))


@router.get("/repository/collections")
async def list_user_collections(
    call: Using,
    page_size: PageSize = 20,
    text: Text = None,
    status: Status = None,
    label: Annotated[str | None, Query(alias="tag", max_length=50)] = None,
    sort_by: Sort = SortBy.CREATED_AT,
    order: Order = "desc",
    created_by: Annotated[
        str | None,
        Query(
            alias="createdBy", max_length=400, description='Only collections that this user created, by creation time; "me" for the caller.'
        ),
    ] = None,
    token: Token = None,
) -> CollectionsView:
    """List the readable collections of all repositories."""
    wanted, size, caller = _wanted(text, status, label, sort_by, order), clamp_page_size(page_size), caller_of(call)
    if created_by is None:
        page = await list_all_collections(call.host.store, caller, wanted, size=size, token=token)
    else:
        creator = None if created_by == "me" else created_by
        page = await list_own_collections(call.host.store, caller, wanted, creator=creator, size=size, token=token)
    return CollectionsView.of(page, size, token)


@router.get(_ALIASES[_MANY], include_in_schema=False)
@router.get(_MANY)
async def list_one_repository(
    call: Using,
    repository_id: str,
    page_size: PageSize = 20,
    text: Text = None,
    status: Status = None,
    label: Annotated[str | None, Query(alias="tag", max_length=50)] = None,
    sort_by: Sort = SortBy.CREATED_AT,
    order: Order = "desc",
    token: Token = None,
) -> CollectionsView:
    """List the readable collections of a repository, with their total number."""
    caller, size = caller_of(call), clamp_page_size(page_size)
    repository = await get_repository(call.host.store, caller, repository_id)
    wanted = _wanted(text, status, label, sort_by, order)
    page = await list_collections(call.host.store, caller, repository, wanted, size=size, token=token)
    return CollectionsView.of(page, size, token)


@router.post(_ALIASES[_MANY], status_code=201, include_in_schema=False)
@router.post(_MANY, status_code=201)
async def create(call: Using, repository_id: str, new: NewCollection, response: Response) -> CollectionView:
    """Create a collection."""
    check_model(resources_of(call), new.embedding_model)
    check_folders(resources_of(call).settings, new.pipelines)
    opened = await create_collection(call.host.store, caller_of(call), repository_id, new)
    if opened.collection.pipelines:
        await sync_schedules(resources_of(call))
    await call.note("rag.create-collection", f"{repository_id}/{opened.collection.collection_id}")
    response.headers["Location"] = f"/api/rag/repository/{repository_id}/collections/{opened.collection.collection_id}"
    return _shown(call, response, opened)


# Declared before the collection's own route, whose id would match the last segment as well.
@router.get(_ONE + "/access")
async def get_access(call: Using, repository_id: str, collection_id: str) -> AccessView:
    """Explain who can read a collection, and what the caller may do with it."""
    caller = caller_of(call)
    opened = await open_collection(call.host.store, caller, repository_id, collection_id)
    ways = explain(opened.repository, opened.collection, admin_group=caller.admin_group)
    own = (Action.READ, Action.SEARCH, Action.INGEST, Action.CHANGE_COLLECTION)
    decided = {action: caller.decide(action, opened.repository, opened.collection) for action in own}
    return AccessView(readers=ways, caller={action: WayIn(allowed=one.allowed, reason=one.reason) for action, one in decided.items()})


@router.get(_ONE + "/statistics")
async def get_statistics(call: Using, repository_id: str, collection_id: str) -> StatisticsView:
    """Count the documents, chunks and bytes of a collection."""
    opened = await open_collection(call.host.store, caller_of(call), repository_id, collection_id)
    found = await count_collection(call.host.store, opened)
    return StatisticsView(
        documents=found.documents, chunks=found.chunks, size=found.size, last_upload=found.last_upload, by_status=found.by_status
    )


@router.get(_ALIASES[_ONE], include_in_schema=False)
@router.get(_ONE)
async def get_one(call: Using, repository_id: str, collection_id: str, response: Response) -> CollectionView:
    """Read a collection by its id or name. `default` is an alias of the default collection, whose id is that of the embedding model."""
    return _shown(call, response, await open_collection(call.host.store, caller_of(call), repository_id, collection_id))


@router.patch(_ONE, include_in_schema=False)
@router.put(_ALIASES[_ONE], include_in_schema=False)
@router.put(_ONE)
async def update(
    call: Using, repository_id: str, collection_id: str, changes: CollectionChanges, response: Response, if_match: IfMatch = None
) -> CollectionView:
    """Change the fields that are sent; null clears a field. The status ARCHIVED archives a collection, ACTIVE restores it."""
    check_folders(resources_of(call).settings, changes.pipelines)
    found = await update_collection(call.host.store, caller_of(call), repository_id, collection_id, changes, expected_version(if_match))
    if {"pipelines", "status"} & changes.model_fields_set:
        await sync_schedules(resources_of(call))
    await call.note(
        "rag.update-collection", f"{repository_id}/{found.opened.collection.collection_id}", fields=sorted(changes.model_fields_set)
    )
    return _shown(call, response, found.opened, found.warnings)


@router.delete(_ALIASES[_ONE], response_model=CollectionView | DeletionView, include_in_schema=False)
@router.delete(_ONE, response_model=CollectionView | DeletionView)
async def delete(
    call: Using,
    repository_id: str,
    collection_id: str,
    response: Response,
    hard: Annotated[
        bool, Query(alias="hardDelete", description="Remove the collection for good, by a job, instead of keeping it restorable.")
    ] = False,
) -> Any:
    """Delete a collection. It can be restored for 90 days (200). With `hardDelete`, a job removes it with everything in it (202)."""
    if hard:
        return await _delete_for_good(call, repository_id, collection_id, response)
    days = resources_of(call).settings.restore_days
    opened = await soft_delete_collection(call.host.store, caller_of(call), repository_id, collection_id, days=days)
    await call.note("rag.delete-collection", f"{repository_id}/{opened.collection.collection_id}")
    return _shown(call, response, opened)


async def _delete_for_good(call: ApiCall, repository_id: str, collection_id: str, response: Response) -> DeletionView:
    opened, started = await start_collection_deletion(call.host.queue, caller_of(call), repository_id, collection_id)
    impact = await impact_of(call.host.store, opened)
    if started.created:
        where = f"{repository_id}/{opened.collection.collection_id}"
        await call.note("rag.delete-collection-for-good", where, job=str(started.job.job_id))
    response.status_code = 202
    action = "its documents are removed; the default collection itself is kept" if opened.is_default else "the collection is removed"
    return DeletionView(
        job_id=started.job.job_id,
        deletion_type="partial" if opened.is_default else "full",
        summary=ImpactView(lisa_managed_documents=impact.uploaded, user_managed_documents=impact.found, action=action),
    )
