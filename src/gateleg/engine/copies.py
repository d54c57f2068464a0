"""Copies: the rows of one SQLite table brought into another in short transactions, while writers go on.

A copy holds the rows as they were when it began. It walks its source in the order of rowids, a chunk in each transaction. A row that is
about to change is copied first, unless it has been; the copy has the rowids of its source, so that no row comes twice. Rows that came later
lie behind the last one that there was. How far a copy has come is kept in the same transaction as the rows, so it goes on after a crash,
and any process may take the next step.

A source that does not change, which is a backup, is walked in the same way, without any of this care.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import apsw
import orjson

from gateleg.engine import changelog
from gateleg.engine.schema import Table
from gateleg.engine.values import item_size

#: The most rows, and about the most bytes, of a table that is copied in the request itself.
CHUNK = 1000
BYTES = 500_000
#: The most rows that are copied in the background between two looks at the clock: into a backup, and into a table, where each key goes to
#: another page of an index.
BACKUP_CHUNK = 100
INDEXED_CHUNK = 20

#: What is being done: rows are copied, later changes undone by the log, or the rows of a backup counted.
Phase = Literal["rows", "log", "count"]


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy that is under way."""

    target: str
    source: str
    phase: Phase
    #: the table that rows are copied from while it is written to; none for a backup
    table_id: int | None
    #: where the walk has come to: a rowid, or a key in the backups of earlier versions, which have none
    place: int | bytes
    #: the last rowid that belongs to the copy
    last: int | None
    #: changes of the log that are to be undone once the rows are copied: from this number up to, but not including, `undone`
    cut: int | None = None
    undone: int | None = None

    @property
    def number(self) -> int:
        """The id of the backup or of the table that is made."""
        return int(self.target.rpartition("_")[2])

    @property
    def step(self) -> int:
        """The most rows of a chunk in the background."""
        return min(BACKUP_CHUNK if self.is_backup else INDEXED_CHUNK, CHUNK)

    @property
    def is_backup(self) -> bool:
        """Whether a backup is made, and not a table."""
        return self.target.startswith("backup_")


_COLUMNS = "target, source, phase, table_id, place, last, cut, undone"


def of_table(connection: apsw.Connection, table: Table, target: str, cut: int | None = None) -> Copy:
    """A new copy of a table as it is now; with `cut`, as it was before that change of the log."""
    row = connection.execute(f"SELECT coalesce(max(rowid), 0) FROM items_{table.id}").fetchone()
    assert row is not None
    undone = None if cut is None else changelog.last(connection) + 1
    return _add(connection, Copy(target, f"items_{table.id}", "rows", table.id, 0, row[0], cut, undone))


def of_backup(connection: apsw.Connection, source: str, target: str) -> Copy:
    """A new copy of a backup's rows."""
    place: int | bytes = b"" if _lacks_rowids(connection, source) else 0
    return _add(connection, Copy(target, source, "rows", None, place, None))


def _add(connection: apsw.Connection, copy: Copy) -> Copy:
    connection.execute(
        f"INSERT INTO copies({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (copy.target, copy.source, copy.phase, copy.table_id, copy.place, copy.last, copy.cut, copy.undone),
    )
    return copy


def find(connection: apsw.Connection, target: str) -> Copy | None:
    """The copy that fills a SQLite table; none if it is complete."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM copies WHERE target = ?", (target,)).fetchone()
    return Copy(*row) if row else None


def targets(connection: apsw.Connection) -> list[str]:
    """The SQLite tables that are being filled."""
    return [target for (target,) in connection.execute("SELECT target FROM copies ORDER BY target")]


def reads_from(connection: apsw.Connection, source: str) -> bool:
    """Whether a copy of these rows is under way."""
    return connection.execute("SELECT 1 FROM copies WHERE source = ?", (source,)).fetchone() is not None


def enter(connection: apsw.Connection, copy: Copy, phase: Phase) -> None:
    """Go on to the next thing to do."""
    connection.execute("UPDATE copies SET phase = ? WHERE target = ?", (phase, copy.target))


def end(connection: apsw.Connection, copy: Copy) -> None:
    """A copy is complete."""
    connection.execute("DELETE FROM copies WHERE target = ?", (copy.target,))


def copy_rows(connection: apsw.Connection, copy: Copy, most: int) -> bool:
    """Copy one chunk of at most so many rows; whether it was the last."""
    by = "k" if isinstance(copy.place, bytes) else "rowid"
    belongs = "" if copy.last is None else f" AND rowid <= {copy.last}"
    ahead: list[Any] = connection.execute(
        f"SELECT {by}, size FROM {copy.source} WHERE {by} > ?{belongs} ORDER BY {by} LIMIT ?", (copy.place, most)
    ).fetchall()
    taken = within(BYTES, [size for _, size in ahead])
    if taken:
        place = ahead[taken - 1][0]
        columns, verb = ("k, size, v", "INSERT") if copy.table_id is None else ("rowid, k, size, v", "INSERT OR IGNORE")
        connection.execute(
            f"{verb} INTO {copy.target}({columns}) SELECT {columns} FROM {copy.source} WHERE {by} > ? AND {by} <= ? ORDER BY {by}",
            (copy.place, place),
        )
        connection.execute("UPDATE copies SET place = ? WHERE target = ?", (place, copy.target))
    return taken == len(ahead) and len(ahead) < most


def undo_changes(connection: apsw.Connection, copy: Copy, most: int) -> bool:
    """Take back at most so many of the changes that came after the moment of the copy, the latest first; whether they were the last."""
    assert copy.table_id is not None
    assert copy.cut is not None
    assert copy.undone is not None
    changes = changelog.backwards(connection, copy.table_id, copy.cut, copy.undone, most)
    taken = within(BYTES, [len(old or b"") for _, _, old in changes])
    # Of several changes of one row, the earliest says what the row was: it comes last.
    for key, old in {key: old for _, key, old in changes[:taken]}.items():
        if old is None:
            connection.execute(f"DELETE FROM {copy.target} WHERE k = ?", (key,))
        else:
            connection.execute(f"INSERT OR REPLACE INTO {copy.target} VALUES (?, ?, ?)", (key, item_size(orjson.loads(old)), old))
    if taken:
        connection.execute("UPDATE copies SET undone = ? WHERE target = ?", (changes[taken - 1][0], copy.target))
    return taken == len(changes) and len(changes) < most


def count(connection: apsw.Connection, copy: Copy) -> tuple[int, int]:
    """The rows that have been copied, and their bytes."""
    row = connection.execute(f"SELECT count(*), coalesce(sum(size), 0) FROM {copy.target}").fetchone()
    assert row is not None
    return row[0], row[1]


def preserving(rows: str, target: str) -> tuple[str, str]:
    """The SQL that copies a row before it changes, and the SQL to run as well if it is about to go.

    SQLite gives a new row the number after the highest one. Once the last row of the copy is gone, a new row could have its number or a
    free one below, and be taken for a row of the copy: so the copy then ends at the last row that is left.
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


def within(most: int, sizes: Sequence[int]) -> int:
    """How many of these are about as much as one transaction may take: at least one, if there is one."""
    total = 0
    for position, size in enumerate(sizes):
        total += size
        if total >= most:
            return position + 1
    return len(sizes)


def _lacks_rowids(connection: apsw.Connection, name: str) -> bool:
    row = connection.execute("SELECT wr FROM pragma_table_list(?)", (name,)).fetchone()
    return row is not None and bool(row[0])
