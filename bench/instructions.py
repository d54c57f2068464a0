"""Machine instructions of the store's verbs, which do not depend on what else the machine does: this edition beside an earlier one.

    python bench/instructions.py [COMMIT] [--rows "get, rich;put, rich"]

Needs valgrind. Both editions run the rows of `bench/verbs.py` under callgrind, which counts only while a row runs: 100 calls after as many
that are not counted. Thousands of instructions of one call; the median of rows without calls is subtracted, because callgrind is
switched from outside.
"""

import argparse
import asyncio
import gc
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any

from rich.console import Console
from rich.table import Table as Figures

from before import BEFORE, HERE, sources

#: Calls of a row that are counted, if it has inputs for twice as many.
CALLS = 100
NOTHING = "nothing"
_TRIGGER, _TOTALS = re.compile(r"desc: Trigger: dump (.*)"), re.compile(r"totals: (\d+)")
Row = tuple[str, Callable[[Any], Any], Callable[[], list[Any]], bool]


def control(*options: str) -> None:
    """Tell the callgrind that this process runs in."""
    # Not by `subprocess`, whose own instructions would be counted from whatever moment callgrind is switched on.
    command = ["callgrind_control", *options, str(os.getpid())]
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    _, status = os.waitpid(os.posix_spawnp(command[0], command, os.environ, file_actions=quiet), 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} failed")


def all_rows() -> list[Row]:
    """The rows: name, call, the inputs of the calls, and whether it is awaited."""
    from gateleg.model import spec_of
    from verbs import Note, Scene, World, note, scene

    world = World()
    cases = world.cases("plain", note, Note, lambda one: {"owner": one.owner, "number": one.number})
    cases += world.cases("rich", scene, Scene, lambda one: {"film": one.film, "number": one.number})
    rows: list[Row] = []
    for case in cases:
        rows.append((case.name, case.call, case.prepare, case.awaited))
        if case.own is not None:
            rows.append((f"engine: {case.name}", lambda one: world.engine.call(*one), partial(case.own, None), False))
    spec = spec_of(Scene)
    rows.append(("encode, rich", spec.encode, lambda: [scene(number) for number in range(2 * CALLS)], False))
    rows.append(("decode, rich", spec.decode, lambda: [spec.encode(scene(number)) for number in range(2 * CALLS)], False))
    return rows


def count(rows: list[Row], loop: asyncio.AbstractEventLoop) -> None:
    """Run the rows, and have callgrind write what it counted in each."""
    gc.disable()

    def run(call: Callable[[Any], Any], inputs: list[Any], awaited: bool) -> None:
        async def every() -> None:
            for one in inputs:
                await call(one)

        if awaited:
            loop.run_until_complete(every())
        else:
            for one in inputs:
                call(one)

    nothing: list[Row] = [(f"{NOTHING} {number}", lambda one: None, lambda: [None] * (2 * CALLS), False) for number in range(5)]
    for name, call, prepare, awaited in (*nothing, *rows):
        inputs = prepare()
        number = min(CALLS, len(inputs) // 2)
        run(call, inputs[:number], awaited)
        control("-z")
        control("-i", "on")
        run(call, inputs[number : 2 * number], awaited)
        control("-i", "off")
        control(f"--dump={name.replace(' ', '_')}/{number}")


def counted(source: Path, program: list[str], variables: Mapping[str, str] = MappingProxyType({})) -> dict[str, float]:
    """Thousands of instructions of one call, by row, of a program that calls `count`; it gets these environment variables."""
    with tempfile.TemporaryDirectory() as folder:
        tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        environment = {**os.environ, "PYTHONPATH": f"{source}:{HERE}", "PYTHONHASHSEED": "0", **variables}
        command = [*tool, sys.executable, *program]
        subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True)
        found: dict[str, tuple[int, int]] = {}
        for file in sorted(Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:])):
            text = file.read_text()
            trigger, totals = _TRIGGER.search(text), _TOTALS.search(text)
            if trigger is not None and totals is not None:
                name, _, number = trigger[1].strip().replace("_", " ").rpartition("/")
                found[name] = int(totals[1]), int(number)
    nothing = median(total for name, (total, _) in found.items() if name.startswith(NOTHING))
    return {name: (total - nothing) / number / 1000 for name, (total, number) in found.items() if not name.startswith(NOTHING)}


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", default=BEFORE)
    parser.add_argument("--rows", default="", help="only these rows, separated by semicolons")
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.count:
        wanted = [row for row in arguments.rows.split(";") if row]
        count([row for row in all_rows() if not wanted or row[0] in wanted], asyncio.new_event_loop())
        return
    program = [__file__, "--count", "--rows", arguments.rows]
    with tempfile.TemporaryDirectory() as folder:
        before = counted(sources(arguments.commit, Path(folder)), program)
    figures = Figures("row", "before", "now", "change")
    for row, now in counted(HERE.parent / "src", program).items():
        figures.add_row(row, f"{before[row]:,.1f}", f"{now:,.1f}", f"{(now / before[row] - 1) * 100:+.1f} %")
    Console(width=100).print(figures)


if __name__ == "__main__":
    main()
