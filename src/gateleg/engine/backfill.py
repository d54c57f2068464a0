"""Backfill: fill a new index with the items that were there before it, a chunk at a time.

From the moment an index exists, writes keep it right. What is left is to walk the table once, in the order in which its rows lie. How
far the walk has come is kept in the same transaction as the entries it made, so it goes on after a crash, and any process may take the
next step.
"""

from dataclasses import replace
from typing import Any

import apsw
import orjson

from gateleg.engine import copies
from gateleg.engine.entries import IndexLayout
from gateleg.engine.layout import Layout
from gateleg.engine.schema import Table

#: Rows that are taken at once when an index is made: all of a small table.
CHUNK = 1000
#: Rows that are taken later between two looks at the clock.
STEP = 20


def pending(table: Table) -> bool:
    """Whether an index of the table still has to be filled, and can be."""
    return not table.restoring and any(index.status == "CREATING" for index in table.indexes)


def begin(connection: apsw.Connection, table: Table) -> Table:
    """Take in what one chunk for each new index holds: all of a small table. The definition as it is then."""
    while pending(table):
        done = advance(connection, table, CHUNK)
        if done is None:
            return table
        table = done
    return _opened(table)


def advance(connection: apsw.Connection, table: Table, most: int) -> Table | None:
    """Take at most so many rows into the first index of a table that is not filled; the changed definition once that is complete."""
    layout = Layout(table)
    index = next(i for i in layout.indexes if i.index.status == "CREATING")
    if _fill(connection, layout, index, most):
        return None
    connection.execute("DELETE FROM backfills WHERE index_id = ?", (index.index.id,))
    return _opened(replace(table, indexes=tuple(replace(i, status="ACTIVE") if i.id == index.index.id else i for i in table.indexes)))


def forget(connection: apsw.Connection, table: Table) -> None:
    """Give up the filling of a table's indexes."""
    connection.executemany("DELETE FROM backfills WHERE index_id = ?", [(index.id,) for index in table.indexes])


def _opened(table: Table) -> Table:
    """A table that was being restored, once all of its indexes are filled."""
    if table.status != "CREATING" or table.restoring or pending(table):
        return table
    settings = {name: value for name, value in table.settings.items() if name != "RestoreSummary"}
    return replace(table, status="ACTIVE", settings=settings)


def _fill(connection: apsw.Connection, layout: Layout, index: IndexLayout, most: int) -> bool:
    """Take one chunk; whether there may be more."""
    row = connection.execute("SELECT place FROM backfills WHERE index_id = ?", (index.index.id,)).fetchone()
    # An earlier version kept a key here: its walk begins anew, and finds in place what it had made.
    place = row[0] if row and isinstance(row[0], int) else 0
    rows: list[Any] = connection.execute(
        f"SELECT rowid, k, size, v FROM {layout.name} WHERE rowid > ? ORDER BY rowid LIMIT ?", (place, most)
    ).fetchall()
    taken = copies.within(copies.BYTES, [size for _, _, size, _ in rows])
    for _, key, size, stored in rows[:taken]:
        item = orjson.loads(stored)
        entry = index.key(item)
        if entry is not None:
            connection.execute(index.insert, (entry, key, *index.entry(item, size)))
    if taken:
        connection.execute("INSERT OR REPLACE INTO backfills VALUES (?, ?)", (index.index.id, rows[taken - 1][0]))
    return taken < len(rows) or taken == most
