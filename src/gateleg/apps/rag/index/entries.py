"""The entries and hits of a search index, and the protocol of an index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from gateleg.apps.rag.index.filters import Filter
    from gateleg.apps.rag.tables import Chunk

Vector = "NDArray[np.float32]"


class ChunkKey(NamedTuple):
    """The key of a chunk: document, generation and ordinal."""

    document_id: str
    generation: int
    ordinal: int


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A chunk to be indexed."""

    ordinal: int
    text: str
    vector: NDArray[np.float32] | None = None
    heading: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    language: str | None = None


class IndexHit(NamedTuple):
    """A chunk that was found, with the score of each kind of search; None if that search did not find it."""

    key: ChunkKey
    #: exact cosine similarity, -1 to 1
    similarity: float | None = None
    #: BM25 score
    keyword: float | None = None


class CollectionIndex(Protocol):
    """The search index of one collection. Calls block: run them in a thread.

    To replace a document, add the chunks of the new generation, then set the document's `generation`, then remove the old generation.
    Searches discard hits of other generations, so the switch is atomic.
    """

    def add(self, document_id: str, generation: int, chunks: Iterable[Chunk], *, language: str | None = None) -> int:
        """Add chunks of a document, or replace those of the same generation and ordinal. Durable on return. Returns their number."""
        ...

    def add_entries(self, document_id: str, generation: int, entries: Sequence[IndexEntry]) -> int:
        """Like `add`, for entries that were not built from stored chunks."""
        ...

    def remove(self, document_id: str, generation: int | None = None) -> int:
        """Remove the chunks of a document, of one generation or of all, and return their number."""
        ...

    def search(
        self,
        vector: NDArray[np.float32] | None,
        text: str | None,
        filters: Filter | None,
        k: int,
        *,
        documents: Sequence[str] | None = None,
    ) -> list[IndexHit]:
        """The `k` chunks nearest to a vector and the `k` with the best BM25 score for a text; either may be None."""
        ...

    def count(self) -> int:
        """The number of chunks in the index."""
        ...

    def generations(self) -> dict[str, set[int]]:
        """The generations in the index, by document."""
        ...

    def counts(self) -> dict[tuple[str, int], int]:
        """The number of chunks by document and generation."""
        ...

    def vectors(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, NDArray[np.float32]]:
        """The vectors of chunks; chunks without a vector are left out."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the index has been compared with the chunks table since it was created, so that nothing is missing."""
        ...

    def mark_complete(self) -> None:
        """Record that the index has been compared with the chunks table."""
        ...

    def drop(self) -> None:
        """Delete the index. Processes that have it open see it as empty."""
        ...

    def close(self) -> None:
        """Release memory and files; the index itself is kept."""
        ...


def entry_of(chunk: Chunk, language: str | None = None, model: str | None = None) -> IndexEntry:
    """The index entry of a stored chunk. `model` selects its vector; by default, that of its ingestion."""
    stored = chunk.shadow_vector if model is not None and chunk.shadow_model == model else chunk.vector
    vector = unpack_vector(stored) if stored is not None else None
    return IndexEntry(chunk.ordinal, chunk.text, vector, chunk.heading, chunk.metadata, language)


def pack_vector(vector: NDArray[Any]) -> bytes:
    """Encode a vector for storage: float32, little-endian."""
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


def unpack_vector(stored: bytes, dimensions: int | None = None) -> NDArray[np.float32]:
    """Decode a stored vector. If `dimensions` is given, float16 is recognized by its length."""
    if dimensions is not None and len(stored) == 2 * dimensions:
        return np.frombuffer(stored, dtype="<f2").astype(np.float32)
    return np.frombuffer(stored, dtype="<f4").astype(np.float32, copy=False)
