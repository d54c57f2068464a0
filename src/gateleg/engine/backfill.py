"""Backfill: fill a new index with the existing items, chunk by chunk.

From the moment an index exists, writes maintain it. What remains is one walk through the table in storage order. Progress is stored in the
same transaction as the entries, so that a backfill continues after a crash, and any process may take the next step.
"""

from dataclasses import replace
from typing import Any

import apsw
import orjson

from gateleg.engine import long_work
from gateleg.engine.layout import IndexLayout, Layout
from gateleg.engine.schema import Table

#: Rows to index per chunk, unless the table is small.
CHUNK_ROWS = 20


def pending(table: Table) -> bool:
    """Whether an index of the table still has to be filled, and can be."""
    return not table.restoring and any(index.status == "CREATING" for index in table.indexes)


def begin(connection: apsw.Connection, table: Table) -> Table:
    """Run the first chunk for each new index, which completes small tables; returns the resulting definition."""
    while pending(table):
        done = advance(connection, table, long_work.SMALL_TABLE_ROWS)
        if done is None:
            return table
        table = done
    return _restored(table)


def advance(connection: apsw.Connection, table: Table, max_rows: int) -> Table | None:
    """Add at most `max_rows` rows to the first incomplete index; returns the changed definition once it is complete."""
    layout = Layout(table)
    index = next(i for i in layout.indexes if i.index.status == "CREATING")
    if _fill(connection, layout, index, max_rows):
        return None
    connection.execute("DELETE FROM backfills WHERE index_id = ?", (index.index.id,))
    return _restored(replace(table, indexes=tuple(replace(i, status="ACTIVE") if i.id == index.index.id else i for i in table.indexes)))


def rebuild(connection: apsw.Connection, table: Table) -> Table:
    """Fill all indexes of a table, which are empty, at once; returns the resulting definition."""
    table = replace(table, indexes=tuple(replace(index, status="CREATING") for index in table.indexes))
    while pending(table):
        table = advance(connection, table, long_work.SMALL_TABLE_ROWS) or table
    return table


def forget(connection: apsw.Connection, table: Table) -> None:
    """Cancel the backfills of a table."""
    connection.executemany("DELETE FROM backfills WHERE index_id = ?", [(index.id,) for index in table.indexes])


def _restored(table: Table) -> Table:
    """The definition of a restored table, ACTIVE once all of its indexes are filled."""
    if table.status != "CREATING" or table.restoring or pending(table):
        return table
    settings = {name: value for name, value in table.settings.items() if name != "RestoreSummary"}
    return replace(table, status="ACTIVE", settings=settings)


def _fill(connection: apsw.Connection, layout: Layout, index: IndexLayout, max_rows: int) -> bool:
    """Run one chunk; returns whether there may be more."""
    row = connection.execute("SELECT place FROM backfills WHERE index_id = ?", (index.index.id,)).fetchone()
    # Earlier versions stored a key here: the walk restarts, and finds its earlier entries in place.
    place = row[0] if row and isinstance(row[0], int) else 0
    rows: list[Any] = connection.execute(
        f"SELECT rowid, k, size, v FROM {layout.name} WHERE rowid > ? ORDER BY rowid LIMIT ?", (place, max_rows)
    ).fetchall()
    taken = long_work.count_within([size for _, _, size, _ in rows])
    for _, key, size, stored in rows[:taken]:
        item = orjson.loads(stored)
        entry = index.key(item)
        if entry is not None:
            connection.execute(index.insert, (entry, key, *index.entry(item, size)))
    if taken:
        connection.execute("INSERT OR REPLACE INTO backfills VALUES (?, ?)", (index.index.id, rows[taken - 1][0]))
    return taken < len(rows) or taken == max_rows
