"""List the collections of a repository, of all repositories, or of a creator. Rows are filtered by the caller's rights before paging."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import OpenedCollection
from gateleg.apps.rag.keyset import KeysetPage, Pager, merge_streams, order_ties
from gateleg.apps.rag.repositories import default_collection, list_repositories
from gateleg.apps.rag.tables import Collection, CollectionStatus, Repository

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.keyset import SortKey
    from gateleg.model import Query
    from gateleg.store import AsyncStore


class SortBy(StrEnum):
    """The sort order of collections."""

    CREATED_AT = "createdAt"
    UPDATED_AT = "updatedAt"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class CollectionFilter:
    """Conditions on listed collections, and their order."""

    #: substring of the name or description, ignoring case
    text: str | None = None
    #: None matches all but deleted collections
    status: CollectionStatus | None = None
    tag: str | None = None
    sort_by: SortBy = SortBy.CREATED_AT
    descending: bool = True

    def matches(self, collection: Collection) -> bool:
        """Whether a collection passes the filter."""
        if self.status is None and collection.status is CollectionStatus.DELETED:
            return False
        if self.status is not None and collection.status is not self.status:
            return False
        if self.tag is not None and (collection.metadata is None or self.tag not in collection.metadata.tags):
            return False
        folded = (self.text or "").casefold()
        return folded in (collection.name or "").casefold() or folded in (collection.description or "").casefold()

    def sort_key(self, row: OpenedCollection) -> SortKey:
        """The sort key of a collection."""
        found = row.collection
        value = {
            SortBy.CREATED_AT: _timestamp(found.created_at),
            SortBy.UPDATED_AT: _timestamp(found.updated_at),
            SortBy.NAME: (found.name or "").casefold(),
        }[self.sort_by]
        return (value, found.repository_id, found.collection_id)


def _timestamp(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%f")


async def list_collections(
    store: AsyncStore, caller: Caller, repository: Repository, filters: CollectionFilter, *, size: int = 20, token: str | None = None
) -> KeysetPage[OpenedCollection]:
    """The collections of a repository that the caller can read, with their total number."""
    pager = _pager(store, ["repository", repository.repository_id, caller.user], filters, size, token)
    found = pager.page_of([row async for row in _stream_readable(store, caller, repository, filters, None)])
    return replace(found, rows=await _recheck_access(store, caller, found.rows))


async def list_all_collections(
    store: AsyncStore, caller: Caller, filters: CollectionFilter, *, size: int = 20, token: str | None = None
) -> KeysetPage[OpenedCollection]:
    """The collections of all repositories that the caller can read."""
    pager = _pager(store, ["all", caller.user], filters, size, token)
    by_creation = filters.sort_by is SortBy.CREATED_AT
    repositories = await list_repositories(store, caller)
    streams = [_stream_readable(store, caller, one, filters, pager.last if by_creation else None) for one in repositories]
    if by_creation:
        found = await pager.take(merge_streams(streams, filters.sort_key, filters.descending))
    else:
        found = pager.page_of([row for stream in streams async for row in stream])
    return replace(found, rows=await _recheck_access(store, caller, found.rows))


async def list_own_collections(
    store: AsyncStore, caller: Caller, filters: CollectionFilter, *, creator: str | None = None, size: int = 20, token: str | None = None
) -> KeysetPage[OpenedCollection]:
    """The readable collections that the caller, or another user (`creator`), has created in any repository, by creation time."""
    owner = creator or caller.user
    filters = replace(filters, sort_by=SortBy.CREATED_AT)
    pager = _pager(store, ["creator", owner, caller.user], filters, size, token)
    readable = {row.repository_id: row for row in await list_repositories(store, caller)}
    query = _resume_query(Collection.of_creator(created_by=owner), pager.last, filters.descending)
    found = await pager.take(order_ties(_stream_created(store, caller, readable, filters, query), filters.sort_key))
    return replace(found, rows=await _recheck_access(store, caller, found.rows))


def _pager(store: AsyncStore, identity: list[object], filters: CollectionFilter, size: int, token: str | None) -> Pager[OpenedCollection]:
    return Pager.of(store, [*identity, filters], filters.sort_key, descending=filters.descending, size=size, token=token)


def _resume_query(query: Query[Collection], last: SortKey | None, descending: bool) -> Query[Collection]:
    """Start the query at the sort key `last`, with a margin of a second: other programs write times with fewer digits, which sort
    differently as text."""
    if last is None:
        return query.reversed() if not descending else query
    when = datetime.fromisoformat(f"{last[0]}+00:00")
    second = timedelta(seconds=1)
    if descending:
        return query.where(Collection.created_at <= when + second)
    return query.where(Collection.created_at >= when - second).reversed()


async def _stream_created(
    store: AsyncStore, caller: Caller, readable: dict[str, Repository], filters: CollectionFilter, query: Query[Collection]
) -> AsyncIterator[OpenedCollection]:
    async for row in store.query(query):
        repository = readable.get(row.repository_id)
        if repository is not None and filters.matches(row) and caller.may(Action.READ, repository, row):
            yield OpenedCollection(repository, row)


async def _stream_readable(
    store: AsyncStore, caller: Caller, repository: Repository, filters: CollectionFilter, last: SortKey | None
) -> AsyncIterator[OpenedCollection]:
    """The matching and readable collections of a repository by creation time. May leave out those before `last`."""

    def opened(row: Collection) -> OpenedCollection:
        return OpenedCollection(repository, row)

    query = _resume_query(Collection.in_repository(repository_id=repository.repository_id), last, filters.descending)
    sources: list[AsyncIterator[Collection]] = [aiter(store.query(query))]
    if await _default_row_is_missing(store, repository):
        sources.append(_one(default_collection(repository)))
    by_creation = replace(filters, sort_by=SortBy.CREATED_AT)
    streams = [order_ties(source, lambda row: by_creation.sort_key(opened(row))) for source in sources]
    async for row in merge_streams(streams, lambda row: by_creation.sort_key(opened(row)), filters.descending):
        if filters.matches(row) and caller.may(Action.READ, repository, row):
            yield opened(row)


async def _one(row: Collection) -> AsyncIterator[Collection]:
    yield row


async def _default_row_is_missing(store: AsyncStore, repository: Repository) -> bool:
    """Whether the row of the default collection does not exist, as in repositories of the public system."""
    model = repository.config.embedding_model_id
    return await store.find(Collection, collection_id=model, repository_id=repository.repository_id) is None


async def _recheck_access(store: AsyncStore, caller: Caller, rows: Sequence[OpenedCollection]) -> list[OpenedCollection]:
    """Read the rows again from the table and drop those that the caller may not read: the index may lag behind a change of rights."""
    stored = [row for row in rows if row.collection.version > 0]
    current = await store.batch_get([row.collection.key for row in stored], consistent=True)
    fresh = {(row.collection_id, row.repository_id): row for row in current if row is not None}
    found: list[OpenedCollection] = []
    for row in rows:
        now = fresh.get((row.collection.collection_id, row.collection.repository_id), row.collection)
        if caller.may(Action.READ, row.repository, now):
            found.append(OpenedCollection(row.repository, now))
    return found
