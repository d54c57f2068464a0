"""Who has searched, asked, downloaded and read what: entries of the host's audit log, from every way in.

They name the person and the collections. The text of a question may be confidential itself, so it is recorded only if a setting says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Collection, Document
    from gateleg.host import Principal, Resources


async def note_query(
    resources: Resources[RagSettings], principal: Principal, action: str, collections: Sequence[Collection], text: str, **details: Any
) -> None:
    """Record a search or a question, with the collections that it covered."""
    if not resources.settings.audit_reads:
        return
    places = [f"{collection.repository_id}/{collection.collection_id}" for collection in collections]
    target = places[0] if len(places) == 1 else ", ".join(sorted({collection.repository_id for collection in collections}))
    asked = {"text": text} if resources.settings.audit_queries else {}
    await resources.audit.note(principal, action, target, collections=places, **asked, **details)


async def note_read(resources: Resources[RagSettings], principal: Principal, action: str, document: Document, **details: Any) -> None:
    """Record that somebody has downloaded a document, or read its passages or pages."""
    if not resources.settings.audit_reads:
        return
    target = f"{document.repository_id}/{document.collection_id}/{document.document_id}"
    await resources.audit.note(principal, action, target, content_hash=document.content_hash, **details)
