"""Purging collections before the date at which the database drops their rows: it would leave everything else of them behind."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.deleting.starting import start_collection_deletion
from gateleg.apps.rag.tables import Collection, CollectionStatus, Repository
from gateleg.web import Principal, Role

if TYPE_CHECKING:
    from gateleg.jobs import AsyncQueue

#: How long before its date a collection is purged: the sweep runs daily, and may miss a day.
AHEAD = timedelta(days=2)
_SWEEPER = Caller(Principal("system", Role.OPERATOR))


async def purge_deleted(queue: AsyncQueue) -> int:
    """Begin the removal of every deleted collection whose time to be restored is nearly over; how many there were."""
    store = queue.store
    until = store.setup.now() + AHEAD
    begun = 0
    async for repository in store.export(Repository):
        deleted = Collection.with_status(repository_id=repository.repository_id, status=CollectionStatus.DELETED)
        async for row in store.query(deleted):
            if row.deleted_at is not None and row.deleted_at <= until:
                await start_collection_deletion(queue, _SWEEPER, row.repository_id, row.collection_id)
                begun += 1
    return begun
