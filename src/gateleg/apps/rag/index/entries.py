"""What goes into an index and what a search of it returns."""

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
    """A chunk by its document, the generation of the document's chunks, and its place in it."""

    document_id: str
    generation: int
    ordinal: int


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A chunk as an index takes it."""

    ordinal: int
    text: str
    vector: NDArray[np.float32] | None = None
    heading: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    language: str | None = None


class IndexHit(NamedTuple):
    """A chunk that was found, with what each way of searching says of it; None where that way did not find it."""

    key: ChunkKey
    #: cosine similarity, -1 to 1, computed exactly
    similarity: float | None = None
    #: BM25
    keyword: float | None = None


class CollectionIndex(Protocol):
    """The search index of one collection. Calls block: await them in a thread.

    Add the chunks of a new generation *before* the document's `generation` is set to it: searches discard hits of other generations,
    so that setting it replaces the document at once, and nothing is missing in between. Then remove the old generation.
    """

    def add(self, document_id: str, generation: int, chunks: Iterable[Chunk], *, language: str | None = None) -> int:
        """Add chunks of a document, or replace those of the same generation and ordinal. Durable when it returns; how many were added."""
        ...

    def add_entries(self, document_id: str, generation: int, entries: Sequence[IndexEntry]) -> int:
        """`add` for chunks that are not stored."""
        ...

    def remove(self, document_id: str, generation: int | None = None) -> int:
        """Remove the chunks of a document, of one generation or of all; how many were removed."""
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
        """The `k` chunks nearest to a vector and the `k` with the best BM25 for a text; either may be left out."""
        ...

    def count(self) -> int:
        """How many chunks it has."""
        ...

    def generations(self) -> dict[str, set[int]]:
        """The documents that it has chunks of, with the generations of these."""
        ...

    def counts(self) -> dict[tuple[str, int], int]:
        """How many chunks each generation of each document has."""
        ...

    def vectors(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, NDArray[np.float32]]:
        """The vectors of chunks, without those that have none."""
        ...

    @property
    def complete(self) -> bool:
        """Whether everything that was in the chunks table when it was made has been added to it."""
        ...

    def mark_complete(self) -> None:
        """Record that it has been compared with the chunks table."""
        ...

    def drop(self) -> None:
        """Remove it from where it lies. Every process that has it open finds it empty."""
        ...

    def close(self) -> None:
        """Give up memory and files. What was added stays."""
        ...


def entry_of(chunk: Chunk, language: str | None = None) -> IndexEntry:
    """A stored chunk as an index takes it."""
    vector = unpack_vector(chunk.vector) if chunk.vector is not None else None
    return IndexEntry(chunk.ordinal, chunk.text, vector, chunk.heading, chunk.metadata, language)


def pack_vector(vector: NDArray[Any]) -> bytes:
    """A vector as chunks store it: float32, little-endian."""
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


def unpack_vector(stored: bytes, dimensions: int | None = None) -> NDArray[np.float32]:
    """A stored vector; float16 is recognised by its length where the number of dimensions is known."""
    if dimensions is not None and len(stored) == 2 * dimensions:
        return np.frombuffer(stored, dtype="<f2").astype(np.float32)
    return np.frombuffer(stored, dtype="<f4").astype(np.float32, copy=False)
