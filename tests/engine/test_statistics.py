"""Item counts: exact for small tables, however busy the machine is; cached for large ones."""

import itertools

import pytest

from gateleg.engine.catalog import Statistics
from gateleg.engine.database import Database


@pytest.mark.parametrize(("rows", "cached"), [(10, False), (5_000, True)])
def test_slow_counts_are_cached_for_large_tables_only(rows: int, cached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Every count takes one second.
    monkeypatch.setattr("gateleg.engine.catalog.time.monotonic", itertools.count(1.0).__next__)
    database = Database(":memory:", "relaxed")
    try:
        with database.write() as connection:
            connection.execute("CREATE TABLE one(size)")
            connection.executemany("INSERT INTO one VALUES (?)", [(1,)] * rows)
        counts = Statistics(database)
        assert counts.of("one") == (rows, rows)
        with database.write() as connection:
            connection.execute("INSERT INTO one VALUES (1)")
        assert counts.of("one") == ((rows, rows) if cached else (rows + 1, rows + 1))
    finally:
        database.close()
