"""What each fast path gains: verbs, claims and completions with one fast path after another turned off by GATELEG_PLAIN.

    python bench/ablation.py [--rounds 3]

The verbs are those of `bench/verbs.py`, claims and completions those of a worker (`bench/queues/claims.py`). Microseconds of processor
time, the best of all rounds, and in brackets the Python functions that one call enters. A fast path is turned off in a
process of its own; all take turns in every round, so that a machine that is slow for a while is slow for all. Under each figure that differs by more
than a twentieth from the one with nothing turned off stands what that is.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import orjson
from rich.console import Console
from rich.table import Table as Figures

from gateleg.plain import FAST_PATHS, VARIABLE

HERE = Path(__file__).parent
VERBS = ("get, rich", "create, rich", "patch, rich", "query of 100, rich")
JOBS = ("claim", "complete")
PROGRAMS = ([str(HERE / "verbs.py"), "--quick", "--json"], ["-m", "queues.claims", "--rounds", "10"])
#: What differs by less is the noise of a machine that others use too.
_NOISE = 0.05
Row = dict[str, tuple[float, int]]


def measured(value: str) -> Row:
    """The figures of everything with some fast paths off."""
    figures: Row = {}
    for program in PROGRAMS:
        environment = {**os.environ, VARIABLE: value, "PYTHONPATH": str(HERE)}
        run = subprocess.run([sys.executable, *program], env=environment, capture_output=True, check=True)
        for name, figure in orjson.loads(run.stdout).items():
            taken, calls = figure if isinstance(figure, list) else (figure, 0)
            figures[name] = (taken, calls)
    return figures


def better(one: Row, other: Row) -> Row:
    """Of two rows, the best of each figure."""
    return {name: min(one.get(name, figure), figure) for name, figure in other.items()}


def shown(figure: tuple[float, int], whole: tuple[float, int]) -> str:
    """A figure, with what it gains where that is more than noise."""
    taken, calls = figure
    gain = taken / whole[0] - 1
    entered = f" ({calls})" if calls else ""
    return f"{taken:,.1f}{entered}" + (f"\n{gain:+.0%}" if abs(gain) > _NOISE else "")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    values = {"nothing": "0", **{name: name for name in FAST_PATHS}, "everything": "1"}
    rows: dict[str, Row] = {}
    for _ in range(rounds):
        for name, value in values.items():
            rows[name] = better(rows.get(name, {}), measured(value))
    table = Figures("turned off", *VERBS, *JOBS)
    for name, row in rows.items():
        table.add_row(name, *(shown(row[column], rows["nothing"][column]) for column in (*VERBS, *JOBS)))
    out = Console(width=150)
    out.print(table)
    for name, what in FAST_PATHS.items():
        out.print(f"{name}: {what}", style="dim")


if __name__ == "__main__":
    main()
