"""Point-in-time recovery: a table's earlier rows, from the current rows and the change log."""

from collections.abc import Iterator

import apsw

from gateleg.engine import changelog
from gateleg.engine.schema import Table


def window(table: Table, now: float) -> tuple[float, float] | None:
    """The earliest and latest times that a table can be restored to; None if recovery is off."""
    if table.recovery_since is None:
        return None
    return max(table.recovery_since, now - table.recovery_days * changelog.DAY_SECONDS), now


def rows(connection: apsw.Connection, table: Table, at: float) -> Iterator[bytes]:
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
