"""Lists of collections: of a repository, of all repositories, of one creator. Filtered by the caller's rights before they are paged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import OpenedCollection
from gateleg.apps.rag.keyset import KeysetPage, Pager, in_order, merged
from gateleg.apps.rag.repositories import default_collection, list_repositories
from gateleg.apps.rag.tables import Collection, CollectionStatus, Repository

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.keyset import SortKey
    from gateleg.model import Query
    from gateleg.store import AsyncStore


class SortBy(StrEnum):
    """What collections are sorted by."""

    CREATED_AT = "createdAt"
    UPDATED_AT = "updatedAt"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class CollectionFilter:
    """Which collections are wanted, and in which order."""

    #: part of the name or the description, in any letter case
    text: str | None = None
    #: without one, all but deleted collections
    status: CollectionStatus | None = None
    tag: str | None = None
    sort_by: SortBy = SortBy.CREATED_AT
    descending: bool = True

    def fits(self, collection: Collection) -> bool:
        """Whether a collection is wanted."""
        if self.status is None and collection.status is CollectionStatus.DELETED:
            return False
        if self.status is not None and collection.status is not self.status:
            return False
        if self.tag is not None and (collection.metadata is None or self.tag not in collection.metadata.tags):
            return False
        folded = (self.text or "").casefold()
        return folded in (collection.name or "").casefold() or folded in (collection.description or "").casefold()

    def place(self, row: OpenedCollection) -> SortKey:
        """Where a collection stands in the order."""
        found = row.collection
        value = {
            SortBy.CREATED_AT: _moment(found.created_at),
            SortBy.UPDATED_AT: _moment(found.updated_at),
            SortBy.NAME: (found.name or "").casefold(),
        }[self.sort_by]
        return (value, found.repository_id, found.collection_id)


def _moment(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%f")


async def list_collections(
    store: AsyncStore, caller: Caller, repository: Repository, wanted: CollectionFilter, *, size: int = 20, token: str | None = None
) -> KeysetPage[OpenedCollection]:
    """The collections of a repository that the caller can read, with their number."""
    pager = _pager(store, ["repository", repository.repository_id, caller.user], wanted, size, token)
    found = pager.page_of([row async for row in _readable(store, caller, repository, wanted, None)])
    return replace(found, rows=await _confirmed(store, caller, found.rows))


async def list_all_collections(
    store: AsyncStore, caller: Caller, wanted: CollectionFilter, *, size: int = 20, token: str | None = None
) -> KeysetPage[OpenedCollection]:
    """The collections of all repositories that the caller can read."""
    pager = _pager(store, ["all", caller.user], wanted, size, token)
    by_creation = wanted.sort_by is SortBy.CREATED_AT
    repositories = await list_repositories(store, caller)
    streams = [_readable(store, caller, one, wanted, pager.last if by_creation else None) for one in repositories]
    if by_creation:
        found = await pager.take(merged(streams, wanted.place, wanted.descending))
    else:
        found = pager.page_of([row for stream in streams async for row in stream])
    return replace(found, rows=await _confirmed(store, caller, found.rows))


async def list_own_collections(
    store: AsyncStore, caller: Caller, wanted: CollectionFilter, *, creator: str | None = None, size: int = 20, token: str | None = None
) -> KeysetPage[OpenedCollection]:
    """The collections that somebody created in any repository, by their creation: the caller's own, or, as an audit trail, those of
    another user. The caller sees of them what they may read."""
    whose = creator or caller.user
    wanted = replace(wanted, sort_by=SortBy.CREATED_AT)
    pager = _pager(store, ["creator", whose, caller.user], wanted, size, token)
    readable = {row.repository_id: row for row in await list_repositories(store, caller)}
    query = _from(Collection.of_creator(created_by=whose), pager.last, wanted.descending)
    found = await pager.take(in_order(_created(store, caller, readable, wanted, query), wanted.place))
    return replace(found, rows=await _confirmed(store, caller, found.rows))


def _pager(store: AsyncStore, question: list[object], wanted: CollectionFilter, size: int, token: str | None) -> Pager[OpenedCollection]:
    return Pager.of(store, [*question, wanted], wanted.place, descending=wanted.descending, size=size, token=token)


def _from(query: Query[Collection], last: SortKey | None, descending: bool) -> Query[Collection]:
    """The query from a place on: a second earlier, since other programs write times with fewer digits, whose order as text differs."""
    if last is None:
        return query.reversed() if not descending else query
    when = datetime.fromisoformat(f"{last[0]}+00:00")
    second = timedelta(seconds=1)
    if descending:
        return query.where(Collection.created_at <= when + second)
    return query.where(Collection.created_at >= when - second).reversed()


async def _created(
    store: AsyncStore, caller: Caller, readable: dict[str, Repository], wanted: CollectionFilter, query: Query[Collection]
) -> AsyncIterator[OpenedCollection]:
    async for row in store.query(query):
        repository = readable.get(row.repository_id)
        if repository is not None and wanted.fits(row) and caller.may(Action.READ, repository, row):
            yield OpenedCollection(repository, row)


async def _readable(
    store: AsyncStore, caller: Caller, repository: Repository, wanted: CollectionFilter, last: SortKey | None
) -> AsyncIterator[OpenedCollection]:
    """The collections of a repository that are wanted and readable, by their creation; those before `last` may be left out."""

    def opened(row: Collection) -> OpenedCollection:
        return OpenedCollection(repository, row)

    query = _from(Collection.in_repository(repository_id=repository.repository_id), last, wanted.descending)
    sources: list[AsyncIterator[Collection]] = [aiter(store.query(query))]
    if await _lacks_default(store, repository):
        sources.append(_one(default_collection(repository)))
    by_creation = replace(wanted, sort_by=SortBy.CREATED_AT)
    streams = [in_order(source, lambda row: by_creation.place(opened(row))) for source in sources]
    async for row in merged(streams, lambda row: by_creation.place(opened(row)), wanted.descending):
        if wanted.fits(row) and caller.may(Action.READ, repository, row):
            yield opened(row)


async def _one(row: Collection) -> AsyncIterator[Collection]:
    yield row


async def _lacks_default(store: AsyncStore, repository: Repository) -> bool:
    """Whether nobody has written the row of the default collection so far, as in repositories of the public system."""
    model = repository.config.embedding_model_id
    return await store.find(Collection, collection_id=model, repository_id=repository.repository_id) is None


async def _confirmed(store: AsyncStore, caller: Caller, rows: Sequence[OpenedCollection]) -> list[OpenedCollection]:
    """What the caller may still read, and as it is now: an index may be a moment behind the table that knows the rights."""
    stored = [row for row in rows if row.collection.version > 0]
    current = await store.batch_get([row.collection.key for row in stored], consistent=True)
    fresh = {(row.collection_id, row.repository_id): row for row in current if row is not None}
    found: list[OpenedCollection] = []
    for row in rows:
        now = fresh.get((row.collection.collection_id, row.collection.repository_id), row.collection)
        if caller.may(Action.READ, row.repository, now):
            found.append(OpenedCollection(row.repository, now))
    return found
