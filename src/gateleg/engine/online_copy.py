"""Online copy: copy the rows of one SQLite table to another in short transactions while writers continue, for backups and restores.

A copy holds the rows as of its start. It walks the source in rowid order, one chunk per transaction. A row that is about to change is
copied first, unless it has been; copied rows keep their rowids, so that no row is copied twice. Rows inserted later have rowids above the
last one of the copy. Progress is stored in the same transaction as the rows, so that a copy continues after a crash, and any process may
take the next step. `stored_backups.py` runs the steps.

A backup, which does not change, is copied in the same way, without these precautions.
"""

from dataclasses import dataclass
from typing import Any, Literal

import apsw
import orjson

from gateleg.engine import changelog, long_work
from gateleg.engine.long_work import count_within
from gateleg.engine.schema import Table
from gateleg.engine.values import item_size

#: Rows to copy per chunk in the background: into a backup, and into a table, where each key goes to another page of an index.
BACKUP_CHUNK_ROWS = 100
TABLE_CHUNK_ROWS = 20

#: What a copy is doing: copying rows, undoing later changes from the change log, or counting the rows of a backup.
Phase = Literal["rows", "log", "count"]


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
        return min(BACKUP_CHUNK_ROWS if self.is_backup else TABLE_CHUNK_ROWS, long_work.SMALL_TABLE_ROWS)

    @property
    def is_backup(self) -> bool:
        """Whether the target is a backup."""
        return self.target.startswith("backup_")


_COLUMNS = "target, source, phase, table_id, place, last, cut, undone"


def begin_from_table(connection: apsw.Connection, table: Table, target: str, undo_from: int | None = None) -> Copy:
    """Register a copy of a table as it is now or, with `undo_from`, as it was before that change."""
    row = connection.execute(f"SELECT coalesce(max(rowid), 0) FROM items_{table.id}").fetchone()
    assert row is not None
    undone = None if undo_from is None else changelog.last_change(connection) + 1
    return _add(connection, Copy(target, f"items_{table.id}", "rows", table.id, 0, row[0], undo_from, undone))


def begin_from_backup(connection: apsw.Connection, source: str, target: str) -> Copy:
    """Register a copy of a backup's rows."""
    position: int | bytes = b"" if _lacks_rowids(connection, source) else 0
    return _add(connection, Copy(target, source, "rows", None, position, None))


def _add(connection: apsw.Connection, copy: Copy) -> Copy:
    connection.execute(
        f"INSERT INTO copies({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (copy.target, copy.source, copy.phase, copy.table_id, copy.position, copy.last, copy.undo_from, copy.undo_until),
    )
    return copy


def find(connection: apsw.Connection, target: str) -> Copy | None:
    """The copy that fills a SQLite table; None if it is complete."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM copies WHERE target = ?", (target,)).fetchone()
    return Copy(*row) if row else None


def targets(connection: apsw.Connection) -> list[str]:
    """The SQLite tables that are being filled."""
    return [target for (target,) in connection.execute("SELECT target FROM copies ORDER BY target")]


def is_source(connection: apsw.Connection, source: str) -> bool:
    """Whether a copy of these rows is in progress."""
    return connection.execute("SELECT 1 FROM copies WHERE source = ?", (source,)).fetchone() is not None


def enter_phase(connection: apsw.Connection, copy: Copy, phase: Phase) -> None:
    """Go on to another phase."""
    connection.execute("UPDATE copies SET phase = ? WHERE target = ?", (phase, copy.target))


def end(connection: apsw.Connection, copy: Copy) -> None:
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


def count(connection: apsw.Connection, copy: Copy) -> tuple[int, int]:
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


def _lacks_rowids(connection: apsw.Connection, name: str) -> bool:
    row = connection.execute("SELECT wr FROM pragma_table_list(?)", (name,)).fetchone()
    return row is not None and bool(row[0])
