"""Document collections elsewhere in the console: the newest on the overview, search by name, and the subjects of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Action, Caller
from gateleg.apps.rag.collection_list import CollectionFilter, list_all_collections
from gateleg.apps.rag.collections import find_collection
from gateleg.apps.rag.repositories import list_repositories
from gateleg.apps.rag.subjects import parse_subject
from gateleg.apps.rag.tables import Document, Repository
from gateleg.apps.rag.web.page_paths import collection_path, document_path, repository_path
from gateleg.host import SearchHit, Tile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.apps.rag.collections import OpenedCollection
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Principal, Resources

_SHOWN = 4
#: Maximum results of each kind, repositories whose documents are searched, and documents searched in each, newest first.
_FOUND, _REPOSITORIES, _SEARCHED = 5, 20, 500


async def newest_collections(resources: Resources[RagSettings], principal: Principal) -> list[Tile]:
    """Tiles for the newest collections that the principal can read."""
    caller = Caller(principal, resources.settings.admin_group)
    page = await list_all_collections(resources.store, caller, CollectionFilter(), size=_SHOWN)
    return [Tile(_name(one), _place(one), _about(one.repository), at=one.collection.created_at) for one in page.rows]


async def find_by_name(resources: Resources[RagSettings], principal: Principal, text: str) -> list[SearchHit]:
    """Find readable repositories, collections and documents by a substring of their name or description."""
    caller, store = Caller(principal, resources.settings.admin_group), resources.store
    repositories = await list_repositories(store, caller)
    found = [
        SearchHit(_title(one), repository_path(one.repository_id), "Repository", one.config.description or "")
        for one in repositories
        if _has(text, one.repository_id, one.config.repository_name, one.config.description)
    ][:_FOUND]
    page = await list_all_collections(store, caller, CollectionFilter(text=text), size=_FOUND)
    found += [SearchHit(_name(one), _place(one), "Collection", _about(one.repository)) for one in page.rows]
    for repository in repositories[:_REPOSITORIES]:
        found += [
            SearchHit(row.document_name, document_path(row.repository_id, row.document_id), "Document", _about(repository))
            async for row in _documents(resources, caller, repository, text)
        ]
    return found[: 3 * _FOUND]


async def found_subject(resources: Resources[RagSettings], principal: Principal, text: str | None) -> SearchHit | None:
    """The repository or collection that a job is about, with a link to its page; None if the principal cannot read it."""
    subject, caller = parse_subject(text), Caller(principal, resources.settings.admin_group)
    if subject is None:
        return None
    repository = await resources.store.find(Repository, repository_id=subject.repository_id)
    if repository is None or not caller.may(Action.READ, repository):
        return None
    if subject.collection_id is None:
        return SearchHit(_title(repository), repository_path(repository.repository_id), "Repository")
    collection = await find_collection(resources.store, repository, subject.collection_id)
    if collection is None or not caller.may(Action.READ, repository, collection):
        return None
    place = collection_path(repository.repository_id, collection.collection_id)
    return SearchHit(collection.name or "Default collection", place, "Collection", _about(repository))


async def _documents(resources: Resources[RagSettings], caller: Caller, repository: Repository, text: str) -> AsyncIterator[Document]:
    """Find readable documents by a substring of their name, among the newest of a repository."""
    store, readable, left = resources.store, dict[str, bool](), _FOUND
    async for row in store.query(Document.in_repository, repository_id=repository.repository_id, limit=_SEARCHED):
        if not _has(text, row.document_name):
            continue
        if row.collection_id not in readable:
            collection = await find_collection(store, repository, row.collection_id)
            readable[row.collection_id] = collection is not None and caller.may(Action.READ, repository, collection)
        if readable[row.collection_id]:
            yield row
            left -= 1
            if not left:
                return


def _has(text: str, *names: str | None) -> bool:
    return any(text.casefold() in (name or "").casefold() for name in names)


def _title(repository: Repository) -> str:
    return repository.config.repository_name or repository.repository_id


def _name(opened: OpenedCollection) -> str:
    return opened.collection.name or "Default collection"


def _place(opened: OpenedCollection) -> str:
    return collection_path(opened.collection.repository_id, opened.collection.collection_id)


def _about(repository: Repository) -> str:
    return f"in {_title(repository)}"
