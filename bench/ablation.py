"""What each short way gains: the verbs of `bench/verbs.py` with one short way after another turned off by GATELEG_PLAIN.

    python bench/ablation.py

Microseconds, the best of a few turns, and in brackets the Python functions that one call enters. Claims and completions of jobs are not
among them: `bench/jobs.py` measures those, with the same variable.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table as Figures

from gateleg.plain import SHORT_WAYS, VARIABLE

VERBS = ("get, rich", "create, rich", "patch, rich", "query of 100, rich")


def measured(value: str) -> dict[str, Any]:
    """The figures of all verbs with some short ways off."""
    command = [sys.executable, str(Path(__file__).with_name("verbs.py")), "--quick", "--json"]
    run = subprocess.run(command, env={**os.environ, VARIABLE: value}, capture_output=True, check=True)
    figures: dict[str, Any] = orjson.loads(run.stdout)
    return figures


def main() -> None:
    """Measure and print."""
    table = Figures("turned off", *VERBS)
    for value in ("0", *SHORT_WAYS, "1"):
        found = measured(value)
        name = {"0": "nothing", "1": "everything"}.get(value, value)
        table.add_row(name, *(f"{found[verb][0]:,.1f} ({found[verb][1]})" for verb in VERBS))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
