"""Time to live: expired items are deleted in the background.

A table with TTL has an index, kept by SQLite itself, of the times in that attribute, so the items that are due are found without
looking at the others. Items without the attribute, or with one that is not a number, are not in it.
"""

import apsw
import orjson

from gateleg.engine.layout import Layout
from gateleg.engine.schema import Table

#: Items that expired longer ago than this are taken for mistakes and stay.
OLDEST_SECONDS = 5 * 365.25 * 86400


def _moment(attribute: str) -> str:
    """The SQL for an item's time of expiry; a query must use the very words of the index."""
    path = f"$.{orjson.dumps(attribute).decode()}.N".replace("'", "''")
    return f"CAST(json_extract(CAST(v AS TEXT), '{path}') AS REAL)"


def index(connection: apsw.Connection, table: Table) -> None:
    """Create or remove the index of expiries as the table's TTL wants it."""
    name = f"expiry_{table.id}"
    wanted = None
    if table.ttl is not None:
        moment = _moment(table.ttl)
        wanted = f"CREATE INDEX {name} ON items_{table.id}({moment}) WHERE {moment} IS NOT NULL"
    row = connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?", (name,)).fetchone()
    if (row[0] if row else None) == wanted:
        return
    connection.execute(f"DROP INDEX IF EXISTS {name}")
    if wanted is not None:
        connection.execute(wanted)


def due(connection: apsw.Connection, layout: Layout, now: float, limit: int) -> list[bytes]:
    """The keys of items whose time is up, the longest expired first."""
    assert layout.table.ttl is not None
    moment = _moment(layout.table.ttl)
    rows = connection.execute(
        f"SELECT k FROM {layout.name} WHERE {moment} < ? AND {moment} >= ? ORDER BY {moment} LIMIT ?", (now, now - OLDEST_SECONDS, limit)
    )
    return [key for (key,) in rows]
