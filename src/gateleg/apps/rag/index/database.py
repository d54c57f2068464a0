"""The SQLite file of an index, the source of truth that several processes read and write.

Row ids are never reused, and removals are numbered, so a process reads exactly the changes since the last id and removal that it has seen
(`Position`). Each write is one transaction; in WAL mode, readers do not wait for it.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
import orjson

from gateleg.apps.rag.errors import BadVector, IndexDamaged
from gateleg.apps.rag.index.analysis import analyse, language_of
from gateleg.apps.rag.index.entries import pack_vector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gateleg.apps.rag.index.entries import IndexEntry

FORMAT = 1
#: Maximum rows per transaction, which bounds how long other writers wait.
_ROWS_PER_TRANSACTION = 500
_BUSY_TIMEOUT_MS = 60_000
#: Bytes of the file that are memory-mapped, so that a search that reads scattered vectors copies no pages.
_MMAP_BYTES = 16_000_000_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS profiles (id INTEGER PRIMARY KEY, metadata BLOB UNIQUE);
CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document TEXT NOT NULL, generation INTEGER NOT NULL, ordinal INTEGER NOT NULL,
    profile INTEGER NOT NULL, words INTEGER NOT NULL, UNIQUE (document, generation, ordinal));
CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS removals (number INTEGER PRIMARY KEY AUTOINCREMENT, chunk INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS languages (language TEXT PRIMARY KEY, chunks INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(words, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 0");
"""


class Position(NamedTuple):
    """How far a reader has followed the changes of an index."""

    #: changes when the index is cleared, which invalidates everything read before
    epoch: str = ""
    chunk: int = 0
    removal: int = 0


class IndexDatabase:
    """A SQLite file with a connection pool."""

    def __init__(self, path: Path, *, synchronous: bool = True) -> None:
        self.path = path
        self._synchronous = synchronous
        self._idle: queue.LifoQueue[apsw.Connection] = queue.LifoQueue()
        self._writing = threading.Lock()
        self._closed = False
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.connection() as connection:
            self._prepare(connection)
        self._inode = path.stat().st_ino

    def _prepare(self, connection: apsw.Connection) -> None:
        with _write(connection):
            for statement in _SCHEMA.split(";\n"):
                connection.execute(statement).fetchall()
            connection.execute("INSERT OR IGNORE INTO facts VALUES ('format', ?), ('epoch', ?)", (FORMAT, secrets.token_hex(8)))
        found = self.fact("format", connection)
        if found != FORMAT:
            raise IndexDamaged(f"The index {self.path.name} has format {found}; this version reads format {FORMAT}.")

    def was_replaced(self) -> bool:
        """Whether the file was removed or replaced by another."""
        try:
            return self.path.stat().st_ino != self._inode
        except OSError:
            return True

    @contextmanager
    def connection(self) -> Iterator[apsw.Connection]:
        """Borrow a connection for one thread. Converts errors of a damaged file to `IndexDamaged`."""
        try:
            try:
                connection = self._idle.get_nowait()
            except queue.Empty:
                connection = self._connect()
            try:
                yield connection
            finally:
                if self._closed:
                    connection.close()
                else:
                    self._idle.put(connection)
        except (apsw.CorruptError, apsw.NotADBError) as error:
            raise IndexDamaged(f"The index {self.path.name} is damaged: {error}.") from error

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
        connection.execute("PRAGMA page_size=8192").fetchall()
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute(f"PRAGMA synchronous={'FULL' if self._synchronous else 'NORMAL'}").fetchall()
        connection.execute("PRAGMA cache_size=-8000").fetchall()
        connection.execute(f"PRAGMA mmap_size={_MMAP_BYTES}").fetchall()
        connection.register_fts5_function("occurrences", _occurrences)
        return connection

    def close(self) -> None:
        """Close idle connections; borrowed ones are closed when they are returned."""
        self._closed = True
        with suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """A write transaction, which is durable once the block has ended without an error."""
        with self._writing, self.connection() as connection, _write(connection):
            yield connection

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A read transaction: all queries on the connection see the same state."""
        with self.connection() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    def fact(self, name: str, connection: apsw.Connection | None = None) -> Any:
        """A named value that is stored in the index, such as its format; None if it is missing."""
        if connection is None:
            with self.connection() as own:
                return self.fact(name, own)
        return connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).get

    def set_fact(self, name: str, value: Any) -> None:
        """Store a named value in the index."""
        with self.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def add(self, document_id: str, generation: int, entries: Sequence[IndexEntry]) -> None:
        """Add chunks of a document, or replace those of the same generation and ordinal."""
        for start in range(0, len(entries), _ROWS_PER_TRANSACTION):
            # Analyse the text before taking the write lock.
            part = entries[start : start + _ROWS_PER_TRANSACTION]
            analysed = [(entry, analyse(_searchable(entry), language_of(entry.language))) for entry in part]
            with self.writing() as connection:
                self._check_dimensions(connection, part)
                for entry, words in analysed:
                    _replace(connection, document_id, generation, entry, words)
                _count_languages(connection, part)

    def _check_dimensions(self, connection: apsw.Connection, entries: Sequence[IndexEntry]) -> None:
        """The first vector of an index determines the number of dimensions of all."""
        found = {len(entry.vector) for entry in entries if entry.vector is not None}
        known = self.fact("dimensions", connection)
        wrong = found - {known} if known is not None else set(list(found)[1:])
        if wrong:
            raise BadVector(f"A vector has {wrong.pop()} dimensions; those of the collection have {known or found.pop()}.")
        if found and known is None:
            connection.execute("INSERT INTO facts VALUES ('dimensions', ?)", (found.pop(),))

    def remove(self, document_id: str, generation: int | None = None) -> int:
        """Remove the chunks of a document and return their number."""
        removed = 0
        sql = "SELECT id FROM chunks WHERE document = ?" + ("" if generation is None else " AND generation = ?")
        bindings = (document_id,) if generation is None else (document_id, generation)
        while True:
            with self.writing() as connection:
                found = [row[0] for row in connection.execute(f"{sql} LIMIT {_ROWS_PER_TRANSACTION}", bindings)]
                _delete(connection, found)
            removed += len(found)
            if len(found) < _ROWS_PER_TRANSACTION:
                return removed

    def clear(self) -> None:
        """Remove everything and start a new epoch, so that other processes see an empty index."""
        with self.writing() as connection:
            for table in ("chunks", "vectors", "removals", "profiles", "languages", "facts"):
                connection.execute(f"DELETE FROM {table}")
            connection.execute("INSERT INTO texts (texts) VALUES ('delete-all')")
            connection.execute("INSERT INTO facts VALUES ('format', ?), ('epoch', ?)", (FORMAT, secrets.token_hex(8)))

    def check(self) -> None:
        """Check the integrity of the whole file. Raises `IndexDamaged`."""
        with self.connection() as connection:
            found = connection.execute("PRAGMA quick_check(1)").get
            if found != "ok":
                raise IndexDamaged(f"The index {self.path.name} is damaged: {found}.")
            connection.execute("INSERT INTO texts (texts, rank) VALUES ('integrity-check', 0)")


def read_position(connection: apsw.Connection) -> Position:
    """The position of the latest changes."""
    epoch, chunk, removal = connection.execute(
        "SELECT (SELECT value FROM facts WHERE name = 'epoch'), (SELECT seq FROM sqlite_sequence WHERE name = 'chunks'),"
        " (SELECT seq FROM sqlite_sequence WHERE name = 'removals')"
    ).fetchone() or ("", 0, 0)
    return Position(epoch, chunk or 0, removal or 0)


def remove_files(path: Path) -> None:
    """Remove the file of an index, its write-ahead log and its graph snapshots."""
    for found in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm"), *path.parent.glob(f"{path.name}.graph-*")):
        with suppress(FileNotFoundError):
            os.unlink(found)


def _occurrences(api: apsw.FTS5ExtensionApi, /, *_: Any) -> int:
    """The number of occurrences of the query's words in a row (an FTS5 auxiliary function)."""
    return api.inst_count


@contextmanager
def _write(connection: apsw.Connection) -> Iterator[None]:
    began = time.monotonic()
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            break
        except apsw.BusyError:
            # SQLite ignores the busy timeout while switching to WAL.
            if time.monotonic() - began > _BUSY_TIMEOUT_MS / 1000:
                raise
            time.sleep(0.005)
    try:
        yield
    except BaseException:
        with suppress(apsw.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _searchable(entry: IndexEntry) -> str:
    """The text to index for keyword search: the chunk's heading, unless the text begins with it, and its text."""
    return f"{entry.heading}\n{entry.text}" if entry.heading and entry.heading not in entry.text[: len(entry.heading) + 8] else entry.text


def _replace(connection: apsw.Connection, document_id: str, generation: int, entry: IndexEntry, words: list[str]) -> None:
    key = (document_id, generation, entry.ordinal)
    old = connection.execute("SELECT id FROM chunks WHERE document = ? AND generation = ? AND ordinal = ?", key).get
    if old is not None:
        _delete(connection, [old])
    metadata = orjson.dumps(dict(entry.metadata), option=orjson.OPT_SORT_KEYS, default=_plain)
    profile = connection.execute("SELECT id FROM profiles WHERE metadata = ?", (metadata,)).get
    if profile is None:
        connection.execute("INSERT INTO profiles (metadata) VALUES (?)", (metadata,))
        profile = connection.last_insert_rowid()
    connection.execute(
        "INSERT INTO chunks (document, generation, ordinal, profile, words) VALUES (?, ?, ?, ?, ?)", (*key, profile, len(words))
    )
    row = connection.last_insert_rowid()
    connection.execute("INSERT INTO texts (rowid, words) VALUES (?, ?)", (row, " ".join(words)))
    if entry.vector is not None:
        connection.execute("INSERT INTO vectors VALUES (?, ?)", (row, pack_vector(entry.vector)))


def _plain(value: Any) -> Any:
    """Convert DynamoDB numbers and sets to JSON values."""
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return int(value) if value == int(value) else float(value)


def _delete(connection: apsw.Connection, rows: Sequence[int]) -> None:
    for row in rows:
        connection.execute("DELETE FROM chunks WHERE id = ?", (row,))
        connection.execute("DELETE FROM vectors WHERE id = ?", (row,))
        connection.execute("DELETE FROM texts WHERE rowid = ?", (row,))
        connection.execute("INSERT INTO removals (chunk) VALUES (?)", (row,))


def _count_languages(connection: apsw.Connection, entries: Sequence[IndexEntry]) -> None:
    for entry in entries:
        connection.execute(
            "INSERT INTO languages VALUES (?, 1) ON CONFLICT (language) DO UPDATE SET chunks = chunks + 1", (language_of(entry.language),)
        )
