"""Loading a large table: the engine beside the bare SQLite statement that does the same inserts, tenth by tenth of the table.

    python bench/table_loading.py 1000000

Items of 1 KB come in the order of their numbers, and so in no order of their keys' hashes, 5,000 to a commit that is synced. The engine
takes them in batches of 25. The bare statement has the keys and the JSON made for it beforehand, and writes them with the same settings,
without checksums. The two take turns with each commit. Bytes are those that the process has written to files, as Linux counts them.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import orjson
from rich.console import Console
from rich.table import Table

from gateleg.engine import Engine
from gateleg.engine.locking import CHECKPOINT_FRAMES
from waits import NAME, definition, item

COMMIT = 5000
BATCH = 25


@dataclass(frozen=True)
class Cost:
    """What loading a tenth has cost: seconds on the clock and of the processor, and bytes written to files."""

    seconds: float
    processor: float
    written: int


def written() -> int:
    """The bytes that this process has written to files so far; zero where the system does not say."""
    try:
        counted = Path("/proc/self/io").read_text()
    except OSError:
        return 0
    return int(dict(line.split(": ") for line in counted.splitlines())["write_bytes"])


def measured(load: Callable[[], object]) -> Cost:
    """Run it once."""
    began, processor, bytes_ = time.monotonic(), time.process_time(), written()
    load()
    return Cost(time.monotonic() - began, time.process_time() - processor, written() - bytes_)


def total(costs: list[Cost]) -> Cost:
    """The sum of several."""
    return Cost(sum(c.seconds for c in costs), sum(c.processor for c in costs), sum(c.written for c in costs))


def by_engine(engine: Engine, numbers: range) -> None:
    """Put a commit's items by BatchWriteItem."""
    group = engine.begin_group()
    for start in range(numbers.start, numbers.stop, BATCH):
        puts = [{"PutRequest": {"Item": item(number)}} for number in range(start, min(start + BATCH, numbers.stop))]
        engine.call("BatchWriteItem", {"RequestItems": {NAME: puts}})
    group.commit()


def bare(path: str) -> apsw.Connection:
    """SQLite with the settings that the engine has, and a table like the engine's."""
    connection = apsw.Connection(path)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-16000", f"wal_autocheckpoint={CHECKPOINT_FRAMES}"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    connection.execute("CREATE TABLE items(k BLOB PRIMARY KEY, size INTEGER NOT NULL, v BLOB NOT NULL)")
    return connection


def by_statement(connection: apsw.Connection, rows: list[tuple[bytes, int, bytes]]) -> None:
    """Insert a commit's rows."""
    with connection:
        connection.executemany("INSERT INTO items VALUES (?, ?, ?) ON CONFLICT(k) DO UPDATE SET size = excluded.size, v = excluded.v", rows)


def tenths(folder: str, items: int) -> Iterator[tuple[int, Cost, Cost]]:
    """After each tenth: the items that there are, and what it has cost the engine and the bare statement."""
    step = max(COMMIT, items // 10 // COMMIT * COMMIT)
    connection = bare(f"{folder}/bare.db")
    with Engine(f"{folder}/engine.db") as engine:
        engine.call("CreateTable", definition(NAME))
        key = engine.catalog.layout(engine.namespace, NAME).key
        for first in range(0, items, step):
            ours, theirs = [], []
            for start in range(first, min(first + step, items), COMMIT):
                numbers = range(start, min(start + COMMIT, items))
                rows = [(key(item(number)), 1000, orjson.dumps(item(number))) for number in numbers]
                ours.append(measured(lambda numbers=numbers: by_engine(engine, numbers)))  # type: ignore[misc]
                theirs.append(measured(lambda rows=rows: by_statement(connection, rows)))  # type: ignore[misc]
            yield min(first + step, items), total(ours), total(theirs)
    connection.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", nargs="?", type=int, default=200_000)
    given = parser.parse_args()
    table = Table(title=f"Loading {given.items:,} items of 1 KB, {COMMIT:,} to a commit, full durability, {os.cpu_count()} cores")
    for name in ("items", "a second", "bare", "ratio", "processor, µs an item", "bare", "written, KB an item", "bare"):
        table.add_column(name, justify="right")
    before = 0
    with tempfile.TemporaryDirectory() as folder:
        for items, ours, theirs in tenths(folder, given.items):
            more, before = items - before, items
            table.add_row(
                f"{items:,}",
                *(f"{more / cost.seconds:,.0f}" for cost in (ours, theirs)),
                f"{ours.seconds / theirs.seconds:.2f}",
                *(f"{cost.processor / more * 1e6:.1f}" for cost in (ours, theirs)),
                *(f"{cost.written / more / 1000:.1f}" for cost in (ours, theirs)),
            )
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
