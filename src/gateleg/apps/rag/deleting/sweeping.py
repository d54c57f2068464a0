"""Purging collections before the date at which the database drops their rows: it would leave everything else of them behind."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.deleting.starting import start_collection_deletion
from gateleg.apps.rag.repository_list import listed_repositories
from gateleg.apps.rag.tables import Collection, CollectionStatus
from gateleg.store import NotFound
from gateleg.web import Principal, Role

if TYPE_CHECKING:
    from gateleg.jobs import AsyncQueue

#: How long before its date a collection is purged: the sweep runs daily, and may miss a day.
AHEAD = timedelta(days=2)
_SWEEPER = Caller(Principal("system", Role.OPERATOR))


async def purge_deleted(queue: AsyncQueue) -> int:
    """Begin the removal of every deleted collection whose time to be restored is nearly over, or over; how many there were."""
    store = queue.store.reading(expired=True)
    now = store.setup.now()
    begun = 0
    async for repository in listed_repositories(store):
        deleted = Collection.with_status(repository_id=repository.repository_id, status=CollectionStatus.DELETED)
        async for row in store.query(deleted):
            if row.deleted_at is None or row.deleted_at > now + AHEAD:
                continue
            if row.deleted_at <= now:
                # No sweep ran in time. The row is still there, and must be until everything else is gone.
                with suppress(NotFound):
                    await store.patch(row.key, Collection.deleted_at.set(now + AHEAD))
            await start_collection_deletion(queue, _SWEEPER, row.repository_id, row.collection_id)
            begun += 1
    return begun
