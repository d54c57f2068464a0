"""Hits against the tables: only chunks of the generation that their document has now are returned, whatever an index still holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateleg.apps.rag.tables import Chunk, Document, DocumentStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.searching.fusion import Ranked
    from gateleg.apps.rag.tables import Collection
    from gateleg.model import Ref
    from gateleg.store import AsyncStore

_LEAVING = (DocumentStatus.DELETE_IN_PROGRESS, DocumentStatus.DELETE_FAILED)
#: Hits that are verified at a time beyond those that are needed.
_SPARE = 10


@dataclass(frozen=True, slots=True)
class Verified:
    """A hit of a document's current generation."""

    ranked: Ranked
    document: Document


@dataclass(slots=True)
class DocumentReader:
    """Reads each document once for a search, strongly consistent."""

    store: AsyncStore
    collections: Sequence[Collection]
    _known: dict[tuple[int, str], Document | None] = field(default_factory=dict)

    async def verified(self, ranking: Sequence[Ranked], count: int) -> list[Verified]:
        """The first `count` hits of a ranking that are current."""
        found: list[Verified] = []
        place = 0
        while len(found) < count and place < len(ranking):
            window = ranking[place : place + count - len(found) + _SPARE]
            place += len(window)
            await self._read(window)
            found += [Verified(one, document) for one in window if (document := self._current(one)) is not None]
        return found[:count]

    def _current(self, ranked: Ranked) -> Document | None:
        key = ranked.candidate.key
        document = self._known[ranked.candidate.source, key.document_id]
        if document is None or document.generation != key.generation or document.status in _LEAVING:
            return None
        return document

    async def _read(self, window: Sequence[Ranked]) -> None:
        wanted = {(one.candidate.source, one.candidate.key.document_id) for one in window} - self._known.keys()
        if not wanted:
            return
        places = sorted(wanted)
        refs = [self._ref(source, document_id) for source, document_id in places]
        self._known |= dict(zip(places, await self.store.batch_get(refs, consistent=True), strict=True))

    def _ref(self, source: int, document_id: str) -> Ref[Document]:
        own = self.collections[source]
        return Document.key(repository_id=own.repository_id, collection_id=own.collection_id, document_id=document_id)


async def read_chunks(store: AsyncStore, keys: Sequence[tuple[str, int, int]]) -> dict[tuple[str, int, int], Chunk]:
    """Chunks by document, generation and ordinal, without those that are gone."""
    unique = list(dict.fromkeys(keys))
    refs = [Chunk.key(document_id=document, generation=generation, ordinal=ordinal) for document, generation, ordinal in unique]
    found = await store.batch_get(refs, consistent=True)
    return {key: chunk for key, chunk in zip(unique, found, strict=True) if chunk is not None}
