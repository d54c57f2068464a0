"""A backfill that is killed halfway (`kill -9`) and continues: `python bench/migrate.py --items 1000000 --kill`.

The operator runs in a separate process on an embedded store, and records every page that it reads. So the items that were read twice are
counted: those that both operators read, minus those in the table. Only the page that each segment was working on when the operator was
killed is read again. Then both sides are verified, item by item.
"""

import contextlib
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gateleg.migrate import MoveOptions, Phase, RateLimits
from gateleg.migrate.moves.passes import backfill, progress_of
from gateleg.migrate.moves.steps import advance, verify
from gateleg.store import Call, Store
from migrate import SEGMENTS, STAGE, fill, move, moved, notes

PAGE = 100
_COUNT = struct.Struct("<I")


class PageLog:
    """Writes down how many items each page of a scan has; a line outlives the process that wrote it."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def before(self, call: Call) -> None:
        """Nothing yet."""

    def after(self, call: Call) -> None:
        """Count what a scan has answered."""
        if call.request.operation == "Scan" and call.error is None:
            os.write(self._file, _COUNT.pack(call.items))


def operate(place: str, log: str) -> None:
    """Backfill to the end. A process of its own, which is killed."""
    with Store.connect(place, hooks=[PageLog(Path(log))]) as store:
        store.drive(advance(move, STAGE, Phase.BACKFILL, store.setup, options()))


def options() -> MoveOptions:
    """The same for every operator."""
    return MoveOptions(segments=SEGMENTS, limits=RateLimits(page_size=PAGE))


def measure_killed(items: int) -> dict[str, Any]:
    """Fill, backfill, kill, go on, verify; what was counted, and the seconds of each."""
    with tempfile.TemporaryDirectory() as folder:
        place, log = f"embedded:{folder}/store?durability=relaxed", Path(folder) / "pages"
        results: dict[str, Any] = {"items": items, "segments": SEGMENTS, "page": PAGE}
        with Store.connect(place) as store:
            began = time.perf_counter()
            fill(store, items)
            results["fill_seconds"] = time.perf_counter() - began
            store.drive(advance(move, STAGE, Phase.DUAL_WRITE, store.setup, options()))
            began = time.perf_counter()
            operator = _started(place, log)
            _wait_for(store, operator, items // 2)
            operator.kill()
            operator.wait()
            results["killed_after_seconds"] = time.perf_counter() - began
            results["checkpointed"] = _progress(store)["seen"]
            results["copied"] = _count(store, moved.name)
            began = time.perf_counter()
            assert _started(place, log).wait() == 0
            results["rest_seconds"] = time.perf_counter() - began
            results["read"] = sum(count for (count,) in _COUNT.iter_unpack(log.read_bytes()))
            results["read_twice"] = results["read"] - items
            began = time.perf_counter()
            found = store.drive(verify(move, STAGE, store.setup, options()))
            results["verify_seconds"] = time.perf_counter() - began
            results |= {"old": found.old, "new": found.new, "same_sum": found.same_sum, "wrong": found.wrong, "holds": found.holds}
            assert _count(store, notes.name) == items
        return results


def _started(place: str, log: Path) -> subprocess.Popen[bytes]:
    script = str(Path(__file__).with_name("migrate.py"))
    return subprocess.Popen([sys.executable, script, "--operate", place, str(log)])


def _wait_for(store: Store, operator: subprocess.Popen[bytes], seen: int) -> None:
    """Wait until a backfill has seen so many items."""
    while _progress(store)["seen"] < seen:
        with contextlib.suppress(subprocess.TimeoutExpired):
            assert operator.wait(0.1) is None, "the operator ended before it could be killed"


def _progress(store: Store) -> dict[str, Any]:
    return progress_of(store.drive(backfill(move, STAGE).checkpoints(store.setup)))


def _count(store: Store, table: str) -> int:
    return int(store.transport.call("DescribeTable", {"TableName": table})["Table"]["ItemCount"])


def show_killed(results: dict[str, Any]) -> None:
    """The figures for people."""
    rest, page = results["items"] - results["checkpointed"], results["segments"] * results["page"]
    first, second = results["checkpointed"] / results["killed_after_seconds"], rest / results["rest_seconds"]
    print(
        f"{results['items']:,} items, {results['segments']} segments, pages of {PAGE}, filled in {results['fill_seconds']:,.0f} s\n"
        f"killed (-9) after {results['killed_after_seconds']:,.0f} s: {results['checkpointed']:,} items behind checkpoints"
        f" ({first:,.0f} items/s), {results['copied']:,} copies\n"
        f"another operator did the other {rest:,} in {results['rest_seconds']:,.0f} s ({second:,.0f} items/s)\n"
        f"read twice: {results['read_twice']:,} items; one page of each segment would be {page:,}\n"
        f"verified in {results['verify_seconds']:,.0f} s: {results['old']:,} old and {results['new']:,} new items,"
        f" {results['wrong']:,} wrong, sums {'agree' if results['same_sum'] else 'differ'}"
    )
    assert results["holds"], "both sides differ"
    assert results["read_twice"] <= page, "more was read twice than one page of each segment"
