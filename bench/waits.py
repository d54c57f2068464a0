"""How long a writer waits while the engine runs each of its long operations, on a table of many items of 1 KB.

    python bench/waits.py [items]

Another process puts items into the same table all the time, each durable before the next. For each operation, this prints how long it took,
how long puts waited for the write lock meanwhile (the part that the operation causes), and how long they took in total, with their own sync
of the disk. As a control, it prints the same for the two seconds before, in which only the writer ran: on a busy machine, compare with
these. The table has a global index and point-in-time recovery; half of a second table expires. It also prints the rate of loading at each
tenth, and the size of the backup beside that of the table.
"""

import argparse
import gzip
import os
import random
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from gateleg.engine import Engine
from gateleg.engine.database import DatabaseConnection

NAME = "Bench"
KEYS = [{"AttributeName": "pk", "KeyType": "HASH"}]
#: The longest wait that is the goal, in milliseconds.
GOAL = 50
CONSOLE = Console(width=150)


def definition(name: str) -> dict[str, Any]:
    """A table with a key."""
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": KEYS,
    }


def item(number: int, value: int = 0) -> dict[str, Any]:
    """An item of about 1 KB."""
    return {"pk": {"S": f"key-{number:08}"}, "group": {"S": f"g{number * 7919 % 10007}"}, "n": {"N": str(value)}, "text": {"S": "x" * 950}}


def load(engine: Engine, name: str, items: int, *, expiring: bool = False) -> None:
    """Fill a table, many items to a commit."""
    expired = {"ttl": {"N": str(int(time.time()) - 60)}}
    tenth, rates, since = max(5000, items // 10 // 5000 * 5000), [], time.monotonic()
    for start in range(0, items, 5000):
        group = engine.begin_group()
        for first in range(start, min(start + 5000, items), 25):
            puts = [
                {"PutRequest": {"Item": item(i) | (expired if expiring and i % 2 else {})}} for i in range(first, min(first + 25, items))
            ]
            engine.call("BatchWriteItem", {"RequestItems": {name: puts}})
        group.commit()
        if (start + 5000) % tenth == 0:
            rates.append(f"{tenth / (time.monotonic() - since):,.0f}")
            since = time.monotonic()
    CONSOLE.print(f"{name}: items loaded a second, for each {tenth:,}: {', '.join(rates)}")


def write(path: str, items: int, log: Path) -> None:
    """The writer: puts items until its input is closed, and keeps for each when it began and how long it took."""
    os.set_blocking(0, False)
    chance = random.Random(1)
    kept = array("d")
    with Engine(path, background=False) as engine:
        engine.call("PutItem", {"TableName": NAME, "Item": item(0)})  # which imports what it needs
        locked, refresh = [0.0], engine.database.on_write

        def note(connection: DatabaseConnection) -> None:
            locked[0] = time.monotonic()
            refresh(connection)

        engine.database.on_write = note
        print("writing", flush=True)
        while not _closed():
            request = {"TableName": NAME, "Item": item(chance.randrange(items), chance.randrange(1000))}
            began = time.monotonic()
            engine.call("PutItem", request)
            kept.extend((began, locked[0] - began, time.monotonic() - began))
            time.sleep(0.001)
    log.write_bytes(kept.tobytes())


def _closed() -> bool:
    """Whether there is nobody any more at the other end of the input."""
    try:
        return os.read(0, 1) == b""
    except BlockingIOError:
        return False


#: Seconds of the control before each operation.
CONTROL = 2.0


class Waits:
    """The operations and when they ran, to be compared with what the writer kept."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.path = engine.path
        self.spans: list[tuple[str, float, float]] = []

    def during(self, name: str, run: Callable[[], object], until: Callable[[], bool] = lambda: True) -> None:
        """Run an operation until it is complete, after a control."""
        time.sleep(CONTROL)
        began = time.monotonic()
        run()
        while not until():
            time.sleep(0.02)
        self.spans.append((name, began, time.monotonic()))
        print(f"  {name}: {self.spans[-1][2] - began:.1f} s", file=sys.stderr)

    def call(self, operation: str, **request: Any) -> Any:
        """Call the engine."""
        return self._engine.call(operation, request)

    def described(self, name: str) -> Any:
        """A table's description."""
        return self.call("DescribeTable", TableName=name)["Table"]

    def active(self, name: str) -> bool:
        """Whether a table and its indexes can be used."""
        found = self.described(name)
        return found["TableStatus"] == "ACTIVE" and all(i["IndexStatus"] == "ACTIVE" for i in found.get("GlobalSecondaryIndexes", ()))

    def gone(self) -> bool:
        """Whether all that was dropped has been removed."""
        return self._engine.database.row("SELECT 1 FROM drops") is None

    def swept(self, name: str) -> bool:
        """Whether all items that have expired are gone, by the index of expiries: counts of large tables are remembered for a while."""
        entries = f"expiry_index_{self._engine.catalog.layout(self._engine.namespace, name).table.id}"
        row = self._engine.database.row(f"SELECT EXISTS(SELECT 1 FROM backfills) OR EXISTS(SELECT 1 FROM {entries} WHERE k < unixepoch())")
        return row == (0,)

    def show(self, log: Path, items: int) -> None:
        """Print what the writer waited in each span."""
        kept = array("d")
        kept.frombytes(log.read_bytes())
        puts = list(zip(kept[::3], kept[1::3], kept[2::3], strict=True))
        table = Table(
            title=f"A writer beside long operations: {items:,} items of 1 KB, full durability, {os.cpu_count()} cores; milliseconds"
        )
        for name in (
            "operation",
            "took, s",
            "puts",
            "lock: 99 %",
            "longest",
            "control",
            "put: 99 %",
            "longest",
            "control",
            f"lock: {GOAL} ms",
        ):
            table.add_column(name, justify="left" if name == "operation" else "right")
        for name, began, ended in self.spans:
            beside = [(lock * 1000, whole * 1000) for at, lock, whole in puts if at + whole >= began and at <= ended]
            before = [(lock * 1000, whole * 1000) for at, lock, whole in puts if began - CONTROL <= at and at + whole < began]
            if beside and before:
                table.add_row(
                    name,
                    f"{ended - began:.1f}",
                    f"{len(beside):,}",
                    *figures(beside, before, 0),
                    *figures(beside, before, 1),
                    verdict(beside),
                )
        CONSOLE.print(table)


def figures(beside: list[tuple[float, float]], before: list[tuple[float, float]], which: int) -> list[str]:
    """The 99th percentile and the longest beside an operation, and the longest of the control."""
    waits = sorted(one[which] for one in beside)
    return [f"{waits[len(waits) * 99 // 100]:.1f}", f"{waits[-1]:.1f}", f"{max(one[which] for one in before):.1f}"]


def verdict(beside: list[tuple[float, float]]) -> str:
    """Whether the goal was met by all puts, or how many missed it."""
    missed = sum(lock > GOAL for lock, _ in beside)
    return f"missed by {missed:,}" if missed else "met"


@contextmanager
def writer(path: str, items: int, log: Path) -> Iterator[None]:
    """A process that writes all the time."""
    command = [sys.executable, __file__, str(items), "--writer", path, "--log", str(log)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def bytes_of(engine: Engine, rows: str) -> int:
    """The bytes of a SQLite table with its indexes."""
    row = engine.database.row(
        "SELECT sum(pgsize) FROM dbstat WHERE aggregate = 1 AND name IN (SELECT name FROM sqlite_schema WHERE tbl_name = ?)", (rows,)
    )
    return int(row[0] or 0) if row else 0


def refused_compact(path: str) -> None:
    """Try to compact the file, in a process of its own, as an operator might."""
    script = "import sys; from gateleg.engine import compact; compact(sys.argv[1])"
    tried = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=False)
    assert "is in use" in tried.stderr, tried.stderr


def operations(waits: Waits, folder: Path, items: int) -> None:
    """All of them, one after another."""
    waits.during("nothing", lambda: time.sleep(5))
    found: dict[str, Any] = {}

    def back_up() -> None:
        found["arn"] = waits.call("CreateBackup", TableName=NAME, BackupName="first")["BackupDetails"]["BackupArn"]

    def is_available() -> bool:
        backup = waits.call("DescribeBackup", BackupArn=found["arn"])["BackupDescription"]["BackupDetails"]
        return bool(backup["BackupStatus"] == "AVAILABLE")

    waits.during("CreateBackup", back_up, is_available)
    waits.during(
        "RestoreTableFromBackup",
        lambda: waits.call("RestoreTableFromBackup", BackupArn=found["arn"], TargetTableName="Restored"),
        lambda: waits.active("Restored"),
    )
    waits.during(
        "RestoreTableToPointInTime",
        lambda: waits.call(
            "RestoreTableToPointInTime", SourceTableName=NAME, TargetTableName="Earlier", RestoreDateTime=found.setdefault("at", START[0])
        ),
        lambda: waits.active("Earlier"),
    )
    create = {
        "IndexName": "by-group",
        "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    attributes = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "group")]
    waits.during(
        "backfill of an index",
        lambda: waits.call(
            "UpdateTable", TableName=NAME, AttributeDefinitions=attributes, GlobalSecondaryIndexUpdates=[{"Create": create}]
        ),
        lambda: waits.active(NAME),
    )
    waits.during(
        "removal of an index",
        lambda: waits.call("UpdateTable", TableName=NAME, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-group"}}]),
        waits.gone,
    )
    transfers(waits, folder, items)
    ttl = {"AttributeName": "ttl", "Enabled": True}
    waits.during(
        "time to live: switched on, and half of the items swept",
        lambda: waits.call("UpdateTimeToLive", TableName="Expiring", TimeToLiveSpecification=ttl),
        lambda: waits.swept("Expiring"),
    )
    for name in ("Restored", "Earlier"):
        waits.during(f"DeleteTable ({name})", lambda name=name: waits.call("DeleteTable", TableName=name), waits.gone)  # type: ignore[misc]
    waits.during("compact, refused as the file is in use", lambda: refused_compact(waits.path))
    waits.during("DeleteBackup", lambda: waits.call("DeleteBackup", BackupArn=found["arn"]), waits.gone)


def transfers(waits: Waits, folder: Path, items: int) -> None:
    """An export, and an import of as many items."""
    bucket = folder / "exports" / "bucket"
    (bucket / "in").mkdir(parents=True)
    arns: dict[str, str] = {}

    def export() -> None:
        done = waits.call("ExportTableToPointInTime", TableArn=waits.described(NAME)["TableArn"], S3Bucket="bucket")
        arns["export"] = done["ExportDescription"]["ExportArn"]

    def exported() -> bool:
        return bool(waits.call("DescribeExport", ExportArn=arns["export"])["ExportDescription"]["ExportStatus"] != "IN_PROGRESS")

    waits.during("export", export, exported)
    with gzip.open(bucket / "in" / "items.json.gz", "wt", compresslevel=1) as file:
        for number in range(items):
            file.write(f'{{"Item":{{"pk":{{"S":"key-{number:08}"}},"text":{{"S":"{"x" * 950}"}}}}}}\n')

    def import_() -> None:
        source = {"S3Bucket": "bucket", "S3KeyPrefix": "in/"}
        done = waits.call(
            "ImportTable",
            S3BucketSource=source,
            InputFormat="DYNAMODB_JSON",
            InputCompressionType="GZIP",
            TableCreationParameters=definition("Imported"),
        )
        arns["import"] = done["ImportTableDescription"]["ImportArn"]

    def imported() -> bool:
        return bool(waits.call("DescribeImport", ImportArn=arns["import"])["ImportTableDescription"]["ImportStatus"] != "IN_PROGRESS")

    waits.during("import", import_, imported)


#: The moment to which a table is restored: before the writer began.
START: list[float] = []


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", nargs="?", type=int, default=200_000)
    parser.add_argument("--writer", help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.writer is not None:
        write(given.writer, given.items, given.log)
        return
    with tempfile.TemporaryDirectory() as place:
        folder, path = Path(place), f"{place}/bench.db"
        with Engine(path) as engine:
            for name in (NAME, "Expiring"):
                engine.call("CreateTable", definition(name))
            load(engine, NAME, given.items)
            load(engine, "Expiring", given.items // 4, expiring=True)
            recovery = {"PointInTimeRecoveryEnabled": True}
            engine.call("UpdateContinuousBackups", {"TableName": NAME, "PointInTimeRecoverySpecification": recovery})
            time.sleep(1)
            START.append(time.time())
            waits = Waits(engine)
            with writer(path, given.items, folder / "waits"):
                operations(waits, folder, given.items)
            waits.show(folder / "waits", given.items)
            engine.call("CreateBackup", {"TableName": NAME, "BackupName": "second"})
            engine.maintain()
            rows = engine.catalog.layout(engine.namespace, NAME).name
            table, backup = bytes_of(engine, rows), bytes_of(engine, "backup_2")
            CONSOLE.print(f"A backup takes {backup:,} bytes, {backup / table:.2f} times the table's {table:,} (goal: under 1.3)")


if __name__ == "__main__":
    main()
