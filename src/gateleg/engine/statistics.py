"""Item counts and sizes of tables: exact for small tables, cached for large ones, as DynamoDB's own counts are."""

import time

from gateleg.engine.database import Database

#: The rows of a small table, which is always counted: a count that takes long was only interrupted.
_SMALL_TABLE_ROWS = 1_000
#: A count of a larger table that took longer than this is cached, for this many times as long as it took.
_FAST_COUNT_SECONDS = 0.002
_CACHE_FACTOR = 200


class Statistics:
    """Counts rows, and caches counts that are slow."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cached: dict[str, tuple[float, tuple[int, int]]] = {}

    def of(self, rows: str, size: str = "size") -> tuple[int, int]:
        """Number of rows and sum of sizes of a SQLite table, or of a join."""
        began = time.monotonic()
        until, counted = self._cached.get(rows, (0.0, (0, 0)))
        if began < until:
            return counted
        row = self._database.row(f"SELECT count(*), coalesce(sum({size}), 0) FROM {rows}")
        counted = (row[0], row[1]) if row else (0, 0)
        taken = time.monotonic() - began
        if taken > _FAST_COUNT_SECONDS and counted[0] > _SMALL_TABLE_ROWS:
            self._cached[rows] = (began + taken * _CACHE_FACTOR, counted)
        return counted
