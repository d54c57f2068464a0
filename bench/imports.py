"""What it costs to import Gateleg's packages, beside boto3.

    python bench/imports.py [--runs 15] [--json]

Each import is a process of its own, without the start of the interpreter; bytecode is compiled before. Milliseconds of processor time, the
least of all runs, in which the packages take turns; `x` is how many times boto3's import.
"""

import argparse
import json
import os
import resource
import subprocess
import sys

PACKAGES = ("boto3", "pydantic", "gateleg", "gateleg.model", "gateleg.store", "gateleg.jobs")


def cpu_ms(program: str) -> float:
    """The processor time of a Python process that runs a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    cached = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", program], check=True, env=cached)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def measure(runs: int) -> dict[str, float]:
    """The milliseconds of each import."""
    programs = {"": "pass"} | {package: f"import {package}" for package in PACKAGES}
    for program in programs.values():
        cpu_ms(program)
    turns = [{package: cpu_ms(program) for package, program in programs.items()} for _ in range(runs)]
    best = {package: min(turn[package] for turn in turns) for package in programs}
    return {package: best[package] - best[""] for package in PACKAGES}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print the milliseconds as JSON")
    options = parser.parse_args()
    figures = measure(options.runs)
    if options.json:
        print(json.dumps(figures))
        return
    for package, milliseconds in figures.items():
        print(f"{package:16}{milliseconds:8.1f} ms{milliseconds / figures['boto3']:8.2f} x")


if __name__ == "__main__":
    main()
