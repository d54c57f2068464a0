"""Recovery: a table's rows as they were at a moment, from the rows as they are and the log of what has changed since."""

from collections.abc import Iterator

import apsw

from gateleg.engine import changelog
from gateleg.engine.schema import Table


def window(table: Table, now: float) -> tuple[float, float] | None:
    """The earliest and the latest moment to which a table can be restored; none if its recovery is off."""
    if table.recovery_since is None:
        return None
    return max(table.recovery_since, now - table.recovery_days * changelog.DAY), now


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
