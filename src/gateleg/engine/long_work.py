"""Long work in short transactions that let waiting writers in between: the throttle that runs it, the removal of large SQLite tables, and
online copies of their rows.

A step is one transaction. It runs small chunks of work until its time is up, so that the number of chunks adapts to the machine and its
load. A commit takes longer the more a step has changed, so the share of time for chunks shrinks when a whole step took too long. A pause
follows a step only if somebody is waiting to write, and ends when they have had their turn.

To drop a table, SQLite frees each of its pages: with a gigabyte of them, writers would wait for seconds. So a large table is renamed at
once, emptied chunk by chunk, and then dropped.

A copy, for a backup or a restore, holds the rows as of its start. It walks the source in rowid order, one chunk per transaction. A row that
is about to change is copied first, unless it has been; copied rows keep their rowids, so that no row is copied twice. Rows inserted later
have rowids above the last one of the copy. Progress is stored in the same transaction as the rows, so that a copy continues after a crash,
and any process may take the next step. `stored_backups.py` runs the steps. A backup, which does not change, is copied in the same way,
without these precautions.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import apsw
import orjson

from gateleg.engine import changelog
from gateleg.engine.database import Database, DatabaseConnection
from gateleg.engine.schema import Table
from gateleg.engine.values import item_size

#: A table of at most so many rows is indexed, copied or dropped within the request, and a chunk of work changes at most so many bytes.
SMALL_TABLE_ROWS = 1000
CHUNK_BYTES = 500_000

#: Target duration of a step, commit included: how long it keeps other writers waiting.
STEP_SECONDS = 0.005

#: Longest pause for waiting writers: twice as long as any of them ever sleeps (`locking.py`).
MAX_PAUSE_SECONDS = 0.02

#: Interval for checking whether anybody is still waiting.
_POLL_SECONDS = 0.0005

#: Smallest and largest share of a step's time that chunks may use; the rest is for the commit.
_MIN_WORK_FRACTION, _MAX_WORK_FRACTION = 0.05, 0.6

#: Rows to delete per chunk.
DROP_ROWS = 50

#: The prefix of the names of tables that are to be dropped.
_DROPPED = "dropped_"

#: Rows to copy per chunk in the background: into a backup, and into a table, where each key goes to another page of an index.
BACKUP_CHUNK_ROWS = 100
TABLE_CHUNK_ROWS = 20
_COPY_COLUMNS = "target, source, phase, table_id, place, last, cut, undone"

#: What a copy is doing: copying rows, undoing later changes from the change log, or counting the rows of a backup.
Phase = Literal["rows", "log", "count"]

#: Does a small part of the work; returns whether there may be more.
Chunk = Callable[[DatabaseConnection], bool]


class Throttle:
    """Runs the steps of long work on one database."""

    __slots__ = ("_database", "_work_fraction")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._work_fraction = _MAX_WORK_FRACTION / 2

    def step(self, chunk: Chunk) -> bool:
        """Run chunks in one transaction until the time is up, then let waiting writers in; returns whether there may be more."""
        with self._database.write_step() as connection:
            began = time.monotonic()
            until = began + STEP_SECONDS * self._work_fraction
            more = chunk(connection)
            while more and time.monotonic() < until:
                more = chunk(connection)
        self._work_fraction = adapt_work_fraction(self._work_fraction, time.monotonic() - began)
        self._let_others_write()
        connection.log.checkpoint_if_long(connection)
        return more

    def _let_others_write(self) -> None:
        until = time.monotonic() + MAX_PAUSE_SECONDS
        while self._database.writers.has_waiters() and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)


def adapt_work_fraction(fraction: float, took: float) -> float:
    """The share of the next step's time for chunks, given how long the last whole step took."""
    if took > STEP_SECONDS:
        return max(fraction * max(STEP_SECONDS / took, 0.5), _MIN_WORK_FRACTION)
    return min(fraction * 1.1, _MAX_WORK_FRACTION)


def count_within(sizes: Sequence[int]) -> int:
    """How many rows of these sizes fit a chunk: at least one, if there is one."""
    total = 0
    for position, size in enumerate(sizes):
        total += size
        if total >= CHUNK_BYTES:
            return position + 1
    return len(sizes)


def drop_rows(connection: apsw.Connection, name: str) -> None:
    """Drop the rows of a table, an index or a backup: at once if it is small, otherwise in the background.

    The SQLite table is renamed at once, so that other processes with an outdated catalog do not find it.
    """
    if _first_rows(connection, name, SMALL_TABLE_ROWS)[1]:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    else:
        dropped = f"{_DROPPED}{name}"
        while _storage_order(connection, dropped) is not None:
            dropped += "_"  # an earlier table of the same name is not empty yet
        connection.execute(f"ALTER TABLE {name} RENAME TO {dropped}")
        connection.execute("INSERT INTO drops VALUES (?)", (dropped,))


def has_drops(connection: apsw.Connection) -> bool:
    """Whether there are tables to drop."""
    return connection.execute("SELECT 1 FROM drops LIMIT 1").fetchone() is not None


def advance_drop(connection: apsw.Connection) -> bool:
    """Delete one chunk of rows, or drop a table that has become small; returns whether there may be more."""
    row = connection.execute("SELECT name FROM drops ORDER BY name LIMIT 1").fetchone()
    if row is None:
        return False
    name: str = row[0]
    place, small = _first_rows(connection, name, min(DROP_ROWS, SMALL_TABLE_ROWS))
    if small:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute("DELETE FROM drops WHERE name = ?", (name,))
        return has_drops(connection)
    order = _storage_order(connection, name)
    marks = ", ".join("?" * len(place))
    connection.execute(f"DELETE FROM {name} WHERE ({order}) <= ({marks})", place)
    return True


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy in progress."""

    target: str
    source: str
    phase: Phase
    #: the table that is copied while it is written to; None if the source is a backup
    table_id: int | None
    #: progress of the walk: a rowid, or a key in backups of earlier versions, which have no rowids
    position: int | bytes
    #: the last rowid to copy
    last: int | None
    #: changes to undo after the rows are copied: from this sequence number up to, but excluding, `undo_until`
    undo_from: int | None = None
    undo_until: int | None = None

    @property
    def number(self) -> int:
        """The id of the backup or table that is being filled."""
        return int(self.target.rpartition("_")[2])

    @property
    def chunk_rows(self) -> int:
        """Rows to copy per chunk in the background."""
        return min(BACKUP_CHUNK_ROWS if self.is_backup else TABLE_CHUNK_ROWS, SMALL_TABLE_ROWS)

    @property
    def is_backup(self) -> bool:
        """Whether the target is a backup."""
        return self.target.startswith("backup_")


def begin_copy_of_table(connection: apsw.Connection, table: Table, target: str, undo_from: int | None = None) -> Copy:
    """Register a copy of a table as it is now or, with `undo_from`, as it was before that change."""
    row = connection.execute(f"SELECT coalesce(max(rowid), 0) FROM items_{table.id}").fetchone()
    assert row is not None
    undone = None if undo_from is None else changelog.last_change(connection) + 1
    return _add_copy(connection, Copy(target, f"items_{table.id}", "rows", table.id, 0, row[0], undo_from, undone))


def begin_copy_of_backup(connection: apsw.Connection, source: str, target: str) -> Copy:
    """Register a copy of a backup's rows."""
    position: int | bytes = b"" if _lacks_rowids(connection, source) else 0
    return _add_copy(connection, Copy(target, source, "rows", None, position, None))


def find_copy(connection: apsw.Connection, target: str) -> Copy | None:
    """The copy that fills a SQLite table; None if it is complete."""
    row = connection.execute(f"SELECT {_COPY_COLUMNS} FROM copies WHERE target = ?", (target,)).fetchone()
    return Copy(*row) if row else None


def copy_targets(connection: apsw.Connection) -> list[str]:
    """The SQLite tables that are being filled."""
    return [target for (target,) in connection.execute("SELECT target FROM copies ORDER BY target")]


def is_being_copied(connection: apsw.Connection, source: str) -> bool:
    """Whether a copy of these rows is in progress."""
    return connection.execute("SELECT 1 FROM copies WHERE source = ?", (source,)).fetchone() is not None


def enter_phase(connection: apsw.Connection, copy: Copy, phase: Phase) -> None:
    """Go on to another phase."""
    connection.execute("UPDATE copies SET phase = ? WHERE target = ?", (phase, copy.target))


def end_copy(connection: apsw.Connection, copy: Copy) -> None:
    """Mark a copy as complete."""
    connection.execute("DELETE FROM copies WHERE target = ?", (copy.target,))


def copy_rows(connection: apsw.Connection, copy: Copy, max_rows: int) -> bool:
    """Copy one chunk of at most `max_rows` rows; returns whether it was the last."""
    by = "k" if isinstance(copy.position, bytes) else "rowid"
    belongs = "" if copy.last is None else f" AND rowid <= {copy.last}"
    ahead: list[Any] = connection.execute(
        f"SELECT {by}, size FROM {copy.source} WHERE {by} > ?{belongs} ORDER BY {by} LIMIT ?", (copy.position, max_rows)
    ).fetchall()
    taken = count_within([size for _, size in ahead])
    if taken:
        place = ahead[taken - 1][0]
        columns, verb = ("k, size, v", "INSERT") if copy.table_id is None else ("rowid, k, size, v", "INSERT OR IGNORE")
        connection.execute(
            f"{verb} INTO {copy.target}({columns}) SELECT {columns} FROM {copy.source} WHERE {by} > ? AND {by} <= ? ORDER BY {by}",
            (copy.position, place),
        )
        connection.execute("UPDATE copies SET place = ? WHERE target = ?", (place, copy.target))
    return taken == len(ahead) and len(ahead) < max_rows


def undo_changes(connection: apsw.Connection, copy: Copy, max_rows: int) -> bool:
    """Undo at most `max_rows` of the changes after the copy's point in time, latest first; returns whether they were the last."""
    assert copy.table_id is not None
    assert copy.undo_from is not None
    assert copy.undo_until is not None
    changes = changelog.reversed_changes(connection, copy.table_id, copy.undo_from, copy.undo_until, max_rows)
    taken = count_within([len(old or b"") for _, _, old in changes])
    # Of several changes of one row, the earliest comes last and holds the row to restore.
    for key, old in {key: old for _, key, old in changes[:taken]}.items():
        if old is None:
            connection.execute(f"DELETE FROM {copy.target} WHERE k = ?", (key,))
        else:
            connection.execute(f"INSERT OR REPLACE INTO {copy.target} VALUES (?, ?, ?)", (key, item_size(orjson.loads(old)), old))
    if taken:
        connection.execute("UPDATE copies SET undone = ? WHERE target = ?", (changes[taken - 1][0], copy.target))
    return taken == len(changes) and len(changes) < max_rows


def count_copied(connection: apsw.Connection, copy: Copy) -> tuple[int, int]:
    """Number and total size of the rows copied."""
    row = connection.execute(f"SELECT count(*), coalesce(sum(size), 0) FROM {copy.target}").fetchone()
    assert row is not None
    return row[0], row[1]


def copy_before_change(rows: str, target: str) -> tuple[str, str]:
    """The SQL that copies a row before it changes, and the SQL to run in addition before it is deleted.

    SQLite numbers a new row after the highest rowid. Once the last row of the copy is deleted, a new row could get its number, or one
    below, and would look like a row of the copy; so the copy then ends at the last row that is left.
    """
    ahead = (
        f"INSERT OR IGNORE INTO {target}(rowid, k, size, v) SELECT rowid, k, size, v FROM {rows} "
        f"WHERE k = ? AND rowid <= (SELECT last FROM copies WHERE target = '{target}')"
    )
    last = (
        f"UPDATE copies SET last = coalesce((SELECT max(rowid) FROM {rows} WHERE rowid < last), 0) "
        f"WHERE target = '{target}' AND last = (SELECT rowid FROM {rows} WHERE k = ?)"
    )
    return ahead, last


def _add_copy(connection: apsw.Connection, copy: Copy) -> Copy:
    connection.execute(
        f"INSERT INTO copies({_COPY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (copy.target, copy.source, copy.phase, copy.table_id, copy.position, copy.last, copy.undo_from, copy.undo_until),
    )
    return copy


def _first_rows(connection: apsw.Connection, name: str, max_rows: int) -> tuple[tuple[Any, ...], bool]:
    """The position after at most `max_rows` rows, and whether that is the end of the table."""
    order = _storage_order(connection, name)
    if order is None:
        return (), True
    total, place = 0, ()
    for number, (size, *place) in enumerate(connection.execute(f"SELECT size, {order} FROM {name} ORDER BY {order}")):
        total += size or 0
        if total >= CHUNK_BYTES or number >= max_rows:
            return tuple(place), False
    return tuple(place), True


def _storage_order(connection: apsw.Connection, name: str) -> str | None:
    """The columns that a table is clustered by; None if the table is gone."""
    row = connection.execute("SELECT wr FROM pragma_table_list(?)", (name,)).fetchone()
    if row is None:
        return None
    return "rowid" if not row[0] else "k, b" if "index_" in name else "k"


def _lacks_rowids(connection: apsw.Connection, name: str) -> bool:
    row = connection.execute("SELECT wr FROM pragma_table_list(?)", (name,)).fetchone()
    return row is not None and bool(row[0])
