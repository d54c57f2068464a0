"""Verify hits against the tables: only chunks of a document's current generation pass, even if an index still contains others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.tables import Chunk, Document, DocumentStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.index.entries import ChunkKey
    from gateleg.apps.rag.searching.fusion import RankedCandidate
    from gateleg.apps.rag.tables import Collection
    from gateleg.model import Ref
    from gateleg.store import AsyncStore

_DELETING = (DocumentStatus.DELETE_IN_PROGRESS, DocumentStatus.DELETE_FAILED)
#: Extra hits to read at a time, once some were out of date.
_EXTRA_HITS = 10


@dataclass(frozen=True, slots=True)
class VerifiedHit:
    """A hit of a document's current generation."""

    ranked: RankedCandidate
    document: Document
    chunk: Chunk


@dataclass(slots=True)
class HitReader:
    """Reads each document and each chunk once per search, in batches, with strong consistency."""

    store: AsyncStore
    collections: Sequence[Collection]
    _documents: dict[tuple[int, str], Document | None] = field(default_factory=dict)
    _chunks: dict[ChunkKey, Chunk | None] = field(default_factory=dict)

    async def verified(self, ranking: Sequence[RankedCandidate], count: int) -> list[VerifiedHit]:
        """The first `count` hits of a ranking that are current."""
        found: list[VerifiedHit] = []
        place, spare = 0, 0
        while len(found) < count and place < len(ranking):
            window = ranking[place : place + count - len(found) + spare]
            place, spare = place + len(window), _EXTRA_HITS
            await self._read(window)
            found += [one for ranked in window if (one := self._current(ranked)) is not None]
        return found[:count]

    def _current(self, ranked: RankedCandidate) -> VerifiedHit | None:
        key = ranked.candidate.key
        document, chunk = self._documents[ranked.candidate.source, key.document_id], self._chunks[key]
        # The chunk may have been removed with its document since the index was searched.
        if document is None or chunk is None or document.generation != key.generation or document.status in _DELETING:
            return None
        return VerifiedHit(ranked, document, chunk)

    async def _read(self, window: Sequence[RankedCandidate]) -> None:
        documents = sorted({(one.candidate.source, one.candidate.key.document_id) for one in window} - self._documents.keys())
        chunks = [one.candidate.key for one in window if one.candidate.key not in self._chunks]
        refs: list[Ref[Any]] = [self._document_ref(source, document_id) for source, document_id in documents]
        refs += [_chunk_ref(key) for key in chunks]
        if refs:
            found = await self.store.batch_get(refs, consistent=True)
            self._documents |= zip(documents, found, strict=False)
            self._chunks |= zip(chunks, found[len(documents) :], strict=True)

    def _document_ref(self, source: int, document_id: str) -> Ref[Document]:
        collection = self.collections[source]
        return Document.key(repository_id=collection.repository_id, collection_id=collection.collection_id, document_id=document_id)


async def read_chunks(store: AsyncStore, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Chunk]:
    """Read chunks by their keys; chunks that no longer exist are left out."""
    unique = list(dict.fromkeys(keys))
    found = await store.batch_get([_chunk_ref(key) for key in unique], consistent=True) if unique else []
    return {key: chunk for key, chunk in zip(unique, found, strict=True) if chunk is not None}


def _chunk_ref(key: ChunkKey) -> Ref[Chunk]:
    return Chunk.key(document_id=key.document_id, generation=key.generation, ordinal=key.ordinal)
