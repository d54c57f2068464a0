"""The job queue beside the others of Python, in one run on one machine.

    python bench/jobs.py [--quick] [--big] [queues | units | finished]

queues: jobs that do nothing but note when they were started. `submit` and `submit many` are microseconds for a job, one call for each or
one for all. `jobs/s` is how fast 1, 4 and 16 workers empty a full queue, and `waits` the milliseconds from the submission of a job to its
start while they have nothing else to do (the median). All take turns in three rounds, of which the best figures count. What a worker is
differs: threads in huey, processes in Celery, tasks of one event loop in procrastinate; gateleg is measured as tasks of one process, as
tasks of two, and as one process for each worker. Durability is what each has by default: huey and PostgreSQL sync each commit, Redis syncs
nothing, gateleg does either. gateleg and procrastinate write down that a job has ended; huey and Celery do so for jobs whose result is
kept, and are measured both ways.

units: the requests and the request units that DynamoDB would count for one job, from its submission to its end.
finished: claiming and completing a job in an empty table, and in one with many finished jobs (--big: a million).
"""

import argparse
import itertools
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from queues.audit import Starts, lines
from queues.servers import Missing, postgres, redis

CONSOLE = Console(width=150)
HERE = Path(__file__).parent
HOME = HERE.parent / ".bench"
PYTHON = HOME / "queues/bin/python"
LIBRARIES = ["procrastinate", "psycopg[binary,pool]", "celery", "redis", "huey"]
WORKERS = (1, 4, 16)


def enter_environment() -> None:
    """Go on in an environment that has the other queues; it is made when it is not there."""
    if Path(sys.prefix) == HOME / "queues":
        return
    if not PYTHON.exists():
        HOME.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(HOME / "queues")], check=True)
        subprocess.run([str(PYTHON), "-m", "pip", "install", "--quiet", "-e", f"{HOME.parent}[endpoint,cli,aws]", *LIBRARIES], check=True)
    os.execv(PYTHON, [str(PYTHON), *sys.argv])


@dataclass(frozen=True)
class System:
    """A queue as it is measured. `server` is what it needs to run."""

    name: str
    module: str
    server: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    bulk: bool = True


OURS = [
    System(f"gateleg, {durability}, {shape}", "on_gateleg", settings={"BENCH_DURABILITY": durability, "BENCH_PROCESSES": processes})
    for durability in ("relaxed", "full")
    for shape, processes in (("1 process", "1"), ("2 processes", "2"), ("a process each", "1000"))
]
_KEPT = {"BENCH_RESULTS": "kept"}
PEERS = [
    System("procrastinate, PostgreSQL", "on_procrastinate", server="postgres"),
    System("Celery, Redis", "on_celery", server="redis", bulk=False),
    System("Celery, Redis, results kept", "on_celery", server="redis", settings=_KEPT, bulk=False),
    System("huey, SQLite", "on_huey", bulk=False),
    System("huey, SQLite, results kept", "on_huey", settings=_KEPT, bulk=False),
]


@dataclass
class Row:
    """What was measured of a system."""

    submit: float = math.inf
    submit_many: float | None = None
    rates: dict[int, float] = field(default_factory=dict)
    waits: dict[int, float] = field(default_factory=dict)
    #: of gateleg: the percentage of claims that were lost to others, and the milliseconds of a claim
    lost: dict[int, float] = field(default_factory=dict)
    claims: dict[int, float] = field(default_factory=dict)


class Field:
    """Where one measurement takes place: an empty folder, an audit, and the processes of the system."""

    def __init__(self, system: System, place: Path, servers: dict[str, str]) -> None:
        self.system = system
        self.audit = place / "audit"
        self.place = place
        self.environment = {
            **os.environ,
            **system.settings,
            **servers,
            "BENCH_PLACE": str(place),
            "BENCH_AUDIT": str(self.audit),
            "PYTHONPATH": str(HERE),
            "PYTHONWARNINGS": "ignore",
        }

    def _command(self, verb: str, number: int) -> list[str]:
        return [sys.executable, "-m", "queues", self.system.module, verb, str(number)]

    def run(self, verb: str, number: int) -> float:
        """Run a verb to its end; what it printed, if anything."""
        done = subprocess.run(
            self._command(verb, number), env=self.environment, cwd=self.place, capture_output=True, text=True, check=False, timeout=600
        )
        if done.returncode:
            raise Missing((done.stderr.strip().splitlines() or [f"{verb} ended with {done.returncode}"])[-1])
        return float(done.stdout.split()[-1]) if done.stdout.split() else 0.0

    @contextmanager
    def workers(self, number: int) -> Iterator["subprocess.Popen[bytes]"]:
        """Workers that run meanwhile."""
        process = subprocess.Popen(
            self._command("work", number), env=self.environment, cwd=self.place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def await_starts(self, number: int, process: "subprocess.Popen[bytes]") -> None:
        """Wait until so many jobs have been started."""
        deadline = time.monotonic() + 300
        while lines(self.audit) < number:
            if process.poll() is not None or time.monotonic() > deadline:
                raise Missing(f"the workers started {lines(self.audit)} of {number} jobs")
            time.sleep(0.1)


def measure(system: System, row: Row, number: int, jobs: int, probes: int, servers: dict[str, str]) -> None:
    """The figures of one system with so many workers; of several rounds, the best."""
    with tempfile.TemporaryDirectory() as place:
        ground = Field(system, Path(place), servers)
        ground.run("clear", 0)
        row.submit = min(row.submit, ground.run("submit", jobs))
        with ground.workers(number) as process:
            ground.await_starts(jobs, process)
        row.rates[number] = max(row.rates.get(number, 0.0), Starts.read(ground.audit).rate())
        if system.module == "on_gateleg":
            row.lost[number] = lost_claims(ground)
            row.claims[number] = median(map(float, Path(f"{ground.audit}.claims").read_text().split()))
        os.truncate(ground.audit, 0)
        with ground.workers(number) as process:
            # The first start tells that the workers are there.
            ground.run("submit", 2)
            ground.await_starts(2, process)
            os.truncate(ground.audit, 0)
            ground.run("trickle", probes)
        row.waits[number] = min(row.waits.get(number, math.inf), Starts.read(ground.audit).wait())
    if system.bulk:
        with tempfile.TemporaryDirectory() as place:
            many = Field(system, Path(place), servers).run("submit_many", jobs)
            row.submit_many = many if row.submit_many is None else min(row.submit_many, many)


def lost_claims(ground: Field) -> float:
    """The percentage of claims that gateleg's workers lost to each other."""
    from gateleg.jobs import Jobs, Queue
    from gateleg.store import Store

    with Store.connect(f"embedded:{ground.place}/gateleg.db") as store:
        work = Queue(store, Jobs()).stats("default", minutes=60).work
    return 100 * work.lost_claims / max(1, work.claimed + work.lost_claims)


def queues(jobs: int, probes: int, rounds: int, only: str) -> None:
    """Every system's row. They take turns, so that whatever else the machine has to do meets all of them."""
    systems = [one for one in [*OURS, *PEERS] if only in one.name]
    rows: dict[str, Row] = {system.name: Row() for system in systems}
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        servers: dict[str, str] = {}
        for name, start in (("postgres", postgres), ("redis", redis)):
            try:
                servers[f"BENCH_{name.upper()}"] = stack.enter_context(start())
            except Missing as error:
                missing |= {system.name: str(error) for system in systems if system.server == name}
        for turn, number in itertools.product(range(rounds), WORKERS):
            for system in systems:
                if system.name in missing:
                    continue
                CONSOLE.print(f"round {turn + 1}, {number} workers: {system.name}", style="dim")
                try:
                    measure(system, rows[system.name], number, jobs, probes, servers)
                except (Missing, OSError, subprocess.TimeoutExpired) as error:
                    missing[system.name] = str(error)
    show(rows, missing, jobs)
    show_goals({name: row for name, row in rows.items() if name not in missing})


def show(rows: dict[str, Row], missing: dict[str, str], jobs: int) -> None:
    """The table of all figures."""
    table = Table(title=f"{jobs:,} jobs that do nothing", title_justify="left")
    columns = [
        "submit, µs",
        "submit many, µs",
        *(f"jobs/s at {number}" for number in WORKERS),
        *(f"waits at {number}, ms" for number in WORKERS),
    ]
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    for name, row in rows.items():
        if name in missing:
            table.add_row(name, f"left out: {missing[name]}")
            continue
        many = "-" if row.submit_many is None else f"{row.submit_many:,.0f}"
        rates = [f"{row.rates[number]:,.0f}" for number in WORKERS]
        table.add_row(name, f"{row.submit:,.0f}", many, *rates, *(f"{row.waits[number]:,.1f}" for number in WORKERS))
    CONSOLE.print(table)
    claims = Table(title="gateleg's claims", title_justify="left")
    claims.add_column("")
    for number in WORKERS:
        claims.add_column(f"lost at {number}, %", justify="right")
        claims.add_column(f"one claim at {number}, ms", justify="right")
    for name, row in rows.items():
        if row.lost and name not in missing:
            claims.add_row(name, *(text for number in WORKERS for text in (f"{row.lost[number]:.2f}", f"{row.claims[number]:.2f}")))
    CONSOLE.print(claims)


def show_goals(rows: dict[str, Row]) -> None:
    """What was wanted, and what came of it: the best number of workers of each, and the best shape of ours."""
    table = Table("goal", "ours", "theirs", "ratio", "")
    for durability, peers in (("relaxed", [peer.name for peer in PEERS]), ("full", [PEERS[0].name])):
        ours = [row for name, row in rows.items() if name.startswith(f"gateleg, {durability}")]
        for peer in peers:
            if peer not in rows or not ours:
                continue
            mine, theirs = max(max(row.rates.values()) for row in ours), max(rows[peer].rates.values())
            add_goal(table, f"{durability}: more jobs a second than {peer}", mine, theirs, mine / theirs)
            own, other = min(row.submit for row in ours), rows[peer].submit
            add_goal(table, f"{durability}: faster submission than {peer}", own, other, other / own)
    for name, row in rows.items():
        if row.lost:
            share = row.lost[16]
            table.add_row(f"{name}: lost claims at 16 workers under 5 %", f"{share:.2f}", "", "", "met" if share < 5 else "[bold]missed")
    CONSOLE.print(table)


def add_goal(table: Table, text: str, ours: float, theirs: float, ratio: float) -> None:
    """One goal, with both figures."""
    table.add_row(text, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ratio:.2f}x", "met" if ratio > 1 else "[bold]missed")


def main() -> None:
    """Run what was asked for, or everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["queues", "units", "finished", []])
    parser.add_argument("--quick", action="store_true", help="a quarter of the jobs")
    parser.add_argument("--big", action="store_true", help="a million finished jobs, which takes minutes to write")
    parser.add_argument("--only", default="", help="leave out queues whose names do not have this text")
    given = parser.parse_args()
    enter_environment()
    from queues.table import finished, units

    what = given.what or ["units", "finished", "queues"]
    if "units" in what:
        units(CONSOLE)
    if "finished" in what:
        finished(CONSOLE, 1_000_000 if given.big else 10_000 if given.quick else 100_000)
    if "queues" in what:
        queues(*((500, 15, 1) if given.quick else (2000, 40, 3)), given.only)


if __name__ == "__main__":
    main()
