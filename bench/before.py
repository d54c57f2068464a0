"""This edition beside an earlier one: the verbs of the store, the codec, the engine and the queue.

    python bench/before.py [COMMIT] [--rounds 5] [--markdown]

The earlier sources are taken from git into a folder of their own; the same programs (`bench/verbs.py`, `bench/rows.py`) measure both, in
processes that take turns, so that a machine that is slow for a while is slow for both. Microseconds of processor time, the best of all
rounds; the last column is how much less (or more) time this edition takes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import orjson
from rich.console import Console
from rich.table import Table as Figures

HERE = Path(__file__).parent
#: The last commit before names, files and fast paths were put in order.
BEFORE = "6f719678"
PROGRAMS = (["verbs.py", "--quick", "--json"], ["rows.py"])
Row = dict[str, float]


def sources(commit: str, folder: Path) -> Path:
    """The sources of a commit, in a folder."""
    archive = subprocess.run(["git", "archive", commit, "src"], cwd=HERE.parent, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder / "src"


def measured(source: Path) -> Row:
    """The figures of one edition."""
    found: Row = {}
    for name, *options in PROGRAMS:
        environment = {**os.environ, "PYTHONPATH": str(source)}
        run = subprocess.run([sys.executable, str(HERE / name), *options], env=environment, stdout=subprocess.PIPE, check=True)
        for row, figure in orjson.loads(run.stdout).items():
            # The verbs have their number of calls beside the time.
            found[row] = figure[0] if isinstance(figure, list) else figure
    return found


def compare(commit: str, rounds: int) -> list[tuple[str, float, float]]:
    """Every row with its best figure before and now."""
    before: Row = {}
    now: Row = {}
    with tempfile.TemporaryDirectory() as folder:
        earlier = sources(commit, Path(folder))
        for _ in range(rounds):
            for best, source in ((before, earlier), (now, HERE.parent / "src")):
                for row, taken in measured(source).items():
                    best[row] = min(best.get(row, taken), taken)
    return [(row, before[row], now[row]) for row in now]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", default=BEFORE)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--markdown", action="store_true", help="print the table for a page of the docs")
    arguments = parser.parse_args()
    rows = [
        (row, f"{old:,.1f}", f"{new:,.1f}", f"{(new / old - 1) * 100:+.0f} %")
        for row, old, new in compare(arguments.commit, arguments.rounds)
    ]
    titles = ("row", "before, µs", "now, µs", "change")
    if arguments.markdown:
        print("\n".join("| " + " | ".join(cells) + " |" for cells in (titles, ("---",) * len(titles), *rows)))
        return
    figures = Figures(*titles)
    for row in rows:
        figures.add_row(*row)
    Console(width=100).print(figures)


if __name__ == "__main__":
    main()
