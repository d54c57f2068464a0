"""The index of a collection in an object store, as LanceDB tables that hosts on several machines share.

The table `chunks` contains words and vectors, and `profiles` each distinct set of metadata. A table `complete` exists once the index has
been compared with the chunks table of the store, the source of truth. Every call opens the newest version, so changes of other machines
are seen at once. As in the embedded index, filters are evaluated here, once for each profile.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.apps.rag.errors import BadVector, IndexUnavailable, RagError
from gateleg.apps.rag.index.analysis import DEFAULT_LANGUAGE, query_words
from gateleg.apps.rag.index.entries import IndexHit, entry_of
from gateleg.apps.rag.index.lance_rows import (
    all_of,
    chunk_keys,
    dimensions_of,
    key_text,
    one_of,
    optional_module,
    profile_of,
    quoted,
    rows_of,
    schema,
    similarities,
)
from gateleg.apps.rag.index.postings import demanded_phrases
from gateleg.apps.rag.index.rows import Profiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gateleg.apps.rag.index.entries import ChunkKey, IndexEntry
    from gateleg.apps.rag.index.filters import Filter
    from gateleg.apps.rag.tables import Chunk

_CHUNKS, _PROFILES, _COMPLETE = "chunks", "profiles", "complete"
_FOUND = ["key", "document", "generation", "ordinal"]
#: Minimum chunks for a vector graph; fewer are compared exhaustively.
_INDEXED = 20_000
#: Number of partitions to search, factor of candidates to rescore exactly, and extra candidates beyond `k`.
_PROBES, _REFINED = 40, 5
_SPARE = 10
#: A query is analysed in the most frequent languages of the index, up to this number.
_MOST_LANGUAGES = 3
#: Seconds between two compactions by one process, and how long files of older versions are kept for other readers.
_TIDIED = 60.0
_KEPT = timedelta(minutes=10)


class LanceIndex:
    """A `CollectionIndex` in LanceDB at an address such as `s3://bucket/prefix/repository/collection`."""

    def __init__(self, address: str, options: Mapping[str, str] | None = None) -> None:
        lancedb = optional_module("lancedb")
        self.address = address
        with _translated(address):
            self._database: Any = lancedb.connect(address, storage_options=dict(options or {}) or None)
        self._lock = threading.Lock()
        self._profiles = Profiles()
        self._profile_ids: list[str] = []
        self._tidied = time.monotonic()
        self._languages: tuple[Any, tuple[str, ...]] = (None, (DEFAULT_LANGUAGE,))

    # Changes

    def add(self, document_id: str, generation: int, chunks: Iterable[Chunk], *, language: str | None = None) -> int:
        """Add chunks of a document, or replace those of the same generation and ordinal. Durable on return. Returns their number."""
        return self.add_entries(document_id, generation, [entry_of(chunk, language) for chunk in chunks])

    def add_entries(self, document_id: str, generation: int, entries: Sequence[IndexEntry]) -> int:
        """Like `add`, for entries that were not built from stored chunks."""
        if not entries:
            return 0
        with _translated(self.address):
            table = self._table(_CHUNKS)
            known = None if table is None else _dimensions(table)
            wanted = dimensions_of(entries, known)
            table = self._made(table, known, wanted)
            self._add_profiles(entries)
            rows = rows_of(document_id, generation, entries, wanted)
            table.merge_insert("key").when_matched_update_all().when_not_matched_insert_all().execute(rows, on_bad_vectors="null")
            self._keep_indexes(table)
        return len(entries)

    def remove(self, document_id: str, generation: int | None = None) -> int:
        """Remove the chunks of a document, of one generation or of all, and return their number."""
        with _translated(self.address):
            table = self._table(_CHUNKS)
            if table is None:
                return 0
            own = f"document = {quoted(document_id)}" + ("" if generation is None else f" AND generation = {generation:d}")
            count = int(table.count_rows(own))
            if count:
                table.delete(own)
                self._tidy(table)
            return count

    def drop(self) -> None:
        """Delete the index. Processes that have it open see it as empty."""
        with _translated(self.address), self._lock:
            # Drop `complete` first: if this is interrupted, the index is rebuilt before it is searched.
            for name in (_COMPLETE, _CHUNKS, _PROFILES):
                self._database.drop_table(name, ignore_missing=True)
            self._profiles, self._profile_ids = Profiles(), []

    def close(self) -> None:
        """Release memory; the index itself is kept."""
        with self._lock:
            self._profiles, self._profile_ids = Profiles(), []

    def mark_complete(self) -> None:
        """Record that the index has been compared with the chunks table."""
        pyarrow = optional_module("pyarrow")
        with _translated(self.address):
            self._database.create_table(_COMPLETE, schema=pyarrow.schema([("at", pyarrow.string())]), exist_ok=True)

    # Queries

    @property
    def complete(self) -> bool:
        """Whether the index has been compared with the chunks table since it was created, so that nothing is missing."""
        with _translated(self.address):
            return self._table(_COMPLETE) is not None

    def count(self) -> int:
        """The number of chunks in the index."""
        with _translated(self.address):
            table = self._table(_CHUNKS)
            return 0 if table is None else int(table.count_rows())

    def generations(self) -> dict[str, set[int]]:
        """The generations in the index, by document."""
        found: dict[str, set[int]] = {}
        for document, generation in self.counts():
            found.setdefault(document, set()).add(generation)
        return found

    def counts(self) -> dict[tuple[str, int], int]:
        """The number of chunks by document and generation."""
        with _translated(self.address):
            table = self._table(_CHUNKS)
            if table is None:
                return {}
            found = _all(table, ["document", "generation"])
            return dict(Counter(zip(found.column("document").to_pylist(), found.column("generation").to_pylist(), strict=True)))

    def vectors(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, NDArray[np.float32]]:
        """The vectors of chunks; chunks without a vector are left out."""
        wanted = [key_text(key) for key in keys]
        with _translated(self.address):
            table = self._table(_CHUNKS)
            if table is None or not wanted or _dimensions(table) is None:
                return {}
            found = table.search().where(one_of("key", wanted)).select([*_FOUND, "vector"]).limit(len(wanted)).to_arrow()
        pairs = zip(chunk_keys(found), found.column("vector").to_pylist(), strict=True)
        return {key: np.asarray(vector, dtype=np.float32) for key, vector in pairs if vector is not None}

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
        with _translated(self.address):
            table = self._table(_CHUNKS)
            if table is None:
                return []
            languages = self._spoken(table) if text else ()
            conditions = self._conditions(filters, documents, text, languages)
            near = {} if vector is None else _nearest(table, vector, conditions, k)
            words = " ".join(dict.fromkeys(form for forms in query_words(text, languages) for form in forms)) if text else ""
            worded, similar = _worded(table, words, conditions, k, vector) if words else ({}, {})
            if words and (left := [key_text(key) for key in near if key not in worded]):
                worded |= _worded(table, words, [one_of("key", left)], len(left), None)[0]
        near = similar | near
        return [IndexHit(key, near.get(key), worded.get(key)) for key in {**near, **worded}]

    # Implementation

    def _table(self, name: str) -> Any:
        """Open the newest version of a table; None if it does not exist."""
        try:
            return self._database.open_table(name)
        except (ValueError, FileNotFoundError, RuntimeError) as error:
            if "not found" in str(error).lower():
                return None
            raise

    def _made(self, table: Any, known: int | None, wanted: int | None) -> Any:
        """The table of chunks. Create it if it does not exist, and add its vector column with the first vector."""
        if table is None:
            return self._database.create_table(_CHUNKS, schema=schema(wanted), exist_ok=True)
        if known == wanted:
            return table
        pyarrow = optional_module("pyarrow")
        rows = table.to_arrow()
        empty = pyarrow.nulls(rows.num_rows, pyarrow.list_(pyarrow.float32(), wanted))
        return self._database.create_table(
            _CHUNKS, rows.append_column("vector", empty), schema=schema(wanted), mode="overwrite", on_bad_vectors="null"
        )

    def _add_profiles(self, entries: Sequence[IndexEntry]) -> None:
        """Add new profiles. Call it before adding the chunks that refer to them."""
        pyarrow = optional_module("pyarrow")
        kinds = dict(profile_of(one) for one in entries)
        with self._lock:
            new = {number: packed for number, packed in kinds.items() if number not in self._profile_ids}
        if not new:
            return
        columns = pyarrow.schema([("id", pyarrow.string()), ("metadata", pyarrow.string())])
        table = self._table(_PROFILES) or self._database.create_table(_PROFILES, schema=columns, exist_ok=True)
        rows = pyarrow.Table.from_pylist([{"id": number, "metadata": packed} for number, packed in new.items()], schema=columns)
        table.merge_insert("id").when_not_matched_insert_all().execute(rows)

    def _keep_indexes(self, table: Any) -> None:
        """Create the full-text index and, from `_INDEXED` chunks on, the vector graph. LanceDB also searches rows newer than an index."""
        kinds = optional_module("lancedb.index")
        there = {tuple(one.columns) for one in table.list_indices()}
        if ("words",) not in there:
            plain = kinds.FTS(base_tokenizer="whitespace", max_token_length=None, stem=False, remove_stop_words=False, ascii_folding=False)
            table.create_index("words", config=plain)
            table.create_index("key", config=kinds.BTree())
        if ("vector",) not in there and _dimensions(table) is not None and table.count_rows() >= _INDEXED:
            table.create_index("vector", config=kinds.HnswSq(distance_type="dot"))
        self._tidy(table)

    def _tidy(self, table: Any) -> None:
        """Compact small files and remove old versions, at most once in `_TIDIED` seconds."""
        if time.monotonic() - self._tidied > _TIDIED:
            self._tidied = time.monotonic()
            table.optimize(cleanup_older_than=_KEPT)

    def _spoken(self, table: Any) -> tuple[str, ...]:
        """The languages in which a query is analysed."""
        version = table.version
        if self._languages[0] != version:
            counted = Counter(_all(table, ["language"]).column("language").to_pylist())
            self._languages = (version, tuple(name for name, _ in counted.most_common(_MOST_LANGUAGES)) or (DEFAULT_LANGUAGE,))
        return self._languages[1]

    def _conditions(self, filters: Filter | None, documents: Sequence[str] | None, text: str | None, languages: Sequence[str]) -> list[str]:
        found = [] if documents is None else [one_of("document", documents)]
        if filters is not None:
            found.append(one_of("profile", self._passing(filters)))
        phrases = demanded_phrases(text, languages) if text else []
        return found + [" OR ".join(f"contains(words, {quoted(f' {form} ')})" for form in forms) for forms in phrases]

    def _passing(self, filters: Filter) -> list[str]:
        """The profiles that pass a filter."""
        table = self._table(_PROFILES)
        with self._lock:
            if table is not None and table.count_rows() != len(self._profile_ids):
                rows = table.to_arrow()
                known = set(self._profile_ids)
                pairs = zip(rows.column("id").to_pylist(), rows.column("metadata").to_pylist(), strict=True)
                new = [(number, packed) for number, packed in pairs if number not in known]
                first = len(self._profile_ids) + 1
                self._profiles.extend((first + place, packed.encode()) for place, (_, packed) in enumerate(new))
                self._profile_ids += [number for number, _ in new]
            passing = self._profiles.passing(filters)
            return [number for number, passes in zip(self._profile_ids, passing.tolist(), strict=True) if passes]


def _dimensions(table: Any) -> int | None:
    place = table.schema.get_field_index("vector")
    return None if place < 0 else int(table.schema.field(place).type.list_size)


def _all(table: Any, columns: list[str]) -> Any:
    return table.search().select(columns).limit(max(1, table.count_rows())).to_arrow()


def _nearest(table: Any, vector: NDArray[np.float32], conditions: Sequence[str], k: int) -> dict[ChunkKey, float]:
    dimensions = _dimensions(table)
    if dimensions is None:
        return {}
    if len(vector) != dimensions:
        raise BadVector(f"The query's vector has {len(vector)} dimensions; those of the collection have {dimensions}.")
    asked = table.search(vector, vector_column_name="vector").distance_type("dot").limit(k + _SPARE)
    asked = asked.where(all_of([*conditions, "vector IS NOT NULL"]), prefilter=True).nprobes(_PROBES).refine_factor(_REFINED)
    found = asked.select([*_FOUND, "vector"]).to_arrow()
    pairs = zip(chunk_keys(found), similarities(found, vector), strict=True)
    best = sorted(((key, one) for key, one in pairs if one is not None), key=lambda pair: (-pair[1], pair[0]))[:k]
    return dict(best)


def _worded(
    table: Any, words: str, conditions: Sequence[str], k: int, vector: NDArray[np.float32] | None
) -> tuple[dict[ChunkKey, float], dict[ChunkKey, float]]:
    """The `k` chunks with the best BM25 scores and, if a vector is given, their similarities."""
    with_vectors = vector is not None and _dimensions(table) is not None
    asked = table.search(optional_module("lancedb.query").MatchQuery(words, "words"), query_type="fts").limit(k)
    where = all_of(conditions)
    asked = asked if where is None else asked.where(where, prefilter=True)
    found = asked.select([*_FOUND, "_score", *(["vector"] if with_vectors else [])]).to_arrow()
    keys = chunk_keys(found)
    similar = zip(keys, similarities(found, vector), strict=True) if with_vectors and vector is not None else ()
    return (
        dict(zip(keys, found.column("_score").to_pylist(), strict=True)),
        {key: one for key, one in similar if one is not None},
    )


@contextmanager
def _translated(address: str) -> Iterator[None]:
    """Convert errors of LanceDB and the object store to `IndexUnavailable`."""
    try:
        yield
    except RagError:
        raise
    except (RuntimeError, OSError, ValueError) as error:
        raise IndexUnavailable(f"The search index at {address} could not be used: {str(error)[:300]}") from error
