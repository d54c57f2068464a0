"""A move's backfill beside a plain loop of scans and batch writes, and what it does to a reader.

    python bench/migrate.py [--items 20000] [--quick] [--json]
    python bench/migrate.py --items 1000000 --kill      a backfill that is killed half-way and goes on (`migrate_killed.py`)

Both copy the same items to a table with another key, on the same endpoint (our own, in a process of its own) and with the same number of
segments. The loop is boto3's `scan` and `batch_writer`: it checks nothing, and would overwrite or resurrect what others write meanwhile.
The backfill checks in each transaction that the old item still is what was read. `embedded` is the backfill on an engine in this process.
Then a reader gets items by key, in a process of its own, while a backfill runs beside it with and without a limit of write units.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from rich.console import Console
from rich.table import Table as Figures

from gateleg.migrate import KeyMove, MoveOptions, Phase, RateLimits, migrations_table
from gateleg.migrate.moves.steps import advance, go_back
from gateleg.model import Attr, Entity, Key, Table, field
from gateleg.store import Store
from peers import ours, running

SEGMENTS = 4
notes, moved = Table("Notes", hash="id"), Table("MovedNotes", hash="owner", range="id")
TEXT = "a note of some length, as people write them, " * 4


class Note(Entity, table=notes):
    """A note by its id."""

    id: Attr[str]
    owner: Attr[str]
    text: Attr[str] = field("")

    key = Key("{id}")


class MovedNote(Entity, table=moved):
    """A note by its owner."""

    owner: Attr[str]
    id: Attr[str]
    text: Attr[str] = field("")

    key = Key("{owner}", "{id}")


move = KeyMove(
    "notes",
    Note,
    MovedNote,
    convert=lambda one: MovedNote(owner=one.owner, id=one.id, text=one.text),
    revert=lambda one: Note(owner=one.owner, id=one.id, text=one.text),
)
(STAGE,) = move.stages


def fill(store: Store, items: int) -> None:
    """A table of notes, and the tables that a move needs."""
    store.ensure_tables(notes, moved, migrations_table)
    for start in range(0, items, 1000):
        some = range(start, min(start + 1000, items))
        store.batch_write([Note(id=f"{number:08d}", owner=f"owner {number % 100}", text=TEXT) for number in some])


def backfilled(store: Store, limits: RateLimits | None = None) -> float:
    """Seconds of a backfill, without the phases before and after it."""
    options = MoveOptions(segments=SEGMENTS, limits=limits or RateLimits())
    store.drive(advance(move, STAGE, Phase.DUAL_WRITE, store.setup, options))
    began = time.perf_counter()
    store.drive(advance(move, STAGE, Phase.BACKFILL, store.setup, options))
    seconds = time.perf_counter() - began
    store.drive(go_back(move, STAGE, Phase.OFF, store.setup, options))
    return seconds


def looped(url: str, items: int) -> float:
    """Seconds of the plain loop, one thread for each segment."""
    keys = {"aws_access_key_id": "bench", "aws_secret_access_key": "bench", "region_name": "us-east-1", "endpoint_url": url}

    def copy(segment: int) -> None:
        resource = boto3.session.Session().resource("dynamodb", **keys)
        source, target = resource.Table("Notes"), resource.Table("MovedNotes")
        options: dict[str, Any] = {"Segment": segment, "TotalSegments": SEGMENTS, "ConsistentRead": True}
        with target.batch_writer() as writer:
            while True:
                page = source.scan(**options)
                for item in page["Items"]:
                    writer.put_item(Item={"owner": item["owner"], "id": item["id"], "text": item["text"]})
                if "LastEvaluatedKey" not in page:
                    return
                options["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    began = time.perf_counter()
    threads = [threading.Thread(target=copy, args=(segment,)) for segment in range(SEGMENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def read(url: str, items: int) -> None:
    """Get items until standard input ends; print the 50th and the 95th percentile in milliseconds. A process of its own."""
    done = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        done.set()

    threading.Thread(target=wait, daemon=True).start()
    times: list[float] = []
    with Store.connect(url) as store:
        number = 0
        print("ready", flush=True)
        while not done.is_set():
            number = (number + 7919) % items
            began = time.perf_counter()
            store.get(Note, id=f"{number:08d}")
            times.append(time.perf_counter() - began)
            time.sleep(0.002)
    times.sort()
    print(json.dumps({"p50": times[len(times) // 2] * 1000, "p95": times[int(len(times) * 0.95)] * 1000, "reads": len(times)}))


@contextmanager
def reader(url: str, items: int, results: dict[str, Any]) -> Iterator[None]:
    """A reader beside the block."""
    command = [sys.executable, __file__, "--read", url, "--items", str(items)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    yield
    told, _ = process.communicate("")
    results |= json.loads(told)


def measure(items: int) -> dict[str, Any]:
    """All figures."""
    results: dict[str, Any] = {"items": items, "segments": SEGMENTS}
    with running(ours("relaxed")) as url, Store.connect(url, concurrency=SEGMENTS) as store:
        fill(store, items)
        results["loop"] = items / looped(url, items)
        store.delete_tables(moved)
        store.ensure_tables(moved)
        results["backfill"] = items / backfilled(store)
        calm: dict[str, Any] = {}
        with reader(url, items, calm):
            time.sleep(3)
        beside: dict[str, Any] = {}
        with reader(url, items, beside):
            backfilled(store)
        limited: dict[str, Any] = {}
        with reader(url, items, limited):
            results["limited"] = items / backfilled(store, RateLimits(write_units=items / 5, page_size=25))
        results["reader"] = {"alone": calm, "beside a backfill": beside, "beside a limited backfill": limited}
    with Store.embedded() as store:
        fill(store, items)
        results["embedded"] = items / backfilled(store)
    return results


def show(results: dict[str, Any]) -> None:
    """The figures for people."""
    out = Console()
    table = Figures(title=f"{results['items']:,} items in {SEGMENTS} segments")
    for name in ("copied by", "items a second", "against the loop"):
        table.add_column(name, justify="left" if name == "copied by" else "right")
    rows = {
        "boto3 scan and batch_writer, no checks": "loop",
        "backfill, over the network": "backfill",
        "backfill with a limit of write units": "limited",
        "backfill, embedded": "embedded",
    }
    for title, name in rows.items():
        table.add_row(title, f"{results[name]:,.0f}", f"{results[name] / results['loop']:.2f}")
    out.print(table)
    reads = Figures(title="A reader by key, milliseconds")
    for name in ("reader", "p50", "p95"):
        reads.add_column(name, justify="left" if name == "reader" else "right")
    for title, one in results["reader"].items():
        reads.add_row(title, f"{one['p50']:.2f}", f"{one['p95']:.2f}")
    out.print(reads)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--quick", action="store_true", help="2,000 items")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--kill", action="store_true", help="kill a backfill half-way, let it go on, and verify")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    parser.add_argument("--operate", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    items = 2_000 if given.quick else given.items
    if given.read:
        read(given.read, given.items)
    elif given.operate or given.kill:
        # A module of that name, beside this script: what it needs of here is imported once more.
        from migrate_killed import measure_killed, operate, show_killed

        if given.operate:
            operate(*given.operate)
        else:
            killed = measure_killed(items)
            print(json.dumps(killed, indent=2)) if given.json else show_killed(killed)
    else:
        found = measure(items)
        print(json.dumps(found, indent=2)) if given.json else show(found)
