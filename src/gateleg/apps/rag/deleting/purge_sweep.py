"""Purge deleted collections before their rows expire by TTL, which would leave everything else behind."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.deleting.submission import start_collection_deletion
from gateleg.apps.rag.repository_list import listed_repositories
from gateleg.apps.rag.tables import Collection, CollectionStatus
from gateleg.store import NotFound
from gateleg.web import Principal, Role

if TYPE_CHECKING:
    from gateleg.jobs import AsyncQueue

#: How long before its expiry a collection is purged: the sweep runs daily, and may miss a day.
AHEAD = timedelta(days=2)
_SWEEPER = Caller(Principal("system", Role.OPERATOR))


async def purge_deleted(queue: AsyncQueue) -> int:
    """Start the removal of every deleted collection that has expired or is about to. Return their number."""
    store = queue.store.reading(expired=True)
    now = store.setup.now()
    begun = 0
    async for repository in listed_repositories(store):
        deleted = Collection.with_status(repository_id=repository.repository_id, status=CollectionStatus.DELETED)
        async for row in store.query(deleted):
            if row.deleted_at is None or row.deleted_at > now + AHEAD:
                continue
            if row.deleted_at <= now:
                # No sweep ran in time. Extend the TTL: the row must exist until everything else is removed.
                with suppress(NotFound):
                    await store.patch(row.key, Collection.deleted_at.set(now + AHEAD))
            await start_collection_deletion(queue, _SWEEPER, row.repository_id, row.collection_id)
            begun += 1
    return begun
