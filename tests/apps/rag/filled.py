"""Collections with documents in them, as an ingestion leaves them behind."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from gateleg.ai import AsyncModels
from gateleg.apps.rag.index.entries import pack_vector
from gateleg.apps.rag.ingesting.embedding import embedded_text
from gateleg.apps.rag.tables import Chunk, Collection, Document, DocumentStatus, IngestionType
from gateleg.store import AsyncStore

MODEL = "local:minilm"

MANUAL: dict[str, list[str]] = {
    "pump.md": [
        "The pump P-100 moves water from the tank to the boiler. It must be switched off before the lid is opened.",
        "Error E42 means that the pump has run dry. Fill the tank, then press the reset button for three seconds.",
        "Clean the filter of the pump every six months. A blocked filter makes the motor hot.",
    ],
    "lamp.md": [
        "The lamp on the front is green while the machine is ready, and red when something is wrong.",
        "To change the bulb, unplug the machine and wait until the glass is cold.",
    ],
    "warranty.md": ["The warranty lasts two years from the day of purchase. It does not cover damage by frost."],
}


async def add_document(
    store: AsyncStore,
    models: AsyncModels,
    collection: Collection,
    name: str,
    texts: Sequence[str],
    *,
    generation: int = 1,
    document_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    language: str | None = None,
    page_starts: list[list[int]] | None = None,
    headings: Sequence[str | None] = (),
    below_headings: bool = False,
) -> Document:
    """A document whose ingestion is complete, with its chunks; the index is not told. `below_headings` has its chunks embedded as an
    ingestion does it, with the headings above them."""
    whole = [embedded_text(*one) for one in zip(texts, headings, strict=True)] if below_headings else texts
    vectors = await models.embeddings(MODEL).embed(whole)
    own = document_id or f"{collection.collection_id}-{name}"
    start = 0
    chunks = []
    for ordinal, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        chunks.append(
            Chunk(
                document_id=own,
                generation=generation,
                ordinal=ordinal,
                repository_id=collection.repository_id,
                collection_id=collection.collection_id,
                text=text,
                start=start,
                end=start + len(text),
                page=ordinal + 1,
                page_starts=page_starts,
                heading=headings[ordinal] if headings else None,
                content_hash=hashlib.sha256(text.encode()).hexdigest(),
                metadata=dict(metadata or {}),
                vector=pack_vector(vector),
                embedding_model=MODEL,
            )
        )
        start += len(text) + 1
    await store.batch_write(chunks)
    document = Document(
        document_id=own,
        repository_id=collection.repository_id,
        collection_id=collection.collection_id,
        document_name=name,
        source=f"documents/{own}/{name}",
        username="ann",
        ingestion_type=IngestionType.MANUAL,
        upload_date=1,
        chunks=len(texts),
        status=DocumentStatus.COMPLETED,
        generation=generation,
        last_generation=generation,
        language=language,
    )
    return await store.put(document, check_version=False)


async def fill(store: AsyncStore, models: AsyncModels, collection: Collection, documents: Mapping[str, Sequence[str]] = MANUAL) -> None:
    """Several documents."""
    for name, texts in documents.items():
        await add_document(store, models, collection, name, texts, metadata={"file": name, "tags": ["manual"]})
