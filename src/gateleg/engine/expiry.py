"""Time to live: delete expired items in the background.

A table with TTL has an index of expiry times, so that expired items are found without reading the others. Items without the attribute, or
with one that is not a number, are not in it. The index is a SQLite table maintained by triggers from the moment TTL is enabled; existing
items are added chunk by chunk, because a native SQLite index would be built in one transaction, with every writer waiting.
"""

from typing import Any

import apsw
import orjson

from gateleg.engine import long_work
from gateleg.engine.layout import Layout
from gateleg.engine.long_work import drop_rows
from gateleg.engine.schema import Table

#: Items that expired longer ago than this are kept: the attribute probably holds something else.
OLDEST_SECONDS = 5 * 365.25 * 86400
#: Rows to index per chunk, unless the table is small.
CHUNK_ROWS = 50


def index(connection: apsw.Connection, table: Table) -> None:
    """Create or drop the expiry index according to the table's TTL setting, and start filling it."""
    triggers = None if table.ttl is None else _triggers(table.id, table.ttl)
    if triggers is not None and _has(connection, table.id, triggers):
        return
    remove(connection, table)
    if triggers is not None:
        connection.execute(f"CREATE TABLE {_name(table.id)}(k REAL, b BLOB, size INTEGER, PRIMARY KEY(k, b)) WITHOUT ROWID")
        for sql in triggers.values():
            connection.execute(sql)
        connection.execute("INSERT INTO backfills VALUES (?, 0)", (table.id,))
        fill(connection, table, long_work.SMALL_TABLE_ROWS)


def remove(connection: apsw.Connection, table: Table) -> None:
    """Drop the expiry index."""
    for name in _triggers(table.id, ""):
        connection.execute(f"DROP TRIGGER IF EXISTS {name}")
    connection.execute(f"DROP INDEX IF EXISTS expiry_{table.id}")  # what earlier versions made instead
    connection.execute("DELETE FROM backfills WHERE index_id = ?", (table.id,))
    drop_rows(connection, _name(table.id))


def pending(connection: apsw.Connection, table: Table) -> bool:
    """Whether the index lacks items; always true for tables of earlier versions, which had another index."""
    row = connection.execute("SELECT place FROM backfills WHERE index_id = ?", (table.id,)).fetchone()
    return table.ttl is not None and (row is not None or not _has(connection, table.id, _triggers(table.id, table.ttl)))


def fill(connection: apsw.Connection, table: Table, max_rows: int) -> bool:
    """Add at most `max_rows` existing items to the index; returns whether there may be more."""
    if table.ttl is None:
        return False
    row = connection.execute("SELECT place FROM backfills WHERE index_id = ?", (table.id,)).fetchone()
    if row is None:
        return False
    rows: list[Any] = connection.execute(
        f"SELECT rowid, size FROM items_{table.id} WHERE rowid > ? ORDER BY rowid LIMIT ?", (row[0], max_rows)
    ).fetchall()
    taken = long_work.count_within([size for _, size in rows])
    if not taken:
        connection.execute("DELETE FROM backfills WHERE index_id = ?", (table.id,))
        return False
    last = rows[taken - 1][0]
    chunk = f"SELECT {_expiry_time('v', table.ttl)} AS at, k FROM items_{table.id} WHERE rowid > ? AND rowid <= ?"
    connection.execute(_insert(table.id, chunk), (row[0], last))
    connection.execute("UPDATE backfills SET place = ? WHERE index_id = ?", (last, table.id))
    return True


def due(connection: apsw.Connection, layout: Layout, now: float, limit: int) -> list[bytes]:
    """The keys of expired items, longest expired first."""
    rows = connection.execute(
        f"SELECT b FROM {_name(layout.table.id)} WHERE k < ? AND k >= ? ORDER BY k LIMIT ?", (now, now - OLDEST_SECONDS, limit)
    )
    return [key for (key,) in rows]


def faults(connection: apsw.Connection, table: Table) -> tuple[int, int]:
    """Number of items that a table's expiry index lacks, and number of its entries without a matching item."""
    if table.ttl is None or pending(connection, table):
        return 0, 0
    expected = f"SELECT {_expiry_time('v', table.ttl)} AS at, k FROM items_{table.id} WHERE at IS NOT NULL"
    stored = f"SELECT k, b FROM {_name(table.id)}"
    rows: list[Any] = connection.execute(
        f"SELECT (SELECT count(*) FROM ({expected} EXCEPT {stored})), (SELECT count(*) FROM ({stored} EXCEPT {expected}))"
    ).fetchall()
    missing, astray = rows[0]
    return missing, astray


def _name(table_id: int) -> str:
    return f"expiry_index_{table_id}"


def _expiry_time(column: str, attribute: str) -> str:
    """SQL for an item's expiry time; NULL if it has none."""
    path = f"$.{orjson.dumps(attribute).decode()}.N".replace("'", "''")
    return f"CAST(json_extract(CAST({column} AS TEXT), '{path}') AS REAL)"


def _insert(table_id: int, rows: str) -> str:
    """SQL that indexes rows of a time and a key, except those that a trigger has indexed. An entry counts as 64 bytes."""
    return f"INSERT OR IGNORE INTO {_name(table_id)} SELECT at, k, 64 FROM ({rows}) WHERE at IS NOT NULL"


def _triggers(table_id: int, attribute: str) -> dict[str, str]:
    """The triggers that maintain the index, by name."""
    rows, old, new = f"items_{table_id}", _expiry_time("OLD.v", attribute), _expiry_time("NEW.v", attribute)
    insert = _insert(table_id, f"SELECT {new} AS at, NEW.k AS k")
    delete = f"DELETE FROM {_name(table_id)} WHERE k = {old} AND b = OLD.k"
    bodies = {
        f"expiry_insert_{table_id}": f"INSERT ON {rows} BEGIN {insert}; END",
        f"expiry_update_{table_id}": f"UPDATE OF v ON {rows} WHEN {old} IS NOT {new} BEGIN {delete}; {insert}; END",
        f"expiry_delete_{table_id}": f"DELETE ON {rows} BEGIN {delete}; END",
    }
    return {name: f"CREATE TRIGGER {name} AFTER {body}" for name, body in bodies.items()}


def _has(connection: apsw.Connection, table_id: int, triggers: dict[str, str]) -> bool:
    stored = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?", (f"items_{table_id}",))
    return dict(stored) == triggers
