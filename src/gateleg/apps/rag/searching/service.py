"""Search on behalf of a caller: access to each collection is checked before its index is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Action, Caller
from gateleg.apps.rag.collections import DEFAULT_ALIAS, open_collection
from gateleg.apps.rag.errors import BadSearch
from gateleg.apps.rag.index.registry import indexes_of
from gateleg.apps.rag.reading_log import note_query
from gateleg.apps.rag.repositories import get_repository
from gateleg.apps.rag.searching.search import SearchTools, check_request
from gateleg.apps.rag.searching.search import search as search_collections
from gateleg.apps.rag.tables import Collection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.searching.requests import SearchRequest
    from gateleg.apps.rag.searching.results import SearchResult
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Principal, Resources

#: Maximum collections in one search.
MAX_COLLECTIONS = 50


@dataclass(frozen=True, slots=True)
class SearchScope:
    """A collection to search, by id or name; None for all collections of the repository that the caller may search."""

    repository_id: str
    collection_id: str | None = None


def tools_of(resources: Resources[RagSettings]) -> SearchTools:
    """The services that searches use, from the resources of the host."""
    return SearchTools(resources.store, resources.models, indexes_of(resources), resources.settings.rerank_model)


async def search(
    resources: Resources[RagSettings], principal: Principal, scopes: Sequence[SearchScope], request: SearchRequest
) -> SearchResult:
    """Search collections together. Raises a not-found error for a named collection that the caller may not search."""
    checked = check_request(request, resources.settings.most_results)
    collections = await open_scopes(resources, principal, scopes)
    found = await search_collections(tools_of(resources), collections, checked)
    await note_query(resources, principal, "rag.search", collections, checked.query, hits=len(found.hits), mode=found.actual_mode_used)
    return found


async def open_scopes(resources: Resources[RagSettings], principal: Principal, scopes: Sequence[SearchScope]) -> list[Collection]:
    """The collections of the scopes. Raises `UnknownCollection` or `UnknownRepository` for those that the caller may not search."""
    if not scopes:
        raise BadSearch("No collection is named.", fix="Name at least one repository or collection to search.")
    caller = Caller(principal, resources.settings.admin_group)
    found: dict[tuple[str, str], Collection] = {}
    for scope in scopes:
        for collection in await _open_scope(resources, caller, scope):
            found[collection.repository_id, collection.collection_id] = collection
        if len(found) > MAX_COLLECTIONS:
            raise BadSearch(
                f"The search covers more than {MAX_COLLECTIONS} collections.",
                fix=f"Name at most {MAX_COLLECTIONS} collections, and search the others next.",
            )
    return list(found.values())


async def _open_scope(resources: Resources[RagSettings], caller: Caller, scope: SearchScope) -> list[Collection]:
    if scope.collection_id is not None:
        opened = await open_collection(resources.store, caller, scope.repository_id, scope.collection_id, Action.SEARCH)
        return [opened.collection]
    repository = await get_repository(resources.store, caller, scope.repository_id)
    rows = [row async for row in resources.store.query(Collection.in_repository, repository_id=scope.repository_id)]
    # The table's index is eventually consistent; access must be decided on the rows themselves.
    current = await resources.store.batch_get([row.key for row in rows], consistent=True)
    found = [row for row in current if row is not None and caller.may(Action.SEARCH, repository, row)]
    if all(row.collection_id != repository.config.embedding_model_id for row in current if row is not None):
        opened = await open_collection(resources.store, caller, scope.repository_id, DEFAULT_ALIAS, Action.SEARCH)
        found.append(opened.collection)
    return found
