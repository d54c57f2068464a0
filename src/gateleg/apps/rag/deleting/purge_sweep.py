"""Purge deleted collections once the date has passed until which they can be restored, and what is left of rows that others removed.

`deletedAt` is the table's TTL attribute, as in the public design, so a row may vanish at any time after its date. What it leaves behind is
found by two traces: the marker that reserves the collection's name, which TTL does not remove, and documents without a collection.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import unquote

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.deleting.handlers import release_name
from gateleg.apps.rag.deleting.job_types import DELETE_COLLECTION, CollectionDeletion
from gateleg.apps.rag.deleting.submission import start_collection_deletion
from gateleg.apps.rag.repository_list import listed_repositories
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import Collection, CollectionStatus, Document, Orphan, Repository, collections_table
from gateleg.host import Principal, Role
from gateleg.jobs import Submission
from gateleg.store import NotFound

if TYPE_CHECKING:
    from gateleg.jobs import AsyncQueue
    from gateleg.model import Item
    from gateleg.store import AsyncStore

#: For how long documents without a collection are kept if nothing but they shows that it existed: its row may still be written or restored.
GRACE = timedelta(days=1)
#: The TTL of a row while its collection is being removed: the row must exist until everything else is gone.
_REMOVAL = timedelta(days=2)
_SWEEPER = Caller(Principal("system", Role.OPERATOR))


async def purge_deleted(queue: AsyncQueue) -> int:
    """Start the removal of every deleted collection whose date has passed, and of orphans. Return their number."""
    return await _purge_expired(queue) + await _purge_orphans(queue)


async def _purge_expired(queue: AsyncQueue) -> int:
    store = queue.store.reading(expired=True)
    now = store.setup.now()
    begun = 0
    async for repository in listed_repositories(store):
        deleted = Collection.with_status(repository_id=repository.repository_id, status=CollectionStatus.DELETED)
        async for row in store.query(deleted):
            if row.deleted_at is None or row.deleted_at > now:
                continue
            try:
                await store.patch(row.key, Collection.deleted_at.set(now + _REMOVAL))
            except NotFound:
                # TTL was faster: the rest is removed as that of an orphan.
                continue
            await start_collection_deletion(queue, _SWEEPER, row.repository_id, row.collection_id)
            begun += 1
    return begun


async def _purge_orphans(queue: AsyncQueue) -> int:
    store = queue.store.reading(expired=True)
    rows, named = await _read_collections(store)
    begun = 0
    for (repository_id, collection_id), name in named.items():
        if await _exists(store, repository_id, collection_id):
            continue
        repository = await store.find(Repository, repository_id=repository_id, consistent=True)
        if repository is not None and collection_id == repository.config.embedding_model_id:
            # A default collection needs no row: its documents stay, and only its name is free again.
            await release_name(store, repository_id, collection_id, name)
            continue
        await _remove(queue, repository_id, collection_id, name)
        begun += 1
    async for repository in listed_repositories(store):
        for collection_id in sorted(await _ids_of_documents(store, repository)):
            place = repository.repository_id, collection_id
            if place in rows or place in named or await _exists(store, *place):
                continue
            if await _has_waited(store, *place):
                await _remove(queue, *place, None)
                begun += 1
    return begun


async def _read_collections(store: AsyncStore) -> tuple[set[tuple[str, str]], dict[tuple[str, str], str]]:
    """The collections that have rows, and those that have reserved a name, each with the name."""
    rows: set[tuple[str, str]] = set()
    named: dict[tuple[str, str], str] = {}
    async for item in store.scan(collections_table, consistent=True, markers=True):
        owner = item.get("_owner", {}).get("M")
        if owner is not None:
            named[_place(owner)] = unquote(item["collectionId"]["S"].rpartition("#")[2])
        elif "S" in item["repositoryId"]:
            rows.add(_place(item))
    return rows, {place: name for place, name in named.items() if place not in rows}


def _place(item: Item) -> tuple[str, str]:
    return item["repositoryId"]["S"], item["collectionId"]["S"]


async def _ids_of_documents(store: AsyncStore, repository: Repository) -> set[str]:
    """The collections of documents that this application has ingested. The default collection may have no row."""
    found: set[str] = set()
    query = Document.in_repository(repository_id=repository.repository_id)
    async for row in store.query(query, project=[Document.collection_id, Document.last_generation]):
        if row.get("last_generation"):
            found.add(str(row["collection_id"]))
    return found - {repository.config.embedding_model_id}


async def _exists(store: AsyncStore, repository_id: str, collection_id: str) -> bool:
    return await store.find(Collection, collection_id=collection_id, repository_id=repository_id, consistent=True) is not None


async def _has_waited(store: AsyncStore, repository_id: str, collection_id: str) -> bool:
    """Whether the row of a collection has been missing for the grace period. The first time, this is recorded."""
    now = store.setup.now()
    orphan = await store.find(Orphan, repository_id=repository_id, collection_id=collection_id, consistent=True)
    if orphan is None:
        await store.put(Orphan(repository_id=repository_id, collection_id=collection_id, seen_at=now))
        return False
    return orphan.seen_at <= now - GRACE


async def _remove(queue: AsyncQueue, repository_id: str, collection_id: str, name: str | None) -> None:
    subject = Subject(repository_id, collection_id)
    config = CollectionDeletion(repository_id=repository_id, collection_id=collection_id, name=name)
    today = queue.store.setup.now().date()
    await queue.submit(Submission(DELETE_COLLECTION, config, subject=str(subject), idempotency_key=f"{subject}:orphan:{today}"))
