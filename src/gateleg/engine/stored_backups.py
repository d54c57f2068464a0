"""What a table can be restored to: its backups, and any point in time while recovery is on; and the steps of backups and restores.

A backup is a copy of a table's rows in the same file, with the table's definition. The rows have no key index: they are never looked up one
by one, and take less space without. The rows of a point in time follow from the current rows and the change log.

A request starts the copy of a backup or a restore (`begin_copy`), and finishes it if it is small; maintenance continues the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from secrets import token_hex
from typing import TYPE_CHECKING

from gateleg.engine import backfill, changelog, long_work
from gateleg.engine.schema import Namespace, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from gateleg.engine.catalog import Catalog
    from gateleg.engine.long_work import Copy

#: How long the system backup of a deleted table is kept.
SYSTEM_BACKUP_DAYS = 35


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup; `definition` is the table's entry in the catalog."""

    id: int
    namespace: Namespace
    table_name: str
    arn: str
    name: str
    type: str
    created: float
    expires: float | None
    size: int
    items: int
    definition: bytes
    #: whether all rows were copied
    complete: bool = True

    @property
    def rows(self) -> str:
        """The SQLite table that holds the rows."""
        return f"backup_{self.id}"


_COLUMNS = "id, account, region, table_name, arn, name, type, created, expires, size, items, definition"

#: The same, and whether the backup is complete.
_ALL_COLUMNS = f"{_COLUMNS}, NOT EXISTS(SELECT 1 FROM copies WHERE target = 'backup_' || backups.id)"


def begin_backup(connection: apsw.Connection, table: Table, name: str, now: float, counted: tuple[int, int]) -> tuple[Backup, Copy]:
    """Register a backup of a table, and the copy that fills it. `counted` are the numbers of items and bytes, as far as known."""
    backup = _register(connection, table, name, "USER", now, counted)
    create_rows_table(connection, backup.rows)
    return backup, long_work.begin_copy_of_table(connection, table, backup.rows)


def complete_backup(connection: apsw.Connection, number: int, items: int, size: int) -> None:
    """Record the final counts of a backup."""
    connection.execute("UPDATE backups SET items = ?, size = ? WHERE id = ?", (items, size, number))


def keep_dropped_table(connection: apsw.Connection, table: Table, now: float, counted: tuple[int, int]) -> None:
    """Keep the rows of a table that is about to be deleted as a system backup. The rows are moved, not copied."""
    backup = _register(connection, table, f"{table.name}$DeletedTableBackup", "SYSTEM", now, counted)
    connection.execute(f"ALTER TABLE items_{table.id} RENAME TO {backup.rows}")


def find_backup(connection: apsw.Connection, arn: str, now: float) -> Backup | None:
    """The backup with that ARN, unless it has expired."""
    row = connection.execute(
        f"SELECT {_ALL_COLUMNS} FROM backups WHERE arn = ? AND (expires IS NULL OR expires > ?)", (arn, now)
    ).fetchone()
    return _backup(row) if row else None


def list_backups(
    connection: apsw.Connection, namespace: Namespace, table_name: str | None, kinds: tuple[str, ...], now: float
) -> list[Backup]:
    """The backups of a namespace, or of the tables of one name in it, oldest first."""
    marks = ", ".join("?" * len(kinds))
    rows = connection.execute(
        f"SELECT {_ALL_COLUMNS} FROM backups WHERE account = ? AND region = ? AND table_name = coalesce(?, table_name) AND type IN "
        f"({marks}) AND (expires IS NULL OR expires > ?) ORDER BY created, arn",
        (namespace.account, namespace.region, table_name, *kinds, now),
    )
    return [_backup(row) for row in rows]


def expired_backups(connection: apsw.Connection, now: float) -> list[Backup]:
    """The backups whose time is up."""
    return [_backup(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM backups WHERE expires <= ?", (now,))]


def remove_backup(connection: apsw.Connection, backup: Backup) -> None:
    """Remove a backup and its rows."""
    long_work.drop_rows(connection, backup.rows)
    connection.execute("DELETE FROM backups WHERE id = ?", (backup.id,))


def create_rows_table(connection: apsw.Connection, name: str) -> None:
    """Create the SQLite table for a backup's rows."""
    connection.execute(f"CREATE TABLE {name}(k BLOB NOT NULL, size INTEGER NOT NULL, v BLOB NOT NULL)")


def recovery_window(table: Table, now: float) -> tuple[float, float] | None:
    """The earliest and latest times that a table can be restored to; None if recovery is off."""
    if table.recovery_since is None:
        return None
    return max(table.recovery_since, now - table.recovery_days * changelog.DAY_SECONDS), now


def rows_at(connection: apsw.Connection, table: Table, at: float) -> Iterator[bytes]:
    """The items that a table had at a time, in key order."""
    cut = changelog.first_after(connection, table.id, at)
    undone = changelog.rows_before(connection, table.id, cut)
    key, old = next(undone, (None, None))
    for k, stored in connection.execute(f"SELECT k, v FROM items_{table.id} ORDER BY k"):
        while key is not None and key < k:
            if old is not None:
                yield old
            key, old = next(undone, (None, None))
        if key == k:
            if old is not None:
                yield old
            key, old = next(undone, (None, None))
        else:
            yield stored
    while key is not None:
        if old is not None:
            yield old
        key, old = next(undone, (None, None))


def begin_copy(catalog: Catalog, connection: apsw.Connection, copy: Copy) -> bool:
    """Run the first step of each phase; returns whether that was all. From now on, the source copies rows before they change."""
    current: Copy | None = copy
    while current is not None:
        if not advance_copy(catalog, connection, current, long_work.SMALL_TABLE_ROWS):
            source = _table(catalog, current.table_id)
            if source is not None and current.phase == "rows":
                catalog.replace(connection, replace(source, copies=(*source.copies, current.target)))
            return False
        current = long_work.find_copy(connection, copy.target)
    return True


def advance_copy(catalog: Catalog, connection: apsw.Connection, copy: Copy, max_rows: int, counted: tuple[int, int] | None = None) -> bool:
    """Run one step of at most `max_rows` rows within a transaction; returns whether it completed the phase.

    `counted` are the numbers of items and bytes, if they were counted before.
    """
    if copy.phase == "rows":
        if not long_work.copy_rows(connection, copy, max_rows):
            return False
        _release_source(catalog, connection, copy)
        if copy.is_backup:
            long_work.enter_phase(connection, copy, "count")
        elif copy.undo_from is not None:
            long_work.enter_phase(connection, copy, "log")
        else:
            _open_restored(catalog, connection, copy)
        return True
    if copy.phase == "log":
        if not long_work.undo_changes(connection, copy, max_rows):
            return False
        _open_restored(catalog, connection, copy)
        return True
    complete_backup(connection, copy.number, *(counted or long_work.count_copied(connection, copy)))
    long_work.end_copy(connection, copy)
    return True


def finish_copies(catalog: Catalog, connection: apsw.Connection) -> None:
    """Complete every copy within one transaction; for callers that have the file to themselves."""
    for target in long_work.copy_targets(connection):
        while (copy := long_work.find_copy(connection, target)) is not None:
            advance_copy(catalog, connection, copy, long_work.SMALL_TABLE_ROWS)


def _register(connection: apsw.Connection, table: Table, name: str, kind: str, now: float, counted: tuple[int, int]) -> Backup:
    items, size = counted
    expires = now + SYSTEM_BACKUP_DAYS * changelog.DAY_SECONDS if kind == "SYSTEM" else None
    row = connection.execute(
        "INSERT INTO backups(account, region, table_name, arn, name, type, created, expires, size, items, definition) "
        f"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT definition FROM catalog WHERE id = ?)) RETURNING {_COLUMNS}",
        (
            table.namespace.account,
            table.namespace.region,
            table.name,
            _free_arn(connection, table, kind, now),
            name,
            kind,
            int(now * 1000) / 1000,
            expires,
            size,
            items,
            table.id,
        ),
    ).fetchone()
    assert row is not None
    return _backup(row)


def _free_arn(connection: apsw.Connection, table: Table, kind: str, now: float) -> str:
    """A free ARN: the timestamp is incremented if the backup of a deleted table would get the ARN of an earlier one."""
    milliseconds = int(now * 1000)
    while True:
        arn = f"{table.arn}/backup/{milliseconds:014d}-{'00000000' if kind == 'SYSTEM' else token_hex(4)}"
        if connection.execute("SELECT 1 FROM backups WHERE arn = ?", (arn,)).fetchone() is None:
            return arn
        milliseconds += 1


def _backup(row: tuple[object, ...]) -> Backup:
    number, account, region, *rest = row
    return Backup(number, Namespace(account, region), *rest)  # type: ignore[arg-type]


def _release_source(catalog: Catalog, connection: apsw.Connection, copy: Copy) -> None:
    """After all rows are copied: the source need not preserve rows any more."""
    source = _table(catalog, copy.table_id)
    if source is not None and copy.target in source.copies:
        catalog.replace(connection, replace(source, copies=tuple(target for target in source.copies if target != copy.target)))


def _open_restored(catalog: Catalog, connection: apsw.Connection, copy: Copy) -> None:
    """After the rows of a restored table are complete: backfill its indexes, small ones at once."""
    long_work.end_copy(connection, copy)
    table = _table(catalog, copy.number)
    if table is not None:
        catalog.replace(connection, backfill.begin(connection, replace(table, restoring=False)))


def _table(catalog: Catalog, number: int | None) -> Table | None:
    return next((layout.table for layout in catalog.cached_layouts() if layout.table.id == number), None)
