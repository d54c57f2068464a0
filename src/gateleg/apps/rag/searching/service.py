"""Searches on behalf of somebody: rights are decided for each collection before its index is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Action, Caller
from gateleg.apps.rag.collections import DEFAULT_ALIAS, open_collection
from gateleg.apps.rag.errors import BadSearch
from gateleg.apps.rag.index.registry import indexes_of
from gateleg.apps.rag.repositories import get_repository
from gateleg.apps.rag.searching.search import SearchTools, check_request
from gateleg.apps.rag.searching.search import search as search_collections
from gateleg.apps.rag.tables import Collection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.searching.requests import SearchRequest
    from gateleg.apps.rag.searching.results import SearchResult
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.web import Principal, Resources

#: Collections that one search may open.
MOST_COLLECTIONS = 50


@dataclass(frozen=True, slots=True)
class Place:
    """A collection to search, by id or name; all of its repository that the caller may search when it names none."""

    repository_id: str
    collection_id: str | None = None


def tools_of(resources: Resources[RagSettings]) -> SearchTools:
    """What searches use, on this host."""
    return SearchTools(resources.store, resources.models, indexes_of(resources), resources.settings.rerank_model)


async def search(resources: Resources[RagSettings], principal: Principal, places: Sequence[Place], request: SearchRequest) -> SearchResult:
    """Search collections together. One that the caller may not search is not found; a whole repository is what of it they may search."""
    checked = check_request(request, resources.settings.most_results)
    collections = await open_places(resources, principal, places)
    return await search_collections(tools_of(resources), collections, checked)


async def open_places(resources: Resources[RagSettings], principal: Principal, places: Sequence[Place]) -> list[Collection]:
    """The collections that the caller may search; `UnknownCollection` or `UnknownRepository` for others."""
    if not places:
        raise BadSearch("No collection is named.", fix="Name at least one repository or collection to search.")
    caller = Caller(principal, resources.settings.admin_group)
    found: dict[tuple[str, str], Collection] = {}
    for place in places:
        for collection in await _open_place(resources, caller, place):
            found[collection.repository_id, collection.collection_id] = collection
        if len(found) > MOST_COLLECTIONS:
            raise BadSearch(
                f"These are more than {MOST_COLLECTIONS} collections.",
                fix=f"Name at most {MOST_COLLECTIONS} collections, and search the others next.",
            )
    return list(found.values())


async def _open_place(resources: Resources[RagSettings], caller: Caller, place: Place) -> list[Collection]:
    if place.collection_id is not None:
        opened = await open_collection(resources.store, caller, place.repository_id, place.collection_id, Action.SEARCH)
        return [opened.collection]
    repository = await get_repository(resources.store, caller, place.repository_id)
    rows = [row async for row in resources.store.query(Collection.in_repository, repository_id=place.repository_id)]
    # Indexes may be behind: rights are read from the table itself.
    current = await resources.store.batch_get([row.key for row in rows], consistent=True)
    found = [row for row in current if row is not None and caller.may(Action.SEARCH, repository, row)]
    if all(row.collection_id != repository.config.embedding_model_id for row in current if row is not None):
        opened = await open_collection(resources.store, caller, place.repository_id, DEFAULT_ALIAS, Action.SEARCH)
        found.append(opened.collection)
    return found
