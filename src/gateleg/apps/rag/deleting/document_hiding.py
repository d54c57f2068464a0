"""Hide a document from searches while it is being removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.rag.documents import find_document
from gateleg.apps.rag.tables import Document, DocumentStatus, Repository
from gateleg.store import IllegalTransition, NotFound

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.store import AsyncStore


async def hide_document(store: AsyncStore, repository: Repository, document_id: str, job_id: UUID) -> Document | None:
    """Mark a document as being deleted, and clear the generation that searches find. Return None if it does not exist."""
    found = await find_document(store, repository, document_id)
    if found is None:
        return None
    actions = [Document.generation.remove(), Document.last_generation.set(max(found.last_generation, found.generation or 0))]
    if found.status is not DocumentStatus.DELETE_IN_PROGRESS:
        actions += [Document.status.to(DocumentStatus.DELETE_IN_PROGRESS), Document.job_id.set(job_id)]
    try:
        return await store.patch(found.key, *actions)
    except NotFound:
        return None
    except IllegalTransition:
        return await hide_document(store, repository, document_id, job_id)
