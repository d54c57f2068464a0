"""The data layer beside the others of Python, in one run on one machine.

    python bench/model.py [--quick]

Codec: an object to its wire item and back. Stubbed: one whole `put` and one whole query of 100 objects through each library's public
call, answered before anything is sent, so that all of the library's own work is counted and nothing else; processor time. pydynox has its
sockets in Rust: it is answered by a server in another process, so its figures hold the kernel's share too. Live: the same calls to our
endpoint in another process; elapsed time. All figures are microseconds, the best of several rounds; `x` is how many times gateleg's own.
The libraries take turns in every round, so that a machine that is slow for a while is slow for all of them.
"""

import argparse
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

CONSOLE = Console(width=140)
HOME = Path(__file__).parents[1] / ".bench"
PYTHON = HOME / "models/bin/python"
LIBRARIES = ["boto3", "pynamodb", "dyntastic", "aiodynamo", "httpx", "pydynox"]
COLUMNS = ("encode", "decode", "put, stubbed", "query of 100, stubbed", "put, live", "query of 100, live")

Row = dict[str, float]
Repeat = Callable[[int], object]


def enter_environment() -> None:
    """Go on in an environment that has the other libraries; it is made when it is not there."""
    if Path(sys.prefix) == HOME / "models":
        return
    if not PYTHON.exists():
        HOME.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(HOME / "models")], check=True)
        subprocess.run([str(PYTHON), "-m", "pip", "install", "--quiet", "-e", f"{HOME.parent}[endpoint,cli,aws]", *LIBRARIES], check=True)
    os.execv(PYTHON, [str(PYTHON), *sys.argv])


@dataclass
class Runner:
    """One thing that is measured: how to do it so many times, and the microseconds that it has taken at best."""

    repeat: Repeat
    clock: Callable[[], float]
    span: float
    #: what must be done before each turn, and is not measured
    prepare: Callable[[], object] = bool
    times: int = 1
    best: float = float("inf")

    def warm_up(self) -> None:
        """Find out how often it can be done in the time of a turn."""
        self.prepare()
        self.repeat(1)
        taken = 0.0
        while taken < self.span / 4:
            self.times *= 2
            taken = -self.clock()
            self.repeat(self.times)
            taken += self.clock()
        self.times = max(1, int(self.times * self.span / taken))

    def take_turn(self) -> None:
        """Do it for the time of a turn."""
        self.prepare()
        start = self.clock()
        self.repeat(self.times)
        self.best = min(self.best, (self.clock() - start) / self.times * 1e6)


def race(runners: Iterable[Runner], rounds: int) -> None:
    """Have all of them take turns, without the garbage collector in between."""
    field = list(runners)
    for runner in field:
        runner.warm_up()
    gc.disable()
    try:
        for _ in range(rounds):
            gc.collect()
            for runner in field:
                runner.take_turn()
    finally:
        gc.enable()


def looped(call: Callable[[], object]) -> Repeat:
    """A function that calls another one so many times."""

    def repeat(times: int) -> None:
        for _ in range(times):
            call()

    return repeat


def measure(rounds: int) -> dict[str, Row]:
    """Every library's row."""
    from canned_responses import canned_server
    from gateleg.store.transports.http import HttpOptions, WireTransport
    from layers import LAYERS, Calls
    from peers import ours, running
    from scene import scenes

    rows: dict[str, dict[str, Runner]] = {layer.name: {} for layer in LAYERS}

    def whole(calls: Calls, row: dict[str, Runner], kind: str, clock: Callable[[], float], prepare: Callable[[], object] = bool) -> None:
        prepare()
        assert len(calls.repeat(calls.query, 1)) == 100
        row[f"put, {kind}"] = Runner(lambda times: calls.repeat(calls.put, times), clock, 0.05, prepare)
        row[f"query of 100, {kind}"] = Runner(lambda times: calls.repeat(calls.query, times), clock, 0.1, prepare)

    with ExitStack() as stack:
        live = stack.enter_context(running(ours("relaxed")))
        transport = WireTransport(HttpOptions(endpoint=live, region="us-east-1"))
        stack.callback(transport.close)
        transport.call("CreateTable", scenes.definition(""))
        for layer in LAYERS:
            row, codec = rows[layer.name], layer.codec()
            items = scenes_of(codec.encode())
            page = orjson.dumps({"Items": items, "Count": 100, "ScannedCount": 100})
            row["encode"] = Runner(looped(codec.encode), time.process_time, 0.02)
            row["decode"] = Runner(looped(codec.decode), time.process_time, 0.02)
            canned = None if layer.open else stack.enter_context(canned_server(page))
            whole(layer.calls(canned, page), row, "stubbed", time.process_time)
            # Not every library reads what the others have written.
            whole(layer.calls(live, page), row, "live", time.perf_counter, partial(write_all, transport, items))
        for column in COLUMNS:
            CONSOLE.print(f"measuring {column}", style="dim")
            race([row[column] for row in rows.values()], rounds)
    return {name: {column: runner.best for column, runner in row.items()} for name, row in rows.items()}


def write_all(transport: Any, items: list[dict[str, Any]]) -> None:
    """Put a hundred items into the table."""
    from scene import TABLE

    for start in range(0, len(items), 25):
        puts = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
        transport.call("BatchWriteItem", {"RequestItems": {TABLE: puts}})


def scenes_of(scene: dict[str, Any]) -> list[dict[str, Any]]:
    """A hundred scenes as a library writes one: times and numbers differ between them, and not every library reads the others'."""
    return [scene | {"SK": {"S": f"SCENE#{number:03d}"}} for number in range(100)]


def embedded(rounds: int) -> tuple[float, float]:
    """A get of the engine itself, and a get of an entity through the embedded store."""
    from gateleg.engine import Engine
    from gateleg.model import spec_of
    from gateleg.store import Store
    from gateleg.store.transports.embedded import EmbeddedTransport
    from scene import TABLE, VALUES, Scene, scenes

    with Engine(":memory:") as engine:
        store = Store(EmbeddedTransport(engine))
        store.create_tables(scenes)
        scene = store.put(Scene(**VALUES))
        key = spec_of(Scene).ref(scene).key
        request = {"TableName": TABLE, "Key": key}
        own = Runner(looped(lambda: engine.call("GetItem", request)), time.process_time, 0.05)
        typed = Runner(looped(lambda: store.get(Scene, project_id=scene.project_id, sequence=scene.sequence)), time.process_time, 0.05)
        race([own, typed], rounds)
    return own.best, typed.best


def show(rows: dict[str, Row]) -> None:
    """The table of all figures."""
    table = Table("microseconds", *COLUMNS)
    ours = rows["gateleg"]
    for name, row in rows.items():
        table.add_row(name, *(f"{row[column]:,.1f} [dim]{row[column] / ours[column]:5.1f}x" for column in COLUMNS))
    CONSOLE.print(table)


def show_goals(rows: dict[str, Row], gets: tuple[float, float]) -> None:
    """What was wanted, and what came of it."""
    ours = rows["gateleg"]
    goals = [
        (f"{column} at least {times}x as fast as {peer}", rows[peer][column] / ours[column], times)
        for column, times, peers in (
            ("encode", 5, ("PynamoDB", "dyntastic")),
            ("decode", 5, ("PynamoDB", "dyntastic")),
            ("put, stubbed", 20, ("PynamoDB",)),
            ("query of 100, stubbed", 10, ("PynamoDB",)),
        )
        for peer in peers
    ]
    goals += [(f"{column} faster than pydynox", rows["pydynox"][column] / ours[column], 1) for column in COLUMNS]
    table = Table("goal", "measured", "")
    for text, ratio, wanted in goals:
        table.add_row(text, f"{ratio:.1f}x", "met" if ratio >= wanted else "[bold]missed")
    own, typed = gets
    share = typed / own
    text = f"embedded get of an entity ({typed:.1f}) under 2x of the engine's own get ({own:.1f})"
    table.add_row(text, f"{share:.2f}x", "met" if share < 2 else "[bold]missed")
    CONSOLE.print(table)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    arguments = parser.parse_args()
    enter_environment()
    # For dyntastic, which takes credentials from nowhere else.
    os.environ |= {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
    rounds = 5 if arguments.quick else 40
    rows = measure(rounds)
    show(rows)
    show_goals(rows, embedded(rounds))


if __name__ == "__main__":
    main()
