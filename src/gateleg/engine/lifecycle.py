"""What follows when a table is created, changed or dropped: its stream starts or ends, its expiry index is created or dropped, and a table
with point-in-time recovery leaves a system backup behind.
"""

import apsw

from gateleg.engine import backfill, changelog, expiry, stored_backups
from gateleg.engine.schema import Table


def after_definition_change(connection: apsw.Connection, table: Table, now: float) -> None:
    """Run after a table was created or changed."""
    changelog.sync_streams(connection, table, now)
    changelog.track_log(connection, table.id, table.logged)
    expiry.index(connection, table)


def before_drop(connection: apsw.Connection, table: Table, now: float, counted: tuple[int, int]) -> None:
    """Run before a table's rows are dropped; `counted` are the numbers of its items and bytes."""
    changelog.end_stream(connection, table, now)
    changelog.track_log(connection, table.id, logged=False)
    backfill.forget(connection, table)
    expiry.remove(connection, table)
    if table.recovery_since is not None:
        stored_backups.keep_dropped_table(connection, table, now, counted)
