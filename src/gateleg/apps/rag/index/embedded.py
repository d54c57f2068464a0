"""The index of a collection on this machine: a SQLite file, with columns, postings and a vector graph in memory.

Before each search, the process reads the changes since its last search from the file. Of the data in memory, only the graph is written
back: a snapshot saves the next process from building it.
"""

from __future__ import annotations

import logging
import secrets
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from gateleg.apps.rag.errors import BadVector, IndexDamaged
from gateleg.apps.rag.index.analysis import DEFAULT_LANGUAGE
from gateleg.apps.rag.index.database import IndexDatabase, Position, read_position, remove_files
from gateleg.apps.rag.index.entries import IndexHit, entry_of, unpack_vector
from gateleg.apps.rag.index.graph import EXACT, KIND, ROUNDING, VectorGraph, search_candidates
from gateleg.apps.rag.index.postings import KeywordScores, Postings, with_phrases
from gateleg.apps.rag.index.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from gateleg.apps.rag.index.entries import ChunkKey, IndexEntry
    from gateleg.apps.rag.index.filters import Filter
    from gateleg.apps.rag.tables import Chunk

_log = logging.getLogger(__name__)
#: Candidates beyond `k` that are rescored with exact vectors: rounding in the graph may swap neighbours that are nearly equal.
_EXTRA_CANDIDATES = 30
#: Factor for the number of candidates with a filter: the graph is less exact for more distant vectors.
_FILTER_OVERSAMPLING = 2
#: Number of exact comparisons that cost as much as one more candidate of the graph.
_COMPARISONS_PER_CANDIDATE = 8
#: Rows read at a time when a process reads the changes of the file.
_ROWS_PER_READ = 5_000
#: A query is analysed in the most frequent languages of the index, up to this number.
_MAX_QUERY_LANGUAGES = 3
#: A snapshot is written once this share of the graph, and at least this many vectors, are newer than the last snapshot.
_SNAPSHOT_SHARE, _SNAPSHOT_MIN_VECTORS = 0.1, 5_000
#: Rows are compacted once more than this many, and more than half of all, are removed.
_MAX_REMOVED_ROWS = 5_000
#: Number of removals kept in the file for other processes to read.
_REMOVALS_KEPT = 100_000


class EmbeddedIndex:
    """A `CollectionIndex` in a file, shared by all processes of this machine."""

    def __init__(self, path: Path, *, synchronous: bool = True, exact: int = EXACT) -> None:
        self.path = path
        self._synchronous = synchronous
        self._exact = exact
        self._catching_up = threading.Lock()
        #: None while the file does not exist
        self._database: IndexDatabase | None = None
        self._forget()
        self._current()

    def _forget(self) -> None:
        self._position = Position()
        self._rows = Rows()
        self._postings = Postings()
        self._vectors: VectorGraph | None = None
        self._languages: tuple[str, ...] = (DEFAULT_LANGUAGE,)
        self._saved = 0

    # Changes

    def add(self, document_id: str, generation: int, chunks: Iterable[Chunk], *, language: str | None = None) -> int:
        """Add chunks of a document, or replace those of the same generation and ordinal. Durable on return. Returns their number."""
        return self.add_entries(document_id, generation, [entry_of(chunk, language) for chunk in chunks])

    def add_entries(self, document_id: str, generation: int, entries: Sequence[IndexEntry]) -> int:
        """Like `add`, for entries that were not built from stored chunks."""
        self._made().add(document_id, generation, entries)
        return len(entries)

    def remove(self, document_id: str, generation: int | None = None) -> int:
        """Remove the chunks of a document, of one generation or of all, and return their number."""
        database = self._current()
        return database.remove(document_id, generation) if database is not None else 0

    def drop(self) -> None:
        """Delete the index. Processes that have it open see it as empty."""
        with self._catching_up:
            if self._vectors is not None:
                self._vectors.close()
            if self._database is not None:
                with suppress(IndexDamaged):
                    self._database.clear()
                self._database.close()
                self._database = None
            remove_files(self.path)
            self._forget()

    def close(self) -> None:
        """Save a snapshot of the graph, and release memory and files."""
        with self._catching_up:
            if self._vectors is not None:
                self._vectors.close()
                self._save()
            if self._database is not None:
                self._database.close()
                self._database = None
            self._forget()

    # Queries

    def count(self) -> int:
        """The number of chunks in the index."""
        database = self._current()
        if database is None:
            return 0
        with database.connection() as connection:
            return int(connection.execute("SELECT count(*) FROM chunks").get)

    def generations(self) -> dict[str, set[int]]:
        """The generations in the index, by document."""
        found: dict[str, set[int]] = {}
        for document, generation in self.counts():
            found.setdefault(document, set()).add(generation)
        return found

    def counts(self) -> dict[tuple[str, int], int]:
        """The number of chunks by document and generation."""
        database = self._current()
        if database is None:
            return {}
        with database.connection() as connection:
            sql = "SELECT document, generation, count(*) FROM chunks GROUP BY document, generation"
            return {(document, generation): count for document, generation, count in connection.execute(sql)}

    @property
    def complete(self) -> bool:
        """Whether the index has been compared with the chunks table since it was created, so that nothing is missing."""
        database = self._current()
        return database is not None and bool(database.fact("complete"))

    def mark_complete(self) -> None:
        """Record that the index has been compared with the chunks table."""
        self._made().set_fact("complete", 1)

    def check(self) -> None:
        """Check the integrity of the whole file. Raises `IndexDamaged`."""
        database = self._current()
        if database is not None:
            database.check()

    def settle(self) -> None:
        """Wait until all vectors are in the graph; for tests and benchmarks."""
        with self._made().reading() as connection:
            self._catch_up(connection)
        if self._vectors is not None:
            self._vectors.settle()

    def search(
        self,
        vector: NDArray[np.float32] | None,
        text: str | None,
        filters: Filter | None,
        k: int,
        *,
        documents: Sequence[str] | None = None,
    ) -> list[IndexHit]:
        """The `k` chunks nearest to a vector and the `k` with the best BM25 score for a text; either may be None.

        Each hit has both scores, even if only one of the searches has found it.
        """
        database = self._current()
        if database is None:
            return []
        with database.reading() as connection:
            self._catch_up(connection)
            rows = self._rows
            passing = rows.passing(filters, documents)
            if text:
                # Phrases also restrict the vector search.
                passing = with_phrases(connection, rows, text, self._languages, passing)
            near = self._nearest(connection, vector, passing, k) if vector is not None else {}
            words = self._words(connection, text, passing) if text else KeywordScores.none()
            best = words.best(k)
            if vector is not None:
                near |= self._exact_similarities(connection, vector, [row for row in best if row not in near])
            worded = best | words.of([row for row in near if row not in best])
        found = list(near | worded)
        return [IndexHit(key, near.get(row), worded.get(row)) for row, key in zip(found, rows.keys(found), strict=True)]

    def vectors(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, NDArray[np.float32]]:
        """The vectors of chunks; chunks without a vector are left out."""
        sql = "SELECT vector FROM vectors WHERE id = (SELECT id FROM chunks WHERE document = ? AND generation = ? AND ordinal = ?)"
        database = self._current()
        if database is None:
            return {}
        with database.reading() as connection:
            found = {key: connection.execute(sql, key).get for key in keys}
        return {key: unpack_vector(blob) for key, blob in found.items() if blob is not None}

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in which queries are analysed: the most frequent languages of the chunks."""
        return self._languages

    # Implementation

    def _current(self) -> IndexDatabase | None:
        """The current file, which another process may have created, removed or replaced; None if it does not exist."""
        known = self._database
        if known is not None and not known.was_replaced():
            return known
        with self._catching_up:
            if self._database is not None and self._database.was_replaced():
                if self._vectors is not None:
                    self._vectors.close()
                self._database.close()
                self._database = None
                self._forget()
            if self._database is None and self.path.exists():
                self._database = IndexDatabase(self.path, synchronous=self._synchronous)
            return self._database

    def _made(self) -> IndexDatabase:
        """The file, created if it does not exist."""
        found = self._current()
        if found is None:
            with self._catching_up:
                if self._database is None:
                    self._database = IndexDatabase(self.path, synchronous=self._synchronous)
                found = self._database
        return found

    def _nearest(self, connection: apsw.Connection, vector: NDArray[np.float32], passing: NDArray[np.bool_], k: int) -> dict[int, float]:
        graph = self._vectors
        left = int(np.count_nonzero(passing))
        if graph is None or left == 0:
            return {}
        if len(vector) != graph.dimensions:
            raise BadVector(f"The query's vector has {len(vector)} dimensions; those of the collection have {graph.dimensions}.")
        candidates = _candidates(k, left, len(graph), everything=left == self._rows.count)
        places = similar = None
        if left > _COMPARISONS_PER_CANDIDATE * candidates:
            ids, similar = graph.nearest(vector, candidates)
            if left == len(graph):
                # All of them pass.
                ids, similar = ids[: k + _EXTRA_CANDIDATES], similar[: k + _EXTRA_CANDIDATES]
            places = self._rows.places(ids)
            there = np.flatnonzero((places >= 0) & (places < len(passing)))
            there = there[passing[places[there]]]
            places, similar = places[there], similar[there]
        if places is None or similar is None or len(places) < min(k, left):
            every = np.flatnonzero(passing)
            found, similar = graph.nearest_of(vector, self._rows.ids.view[every], k + _EXTRA_CANDIDATES)
            places = every[found]
        exact = self._exact_similarities(connection, vector, _contenders(places, similar, k).tolist())
        best_rows = sorted(exact, key=lambda row: (-exact[row], row))[:k]
        return {row: exact[row] for row in best_rows}

    def _exact_similarities(self, connection: apsw.Connection, vector: NDArray[np.float32], rows: Sequence[int]) -> dict[int, float]:
        """The similarities of rows, computed from the stored float32 vectors."""
        if not rows:
            return {}
        ids = self._rows.ids.view[np.asarray(rows, dtype=np.int64)].tolist()
        stored = dict(connection.execute(f"SELECT id, vector FROM vectors WHERE id IN ({','.join('?' * len(ids))})", ids))
        there = [(row, stored[number]) for row, number in zip(rows, ids, strict=True) if number in stored]
        if not there:
            return {}
        matrix = np.frombuffer(b"".join(blob for _, blob in there), dtype="<f4").reshape(len(there), -1)
        return dict(zip((row for row, _ in there), (matrix @ vector).tolist(), strict=True))

    def _words(self, connection: apsw.Connection, text: str, passing: NDArray[np.bool_]) -> KeywordScores:
        with self._catching_up:
            return self._postings.scores(connection, self._rows, text, self._languages, passing)

    def _catch_up(self, connection: apsw.Connection) -> None:
        """Read the changes since the last search of this process."""
        now = read_position(connection)
        if now == self._position:
            return
        with self._catching_up:
            if now.epoch != self._position.epoch or self._missed_removals(connection):
                if self._vectors is not None:
                    self._vectors.close()
                self._forget()
                self._open_graph(connection)
            self._read_rows(connection, now.chunk)
            removed = connection.execute("SELECT chunk FROM removals WHERE number > ?", (self._position.removal,))
            self._rows.remove([row[0] for row in removed])
            sql = "SELECT language FROM languages ORDER BY chunks DESC LIMIT ?"
            self._languages = tuple(row[0] for row in connection.execute(sql, (_MAX_QUERY_LANGUAGES,))) or (DEFAULT_LANGUAGE,)
            self._position = Position(now.epoch, max(now.chunk, self._position.chunk), max(now.removal, self._position.removal))
            if self._rows.removed > max(self._rows.count, _MAX_REMOVED_ROWS):
                self._compact(connection)

    def _compact(self, connection: apsw.Connection) -> None:
        """Read all rows again, because most rows in memory have been removed."""
        position = self._position
        if self._vectors is not None:
            self._vectors.close()
        self._forget()
        self._read_rows(connection, position.chunk)
        self._position = position

    def _missed_removals(self, connection: apsw.Connection) -> bool:
        oldest = connection.execute("SELECT min(number) FROM removals").get
        return oldest is not None and self._position.removal < oldest - 1 and self._position != Position()

    def _read_rows(self, connection: apsw.Connection, last: int) -> None:
        first = int(self._rows.ids.view[-1]) if len(self._rows) else 0
        sql = "SELECT id, document, generation, ordinal, profile, words FROM chunks WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
        graphed = self._saved
        while rows := _all(connection, sql, first, last, _ROWS_PER_READ):
            profiles = _all(connection, "SELECT id, metadata FROM profiles WHERE id > ?", self._rows.known_profile)
            self._rows.extend(rows, profiles)
            first = rows[-1][0]
            after = max(rows[0][0] - 1, graphed)
            self._add_vectors(_all(connection, "SELECT id, vector FROM vectors WHERE id > ? AND id <= ? ORDER BY id", after, first))

    def _add_vectors(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        if not vectors:
            return
        matrix = np.frombuffer(b"".join(blob for _, blob in vectors), dtype="<f4").reshape(len(vectors), -1)
        if self._vectors is None:
            self._vectors = VectorGraph(matrix.shape[1], exact=self._exact, on_grown=self._save_grown)
        self._vectors.add(np.array([number for number, _ in vectors], dtype=np.int64), matrix)

    # The snapshot of the graph

    def _open_graph(self, connection: apsw.Connection) -> None:
        """Load the graph from the latest snapshot, if it exists and is intact."""
        dimensions, saved = (
            connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).get for name in ("dimensions", "snapshot")
        )
        if dimensions is None or saved is None:
            return
        name, last, checksum, *kind = str(saved).split(" ")
        if kind != [KIND]:
            return
        graph = VectorGraph(int(dimensions), exact=self._exact, on_grown=self._save_grown)
        if graph.load(self.path.with_name(f"{self.path.name}.graph-{name}"), int(last), int(checksum)):
            self._vectors, self._saved = graph, int(last)

    def _save_grown(self) -> None:
        """Write a snapshot when the graph has grown. Searches continue meanwhile, because saving a large graph takes seconds."""
        try:
            self._save()
        except (OSError, RuntimeError, apsw.Error):
            _log.exception("could not save the graph of %s; the next process will build it again", self.path.name)

    def _save(self) -> None:
        """Write a snapshot of the graph if it has grown enough since the last one.

        Called by the thread that adds to the graph, and by `close` when that thread has ended.
        """
        graph, database = self._vectors, self._database
        if graph is None or not graph.graphed or database is None or database.was_replaced():
            return
        if graph.last - self._saved < max(_SNAPSHOT_MIN_VECTORS, _SNAPSHOT_SHARE * graph.graphed):
            return
        name = secrets.token_hex(6)
        path = self.path.with_name(f"{self.path.name}.graph-{name}")
        last, checksum = graph.save(path)
        if database.was_replaced():
            path.unlink(missing_ok=True)
            return
        with database.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES ('snapshot', ?)", (f"{name} {last} {checksum} {KIND}",))
            connection.execute("DELETE FROM removals WHERE number <= ?", (self._position.removal - _REMOVALS_KEPT,))
        self._saved = last
        for other in self.path.parent.glob(f"{self.path.name}.graph-*"):
            if other != path:
                with suppress(FileNotFoundError):
                    other.unlink()


def _candidates(k: int, left: int, vectors: int, *, everything: bool) -> int:
    """The number of candidates to request from the graph. With a filter, it grows with the ratio of all vectors to those that pass."""
    needed = k + _EXTRA_CANDIDATES if everything else int(_FILTER_OVERSAMPLING * (k + _EXTRA_CANDIDATES) * vectors / left)
    return min(max(needed, search_candidates(vectors)), vectors)


def _contenders(places: NDArray[np.int64], similar: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """The first of the sorted candidates, up to the last one that may belong to the best `k` within the rounding error."""
    if len(places) <= k:
        return places
    near: NDArray[np.bool_] = similar[: k + _EXTRA_CANDIDATES] >= similar[k - 1] - 2 * ROUNDING
    return places[: k + _EXTRA_CANDIDATES][near]


def _all(connection: apsw.Connection, sql: str, *bindings: Any) -> list[Any]:
    return connection.execute(sql, bindings).fetchall()
