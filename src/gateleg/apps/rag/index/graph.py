"""The vectors of an index in memory: an HNSW graph of most vectors, and a matrix of the newest ones.

New vectors are searched exactly until a thread has added them to the graph, so they are found at once and no search waits for the graph.
A small index needs no graph. The graph stores bfloat16; exact similarities are computed from the stored vectors.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
import zlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from usearch.index import Index, search

from gateleg.apps.rag.index.rows import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

#: Maximum number of vectors that are searched exactly, outside the graph; further ones are added to the graph.
EXACT = 4_000
#: HNSW parameters: neighbours of a node, candidates while adding, candidates while searching. See docs/why/rag.md for the measurements.
CONNECTIVITY, EXPANSION_ADD, EXPANSION_SEARCH = 16, 128, 256
#: From this many vectors on, searches consider more candidates.
_LARGE = 100_000
#: Maximum error of a similarity in the graph: bfloat16 rounds each component of both unit vectors by up to 1/512.
ROUNDING = 2 / 512
#: The format of a saved graph; other formats are not loaded.
KIND = f"bf16-{CONNECTIVITY}-{EXPANSION_ADD}"
#: Vectors added to the graph at a time; searches can run in between.
_VECTORS_PER_STEP = 32
#: Several threads would be faster, but would build a different graph each time, which misses different neighbours.
_THREADS = 1
#: How long adding to the graph yields to new searches.
_YIELD_SECONDS = 0.05
#: Rows multiplied at a time. With more, BLAS starts threads, which keep spinning when they are done.
_ROWS_PER_BLOCK = 1_000
#: Vectors copied out of the graph at a time.
_VECTORS_PER_COPY = 1_000
#: Bytes of a saved graph read at a time.
_BYTES_PER_READ = 1 << 22


class VectorGraph:
    """The vectors of one index, by chunk id."""

    def __init__(self, dimensions: int, *, exact: int = EXACT, on_grown: Callable[[], None] = lambda: None) -> None:
        self.dimensions = dimensions
        #: called in the thread that has added vectors to the graph
        self._on_grown = on_grown
        self._exact = exact
        self._graph = self._empty()
        self._lock = _ReadWriteLock()
        self._recent_ids = Column(np.int64)
        self._recent = Column(np.float32, dimensions)
        #: all vectors in float16, by id; filled when first needed
        self._half_ids: Column | None = None
        self._halves = Column(np.float16, dimensions)
        #: the last id in the graph
        self._last = 0
        self._growing: threading.Thread | None = None
        self._swap = threading.Lock()
        self._closed = False

    def _empty(self) -> Index:
        return Index(
            ndim=self.dimensions,
            metric="ip",
            dtype="bf16",
            connectivity=CONNECTIVITY,
            expansion_add=EXPANSION_ADD,
            expansion_search=EXPANSION_SEARCH,
        )

    def __len__(self) -> int:
        with self._swap:
            return len(self._graph) + len(self._recent_ids)

    def add(self, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Add vectors, which are found at once. If there are many, a thread adds them to the graph."""
        with self._swap:
            self._recent.extend(vectors)
            self._recent_ids.extend(ids)
            if self._half_ids is not None:
                self._halves.extend(vectors)
                self._half_ids.extend(ids)
            if len(self._recent_ids) > self._exact and self._growing is None and not self._closed:
                self._growing = threading.Thread(target=self._grow, name="rag-index-graph", daemon=True)
                self._growing.start()

    def settle(self) -> None:
        """Wait until the thread that adds to the graph has ended."""
        while (growing := self._growing) is not None:
            growing.join()

    def close(self) -> None:
        """Stop adding to the graph."""
        self._closed = True
        self.settle()

    def nearest(self, vector: NDArray[np.float32], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The approximate `k` nearest vectors: their ids, including those of removed chunks, and similarities."""
        with self._lock.shared():
            with self._swap:
                ids, recent, graph = self._recent_ids.view, self._recent.view, self._graph
            if len(graph):
                matches = graph.search(vector, min(k, len(graph)), threads=1)
                found, similar = np.asarray(matches.keys, dtype=np.int64), 1.0 - np.asarray(matches.distances, dtype=np.float32)
            else:
                found, similar = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        if not len(ids):
            return found, similar
        places, near = nearest_rows(recent, vector, k)
        # While vectors are being added to the graph, they are in both.
        together, first = np.unique(np.concatenate([found, ids[places]]), return_index=True)
        similar = np.concatenate([similar, near])[first]
        best = np.argsort(-similar, kind="stable")[:k]
        return together[best], similar[best]

    def nearest_of(self, vector: NDArray[np.float32], ids: NDArray[np.int64], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The `k` nearest of the given chunks by exhaustive comparison in float16: their positions in `ids` and similarities. Chunks
        without a vector are left out."""
        with self._swap:
            if self._half_ids is None:
                self._halve()
            assert self._half_ids is not None
            known, halves = self._half_ids.view, self._halves.view
        if not len(known) or not len(ids):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        rows = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        there = np.flatnonzero(known[rows] == ids)
        places, similar = nearest_rows(halves[rows[there]], vector, k)
        return there[places], similar

    def _halve(self) -> None:
        """Copy all vectors into a float16 matrix, in the order of their ids. From then on, `add` keeps it up to date."""
        with self._lock.shared():
            keys = np.sort(np.asarray(self._graph.keys, dtype=np.int64)) if len(self._graph) else np.zeros(0, dtype=np.int64)
            recent = self._recent_ids.view
            # While vectors are being added to the graph, they are in both.
            keys = keys[keys < recent[0]] if len(recent) else keys
            room = len(keys) + len(recent)
            self._half_ids, self._halves = Column(np.int64, room=room), Column(np.float16, self.dimensions, room=room)
            for start in range(0, len(keys), _VECTORS_PER_COPY):
                part = keys[start : start + _VECTORS_PER_COPY]
                self._halves.extend(np.asarray(self._graph.get(part, dtype="f16"), dtype=np.float16).reshape(len(part), -1))
        self._half_ids.extend(keys)
        self._halves.extend(self._recent.view)
        self._half_ids.extend(recent)
        _give_back()

    def save(self, path: Path) -> tuple[int, int]:
        """Write the graph to a file. Return its last id and the checksum of the file."""
        with self._lock.shared():
            last = self._last
            self._graph.save(str(path))
        with path.open("rb") as file:
            os.fsync(file.fileno())
        return last, _checksum(path)

    def load(self, path: Path, last: int, checksum: int) -> bool:
        """Replace the graph by a saved one. Return False if the file is missing or its checksum differs."""
        try:
            if _checksum(path) != checksum:
                return False
        except OSError:
            return False
        graph = self._empty()
        graph.load(str(path))
        # Loading resets them to the library's defaults.
        graph.expansion_search = EXPANSION_SEARCH  # type: ignore[misc]
        graph.expansion_add = EXPANSION_ADD  # type: ignore[misc]
        with self._lock.alone():
            self._graph, self._last = graph, last
        return True

    @property
    def last(self) -> int:
        """The last id in the graph."""
        return self._last

    @property
    def graphed(self) -> int:
        """The number of vectors in the graph."""
        return len(self._graph)

    def _grow(self) -> None:
        """Add the recent vectors to the graph until few are left."""
        while True:
            self._add_recent()
            _give_back()
            if not self._closed:
                self._on_grown()
            with self._swap:
                if self._closed or len(self._recent_ids) <= self._exact:
                    self._growing = None
                    return

    def _add_recent(self) -> None:
        """Add the recent vectors to the graph, a few at a time, so that no search waits long."""
        done = 0
        while not self._closed:
            with self._swap:
                done = self._without_graphed(done)
                ids, vectors = self._recent_ids.view, self._recent.view
                if not len(ids):
                    return
            with self._lock.alone():
                self._graph.add(ids[done : done + _VECTORS_PER_STEP], vectors[done : done + _VECTORS_PER_STEP], threads=_THREADS)
                done = min(done + _VECTORS_PER_STEP, len(ids))
                self._last = int(ids[done - 1])

    def _without_graphed(self, done: int) -> int:
        """Drop the first `done` recent vectors, which are in the graph, once they are the majority. Return how many are left of them."""
        if done < len(self._recent_ids) and (done <= self._exact or 2 * done < len(self._recent_ids)):
            return done
        ids, vectors = Column(np.int64), Column(np.float32, self.dimensions)
        ids.extend(self._recent_ids.view[done:])
        vectors.extend(self._recent.view[done:])
        self._recent_ids, self._recent = ids, vectors
        return 0


def search_candidates(vectors: int) -> int:
    """The number of candidates for a search in a graph of this size. Recall drops in larger graphs unless it grows."""
    return max(EXPANSION_SEARCH, round(EXPANSION_SEARCH * math.sqrt(vectors / _LARGE)))


def _checksum(path: Path) -> int:
    """The CRC-32 of a file, read in parts, because a graph of a million vectors exceeds a gigabyte."""
    found = 0
    with path.open("rb") as file:
        while part := file.read(_BYTES_PER_READ):
            found = zlib.crc32(part, found)
    return found


def _give_back() -> None:
    """Return free memory to the operating system, which glibc would otherwise keep after building a graph."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def nearest_rows(matrix: NDArray[Any], vector: NDArray[np.float32], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The `k` rows of a matrix nearest to a vector by exhaustive comparison, with their similarities, best first."""
    if not len(matrix):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    if matrix.dtype == np.float32:
        similar = np.concatenate([matrix[start : start + _ROWS_PER_BLOCK] @ vector for start in range(0, len(matrix), _ROWS_PER_BLOCK)])
        best = np.argpartition(-similar, k)[:k] if len(similar) > k else np.arange(len(similar))
        best = best[np.argsort(-similar[best], kind="stable")]
        return best, similar[best]
    # NumPy's float16 arithmetic is slow.
    matches = search(matrix, vector.astype(matrix.dtype), min(k, len(matrix)), "ip", exact=True, threads=1)
    return np.asarray(matches.keys, dtype=np.int64), 1.0 - np.asarray(matches.distances, dtype=np.float32)


class _ReadWriteLock:
    """A read-write lock that prefers readers. Searches share it; a change of the graph holds it exclusively.

    A change waits until no search is running. After `_YIELD_SECONDS`, new searches wait for the change.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing = 0
        self._changing = False
        self._insisting = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock for reading."""
        with self._changed:
            while self._changing or self._insisting:
                self._changed.wait()
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                if not self._sharing:
                    self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock for writing."""
        with self._changed:
            while self._changing or self._sharing:
                self._insisting = not self._changed.wait(_YIELD_SECONDS) or self._insisting
            self._changing, self._insisting = True, False
        try:
            yield
        finally:
            with self._changed:
                self._changing = False
                self._changed.notify_all()
