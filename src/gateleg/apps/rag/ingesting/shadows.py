"""The shadow index of a collection in its row: its beginning, the swap, and its end. Each is one conditional update."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.errors import Reembedding
from gateleg.apps.rag.ingesting.generations import same_indexes
from gateleg.apps.rag.tables import Collection
from gateleg.jobs import JobMissing, JobStatus
from gateleg.store import ConditionFailed, NotFound

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.store import AsyncStore
    from gateleg.web import Resources

_ENDED = (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED)


def is_swapped(row: Collection) -> bool:
    """Whether the shadow index of a collection is searched already, and only what it has replaced is left to be removed."""
    return row.shadow_number is not None and row.shadow_number == row.index_number


async def check_unclaimed(resources: Resources[Any], row: Collection) -> None:
    """Refuse a collection whose shadow index a job has that has not ended."""
    if row.shadow_job_id is not None and not await _has_ended(resources, row.shadow_job_id):
        raise _taken(row)


async def begin_shadow(store: AsyncStore, row: Collection, job_id: UUID, model: str) -> Collection:
    """Begin a shadow index on behalf of a job. Raises `Reembedding` if somebody else has done so since the row was read."""
    # A number is used once: the index of a job that was killed may still be there, and somebody may be about to write to it.
    number = row.index_changes + 1
    actions = [
        Collection.shadow_job_id.set(job_id),
        Collection.shadow_model.set(model),
        Collection.shadow_number.set(number),
        Collection.index_changes.set(number),
    ]
    return await _changed(store, row, actions)


async def swap_index(store: AsyncStore, row: Collection) -> Collection:
    """Let searches use the shadow index and its model: the one update that replaces an index."""
    actions = [
        Collection.embedding_model.set(row.shadow_model or ""),
        Collection.index_number.set(row.shadow_number or 0),
        Collection.index_changes.set(row.index_changes + 1),
    ]
    return await _changed(store, row, actions)


async def end_shadow(store: AsyncStore, row: Collection) -> Collection:
    """Forget the shadow index of a collection: it is given up, or has taken the place of the other. Ingestions that have seen it while it
    was not searched begin again."""
    actions: list[Any] = [Collection.shadow_job_id.remove(), Collection.shadow_model.remove(), Collection.shadow_number.remove()]
    if not is_swapped(row):
        actions.append(Collection.index_changes.set(row.index_changes + 1))
    return await _changed(store, row, actions)


async def _changed(store: AsyncStore, row: Collection, actions: list[Any]) -> Collection:
    """A row after a change, provided that its indexes and its job are what they were when it was read."""
    same = Collection.shadow_job_id.missing() if row.shadow_job_id is None else Collection.shadow_job_id == row.shadow_job_id
    try:
        return await store.patch(row.key, *actions, condition=same_indexes(row) & same)
    except (ConditionFailed, NotFound):
        raise _taken(row) from None


async def _has_ended(resources: Resources[Any], job_id: UUID) -> bool:
    try:
        return (await resources.queue.get_or_archived(job_id)).status in _ENDED
    except JobMissing:
        return True


def _taken(row: Collection) -> Reembedding:
    return Reembedding(f"Another job embeds the collection {row.collection_id!r} anew, or it was removed.")
