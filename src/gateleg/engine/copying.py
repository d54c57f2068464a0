"""Backups and restores as they come about: begun by a request, which finishes small ones at once, and gone on with by the maintenance."""

from dataclasses import replace

import apsw

from gateleg.engine import archive, backfill, copies
from gateleg.engine.catalog import Catalog
from gateleg.engine.copies import Copy
from gateleg.engine.schema import Table


def begin(catalog: Catalog, connection: apsw.Connection, copy: Copy) -> bool:
    """Take the first step of each phase; whether that was all. From now on, the source keeps rows that change for the copy."""
    current: Copy | None = copy
    while current is not None:
        if not advance(catalog, connection, current, copies.CHUNK):
            source = _table(catalog, current.table_id)
            if source is not None and current.phase == "rows":
                catalog.replace(connection, replace(source, copies=(*source.copies, current.target)))
            return False
        current = copies.find(connection, copy.target)
    return True


def advance(catalog: Catalog, connection: apsw.Connection, copy: Copy, most: int, counted: tuple[int, int] | None = None) -> bool:
    """Take one step of at most so many rows, in a transaction; whether the phase was completed by it.

    `counted` are items and bytes, counted beforehand.
    """
    if copy.phase == "rows":
        if not copies.copy_rows(connection, copy, most):
            return False
        _release(catalog, connection, copy)
        if copy.is_backup:
            copies.enter(connection, copy, "count")
        elif copy.cut is not None:
            copies.enter(connection, copy, "log")
        else:
            _open_restored(catalog, connection, copy)
        return True
    if copy.phase == "log":
        if not copies.undo_changes(connection, copy, most):
            return False
        _open_restored(catalog, connection, copy)
        return True
    archive.complete(connection, copy.number, *(counted or copies.count(connection, copy)))
    copies.end(connection, copy)
    return True


def finish(catalog: Catalog, connection: apsw.Connection) -> None:
    """Complete every copy within one transaction, for one who has the file alone."""
    for target in copies.targets(connection):
        while (copy := copies.find(connection, target)) is not None:
            advance(catalog, connection, copy, copies.CHUNK)


def _release(catalog: Catalog, connection: apsw.Connection, copy: Copy) -> None:
    """All rows are copied: the source need not keep any more for it."""
    source = _table(catalog, copy.table_id)
    if source is not None and copy.target in source.copies:
        catalog.replace(connection, replace(source, copies=tuple(target for target in source.copies if target != copy.target)))


def _open_restored(catalog: Catalog, connection: apsw.Connection, copy: Copy) -> None:
    """The rows of a restored table are complete: its indexes can be filled, small ones at once."""
    copies.end(connection, copy)
    table = _table(catalog, copy.number)
    if table is not None:
        catalog.replace(connection, backfill.begin(connection, replace(table, restoring=False)))


def _table(catalog: Catalog, number: int | None) -> Table | None:
    return next((layout.table for layout in catalog.known() if layout.table.id == number), None)
