"""How many items a table has, and their bytes: exact for small tables, a little late for large ones, as DynamoDB's own counts are."""

import time

from gateleg.engine.database import Database

#: A count that takes longer than this (seconds) is remembered, for this many times as long as it took.
_QUICK = 0.002
_PATIENCE = 200


class Statistics:
    """Counts rows, and remembers counts that were slow to make."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._remembered: dict[str, tuple[float, tuple[int, int]]] = {}

    def of(self, rows: str, size: str = "size") -> tuple[int, int]:
        """The number of rows of a SQLite table, or of a join of tables, and the sum of their sizes."""
        began = time.monotonic()
        until, counted = self._remembered.get(rows, (0.0, (0, 0)))
        if began < until:
            return counted
        row = self._database.row(f"SELECT count(*), coalesce(sum({size}), 0) FROM {rows}")
        counted = (row[0], row[1]) if row else (0, 0)
        taken = time.monotonic() - began
        if taken > _QUICK:
            self._remembered[rows] = (began + taken * _PATIENCE, counted)
        return counted
