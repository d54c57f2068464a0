"""Workers that are killed, stopped and cut off at random: every job is completed once, and its log is whole."""

import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from uuid import UUID

import pytest

from gateleg.jobs.handlers import Jobs
from gateleg.jobs.queue import Queue
from gateleg.jobs.submit.submission import Submission
from gateleg.jobs.tables.job import KEPT_ATTEMPTS, Job, JobStatus
from gateleg.store import Store
from tests.jobs.chaos_worker import LEASE, LINES, jobs, work

pytestmark = pytest.mark.crash

#: How much to do: more jobs make a longer, harder run, and more rounds draw other fates.
JOBS = int(os.environ.get("GATELEG_CRASH_JOBS", "600"))
ROUNDS = int(os.environ.get("GATELEG_CRASH_ROUNDS", "2"))
#: Seconds without a completion after which jobs are stuck, also on a machine that has much else to do.
PATIENCE = 300
WORKERS = 4
FAULT_RATE = 0.03


class Crew:
    """Worker processes that things happen to."""

    def __init__(self, data: Path, audit: Path, seed: int) -> None:
        self.data, self.audit, self.complaints = data, audit, audit.with_name("complaints")
        self.chance = random.Random(seed)
        self.numbers = itertools.count()
        self.counts: Counter[str] = Counter()
        self.workers: list[subprocess.Popen[bytes]] = []
        self.leaving: list[subprocess.Popen[bytes]] = []
        self.stopped: dict[int, float] = {}

    def start(self, rate: float = FAULT_RATE) -> None:
        command = [sys.executable, "-m", "tests.jobs.chaos_worker", str(self.data), str(self.audit), str(next(self.numbers)), str(rate)]
        with self.complaints.open("ab") as complaints:
            self.workers.append(subprocess.Popen(command, stderr=complaints))
        self.counts["started"] += 1

    def mischief(self) -> None:
        """Kill one, stop one for longer than its lease, or let one go on."""
        for worker in [one for one in self.workers if self.stopped.get(one.pid, float("inf")) < time.monotonic()]:
            del self.stopped[worker.pid]
            worker.send_signal(signal.SIGCONT)
        assert all(worker.poll() is None for worker in self.workers), f"a worker died by itself: {self.complaints.read_text()[-2000:]}"
        ready = set(self.audit.read_text().splitlines()) if self.audit.exists() else set()
        running = [worker for worker in self.workers if worker.pid not in self.stopped and f"ready {worker.pid}" in ready]
        draw = self.chance.random()
        if draw < 0.35 and running:
            victim = self.chance.choice(running)
            victim.kill()
            victim.wait()
            self.workers.remove(victim)
            self.counts["killed"] += 1
            self.start()
        elif draw < 0.5 and len(running) > 1:
            victim = self.chance.choice(running)
            victim.send_signal(signal.SIGSTOP)
            self.stopped[victim.pid] = time.monotonic() + LEASE * (1.2 + self.chance.random())
            self.counts["stopped for longer than the lease"] += 1
        elif draw < 0.55 and running:
            victim = self.chance.choice(running)
            victim.terminate()
            self.workers.remove(victim)
            # Not waited for here: it may need the store, which a worker that is stopped may hold up.
            self.leaving.append(victim)
            self.counts["asked to stop"] += 1
            self.start()

    def wait_for_news(self) -> None:
        """Wait until an attempt has ended, or for some seconds: on a busy machine workers must live for longer to get anything done."""
        before, until = self._ends(), time.monotonic() + 5
        time.sleep(0.1 + self.chance.random() * 0.3)
        while self._ends() == before and time.monotonic() < until:
            time.sleep(0.1)

    def _ends(self) -> int:
        return sum(not line.startswith("ready") for line in self.audit.read_text().splitlines()) if self.audit.exists() else 0

    def end(self) -> None:
        for worker in self.workers:
            with contextlib.suppress(ProcessLookupError):
                worker.send_signal(signal.SIGCONT)
                worker.terminate()
        for worker in [*self.workers, *self.leaving]:
            worker.wait()


@pytest.mark.parametrize("seed", range(1, ROUNDS + 1))
def test_every_job_is_completed_once_whatever_happens_to_workers(tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    data, audit = tmp_path / "data", tmp_path / "audit"
    registry = Jobs()
    registry.handler("work")(work)
    with Store.connect(f"embedded:{data}") as store:
        queue = Queue(store, registry)
        queue.ensure_tables()
        names = [one.job.job_id for one in queue.submit_many([Submission("work", max_retries=200) for _ in range(JOBS)])]
        crew = Crew(data, audit, seed)
        for _ in range(WORKERS):
            crew.start()
        try:
            _until_completed(store, crew, mischief=True)
        finally:
            crew.end()
        _check(queue, names, audit.read_text().splitlines(), crew.counts)
    told = ", ".join(f"{number} {what}" for what, number in sorted(crew.counts.items()))
    with capsys.disabled():
        print(f"\n  jobs: {len(names)} completed once each: {told}")


def _until_completed(store: Store, crew: Crew, mischief: bool) -> None:
    """Let things happen until every job is completed. What is left when nothing was completed for minutes is stuck."""
    completed, since = 0, time.monotonic()
    while completed < JOBS:
        current = store.count(Job.in_status(status=JobStatus.COMPLETED))
        if current > completed:
            completed, since = current, time.monotonic()
        assert time.monotonic() < since + PATIENCE, "jobs are stuck"
        if mischief:
            crew.mischief()
        crew.wait_for_news()


def _check(queue: Queue, names: list[UUID], audit: list[str], counts: Counter[str]) -> None:
    believed = Counter(line.split()[0] for line in audit if line.endswith(" completed"))
    counts["refused to zombies"] = sum(line.endswith(" lost") for line in audit)
    for name in names:
        job = queue.get(name)
        outcomes = Counter(attempt.outcome for attempt in job.attempts)
        assert job.status == JobStatus.COMPLETED
        assert outcomes["completed"] == 1
        assert believed[str(name)] <= 1
        assert job.attempts[-1].outcome == "completed"
        assert [attempt.number for attempt in job.attempts] == list(range(1, job.attempt + 1))[-KEPT_ATTEMPTS:]
        if job.attempt <= KEPT_ATTEMPTS:
            assert (job.retry_count, job.losses or 0) == (outcomes["retried"], outcomes["lost"])
        _check_log(queue, job)
        counts.update({f"attempts {outcome}": number for outcome, number in outcomes.items()})
    for kind in ("ready", "due", "leased"):
        assert queue.store.count(getattr(Job, kind)(queue="default")) == 0


def _check_log(queue: Queue, job: Job) -> None:
    """The lines of every attempt are in order and without gaps, and those of the last are all there."""
    lines = [line.message.split() for line in queue.log(job.job_id) if line.level == "INFO"]
    by_attempt = {attempt: [int(number) for _, number in group] for attempt, group in itertools.groupby(lines, lambda line: line[0])}
    assert list(by_attempt) == sorted(by_attempt, key=int)
    for numbers in by_attempt.values():
        assert numbers == list(range(len(numbers)))
    assert len(by_attempt[str(job.attempt)]) == LINES


def test_sound_jobs_beside_jobs_that_end_their_worker_are_all_completed(tmp_path: Path) -> None:
    data, audit = tmp_path / "data", tmp_path / "audit"
    with Store.connect(f"embedded:{data}") as store:
        queue = Queue(store, jobs)
        queue.ensure_tables()
        poison = [queue.submit(Submission("ends-its-process", max_retries=1)).job.job_id for _ in range(2)]
        sound = [queue.submit(Submission("takes-long")).job.job_id for _ in range(3)]
        crew = Crew(data, audit, seed=1)
        crew.start(rate=0.0)
        try:
            until = time.monotonic() + PATIENCE
            while not all(queue.get(name).finished for name in [*poison, *sound]):
                assert time.monotonic() < until, "jobs are stuck"
                if crew.workers[0].poll() is not None:
                    crew.workers.clear()
                    crew.start(rate=0.0)
                time.sleep(0.1)
        finally:
            crew.end()
        assert [queue.get(name).status for name in sound] == [JobStatus.COMPLETED] * 3
        assert [queue.get(name).status for name in poison] == [JobStatus.FAILED] * 2
        assert [error.kind for name in poison if (error := queue.get(name).attempts[-1].error)] == ["process-died"] * 2
