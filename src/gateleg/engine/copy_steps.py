"""Steps of backups and restores: a request starts them and finishes small ones; maintenance continues the others."""

from dataclasses import replace

import apsw

from gateleg.engine import backfill, online_copy, stored_backups, throttle
from gateleg.engine.catalog import Catalog
from gateleg.engine.online_copy import Copy
from gateleg.engine.schema import Table


def begin(catalog: Catalog, connection: apsw.Connection, copy: Copy) -> bool:
    """Run the first step of each phase; returns whether that was all. From now on, the source copies rows before they change."""
    current: Copy | None = copy
    while current is not None:
        if not advance(catalog, connection, current, throttle.SMALL_TABLE_ROWS):
            source = _table(catalog, current.table_id)
            if source is not None and current.phase == "rows":
                catalog.replace(connection, replace(source, copies=(*source.copies, current.target)))
            return False
        current = online_copy.find(connection, copy.target)
    return True


def advance(catalog: Catalog, connection: apsw.Connection, copy: Copy, max_rows: int, counted: tuple[int, int] | None = None) -> bool:
    """Run one step of at most `max_rows` rows within a transaction; returns whether it completed the phase.

    `counted` are the numbers of items and bytes, if they were counted before.
    """
    if copy.phase == "rows":
        if not online_copy.copy_rows(connection, copy, max_rows):
            return False
        _release(catalog, connection, copy)
        if copy.is_backup:
            online_copy.enter_phase(connection, copy, "count")
        elif copy.undo_from is not None:
            online_copy.enter_phase(connection, copy, "log")
        else:
            _open_restored(catalog, connection, copy)
        return True
    if copy.phase == "log":
        if not online_copy.undo_changes(connection, copy, max_rows):
            return False
        _open_restored(catalog, connection, copy)
        return True
    stored_backups.complete_backup(connection, copy.number, *(counted or online_copy.count(connection, copy)))
    online_copy.end(connection, copy)
    return True


def finish(catalog: Catalog, connection: apsw.Connection) -> None:
    """Complete every copy within one transaction; for callers that have the file to themselves."""
    for target in online_copy.targets(connection):
        while (copy := online_copy.find(connection, target)) is not None:
            advance(catalog, connection, copy, throttle.SMALL_TABLE_ROWS)


def _release(catalog: Catalog, connection: apsw.Connection, copy: Copy) -> None:
    """After all rows are copied: the source need not preserve rows any more."""
    source = _table(catalog, copy.table_id)
    if source is not None and copy.target in source.copies:
        catalog.replace(connection, replace(source, copies=tuple(target for target in source.copies if target != copy.target)))


def _open_restored(catalog: Catalog, connection: apsw.Connection, copy: Copy) -> None:
    """After the rows of a restored table are complete: backfill its indexes, small ones at once."""
    online_copy.end(connection, copy)
    table = _table(catalog, copy.number)
    if table is not None:
        catalog.replace(connection, backfill.begin(connection, replace(table, restoring=False)))


def _table(catalog: Catalog, number: int | None) -> Table | None:
    return next((layout.table for layout in catalog.cached_layouts() if layout.table.id == number), None)
