"""The state of a shadow index in the row of its collection: begin, swap and end, each one conditional update."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.errors import Reembedding
from gateleg.apps.rag.ingesting.generations import same_indexes
from gateleg.apps.rag.tables import Collection
from gateleg.jobs import JobMissing, JobStatus
from gateleg.store import ConditionFailed, NotFound

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.host import Resources
    from gateleg.store import AsyncStore

_ENDED = (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED)


def is_swapped(row: Collection) -> bool:
    """Whether searches already use the shadow index, so that only the cleanup of the old index is left."""
    return row.shadow_number is not None and row.shadow_number == row.index_number


async def check_unclaimed(resources: Resources[Any], row: Collection) -> None:
    """Refuse a collection whose shadow index belongs to a job that has not ended."""
    if row.shadow_job_id is not None and not await _has_ended(resources, row.shadow_job_id):
        raise _taken(row)


async def begin_shadow(store: AsyncStore, row: Collection, job_id: UUID, model: str) -> Collection:
    """Begin a shadow index for a job. Raises `Reembedding` if another job has done so since the row was read."""
    # Numbers are never reused: the index of a killed job may still exist, and another process may be about to write to it.
    number = row.index_changes + 1
    actions = [
        Collection.shadow_job_id.set(job_id),
        Collection.shadow_model.set(model),
        Collection.shadow_number.set(number),
        Collection.index_changes.set(number),
    ]
    return await _patch_if_unchanged(store, row, actions)


async def swap_index(store: AsyncStore, row: Collection) -> Collection:
    """Switch searches to the shadow index and its model."""
    actions = [
        Collection.embedding_model.set(row.shadow_model or ""),
        Collection.index_number.set(row.shadow_number or 0),
        Collection.index_changes.set(row.index_changes + 1),
    ]
    return await _patch_if_unchanged(store, row, actions)


async def end_shadow(store: AsyncStore, row: Collection) -> Collection:
    """Remove the shadow index from the row: it was abandoned, or it has replaced the old index.

    If it was abandoned, running ingestions that write to it start again.
    """
    actions: list[Any] = [Collection.shadow_job_id.remove(), Collection.shadow_model.remove(), Collection.shadow_number.remove()]
    if not is_swapped(row):
        actions.append(Collection.index_changes.set(row.index_changes + 1))
    return await _patch_if_unchanged(store, row, actions)


async def _patch_if_unchanged(store: AsyncStore, row: Collection, actions: list[Any]) -> Collection:
    """Change the row, on condition that its indexes and its job are the same as when it was read."""
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
    return Reembedding(f"Another job is re-embedding the collection {row.collection_id!r}, or the collection was removed.")
