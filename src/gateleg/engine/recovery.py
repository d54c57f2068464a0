"""Recovery: a table's rows as they were at a moment, from the rows as they are and the log of what has changed since."""

from collections.abc import Iterator

import apsw
import orjson

from gateleg.engine import changelog
from gateleg.engine.schema import Table
from gateleg.engine.values import item_size


def window(table: Table, now: float) -> tuple[float, float] | None:
    """The earliest and the latest moment to which a table can be restored; none if its recovery is off."""
    if table.recovery_since is None:
        return None
    return max(table.recovery_since, now - table.recovery_days * changelog.DAY), now


def pour(connection: apsw.Connection, source: Table, at: float, target: Table) -> None:
    """Put the rows that a table had at a moment into a new one."""
    connection.execute(f"INSERT INTO items_{target.id} SELECT k, size, v FROM items_{source.id}")
    cut = changelog.first_after(connection, source.id, at)
    for key, old in changelog.undo(connection, source.id, cut):
        if old is None:
            connection.execute(f"DELETE FROM items_{target.id} WHERE k = ?", (key,))
        else:
            connection.execute(f"INSERT OR REPLACE INTO items_{target.id} VALUES (?, ?, ?)", (key, item_size(orjson.loads(old)), old))


def rows(connection: apsw.Connection, table: Table, at: float) -> Iterator[bytes]:
    """The items that a table had at a moment, in order of their keys."""
    cut = changelog.first_after(connection, table.id, at)
    undone = changelog.undo(connection, table.id, cut)
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
