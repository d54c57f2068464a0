"""What else happens when a table is created, changed or dropped: its stream begins or ends, its index of expiries comes or goes, and a
table that can be recovered leaves a last backup behind."""

import apsw

from gateleg.engine import archive, backfill, changelog, expiry, streams
from gateleg.engine.schema import Table


def settled(connection: apsw.Connection, table: Table, now: float) -> None:
    """After a table was created or changed."""
    streams.follow(connection, table, now)
    changelog.follow(connection, table.id, table.logged)
    expiry.index(connection, table)


def dropping(connection: apsw.Connection, table: Table, now: float, counted: tuple[int, int]) -> None:
    """Before a table's rows go; `counted` are its items and their bytes."""
    streams.close(connection, table, now)
    changelog.follow(connection, table.id, logged=False)
    backfill.forget(connection, table)
    expiry.remove(connection, table)
    if table.recovery_since is not None:
        archive.keep_deleted(connection, table, now, counted)
