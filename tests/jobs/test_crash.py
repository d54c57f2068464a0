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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from gateleg.jobs.handlers import Jobs
from gateleg.jobs.queue import Queue
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import KEPT_ATTEMPTS, Job, JobStatus
from gateleg.jobs.tables.records import LeaderLease, Schedule
from gateleg.store import Store
from tests.jobs.chaos_worker import LEASE, LINES, jobs, work
from tests.jobs.foreign.seed_items import boto3_table, odd_item, put_odd, seed_claim, seed_completion
from tests.jobs.foreign.test_fuzz import check_nothing_is_hidden

pytestmark = pytest.mark.crash

#: How much to do: more jobs make a longer, harder run, and more rounds draw other fates.
JOBS = int(os.environ.get("GATELEG_CRASH_JOBS", "600"))
ROUNDS = int(os.environ.get("GATELEG_CRASH_ROUNDS", "2"))
#: Seconds without a completion after which jobs are stuck, also on a machine that has much else to do.
PATIENCE = 300
WORKERS = 4
SHORT_JOBS = 4000
FAULT_RATE = 0.03
#: How many times other programs put items into the table.
FOREIGN_ROUNDS = 30


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

    def start(self, rate: float = FAULT_RATE, *, offset: float = 0.0, lease: float = LEASE) -> str:
        """Start a worker whose clock is ahead by `offset` seconds; its id."""
        number = next(self.numbers)
        arguments = [self.data, self.audit, number, rate, offset, lease]
        command = [sys.executable, "-m", "tests.jobs.chaos_worker", *map(str, arguments)]
        with self.complaints.open("ab") as complaints:
            self.workers.append(subprocess.Popen(command, stderr=complaints))
        self.counts["started"] += 1
        return f"w{number}"

    def kill(self, victim: subprocess.Popen[bytes]) -> None:
        """End a worker by SIGKILL."""
        victim.kill()
        victim.wait()
        self.workers.remove(victim)
        self.counts["killed"] += 1

    def wait_until(self, happened: Callable[[], bool], what: str) -> None:
        """Wait for an event, as long as the workers live."""
        until = time.monotonic() + PATIENCE
        while not happened():
            assert all(worker.poll() is None for worker in self.workers), f"a worker died by itself: {self.complaints.read_text()[-2000:]}"
            assert time.monotonic() < until, f"in vain: {what}; {self.complaints.read_text()[-2000:]}"
            time.sleep(0.05)

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
            self.kill(self.chance.choice(running))
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


def test_short_jobs_that_were_claimed_together_are_completed_once_though_workers_are_killed(tmp_path: Path) -> None:
    data, audit = tmp_path / "data", tmp_path / "audit"
    with Store.connect(f"embedded:{data}") as store:
        queue = Queue(store, jobs)
        queue.ensure_tables()
        names = [one.job.job_id for one in queue.submit_many([Submission("at-once") for _ in range(SHORT_JOBS)])]
        crew = Crew(data, audit, seed=1)
        try:
            for _ in range(2):
                crew.start(rate=0.0)
            for part in range(1, 6):
                crew.wait_until(lambda part=part: crew._ends() > SHORT_JOBS * part // 8, "jobs end")  # type: ignore[misc]
                crew.kill(crew.workers[0])
                crew.start(rate=0.0)
            crew.wait_until(lambda: store.count(Job.in_status(status=JobStatus.COMPLETED)) == SHORT_JOBS, "all jobs are completed")
        finally:
            crew.end()
        ends = Counter(line.split()[0] for line in audit.read_text().splitlines() if line.endswith(" completed"))
        attempts = [[one.outcome for one in queue.get(name).attempts] for name in names]
    assert max(ends.values()) == 1
    assert {tuple(one) for one in attempts} <= {("completed",), ("lost", "completed"), ("released", "completed")}


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
    _check_indexes_are_empty(queue)


def _check_indexes_are_empty(queue: Queue) -> None:
    """No job is left that a worker would look for."""
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


#: Far more than `PATIENCE`, so that a case in which somebody waits for this clock cannot pass.
HOURS_AHEAD = 7200.0
SECONDS_APART = 60.0
#: For workers side by side: one that gets no processor for a whole lease does lose its jobs. Still far less than clocks are apart.
LONGER_LEASE = 5.0
DUTIES = ("watch:default", "schedules", "sweep")


@contextmanager
def _crewed(tmp_path: Path) -> Iterator[tuple[Queue, Crew]]:
    """A queue in a new store, whose clock is right, and a crew that nobody belongs to yet."""
    with Store.connect(f"embedded:{tmp_path / 'data'}") as store:
        queue = Queue(store, jobs)
        queue.ensure_tables()
        crew = Crew(tmp_path / "data", tmp_path / "audit", seed=1)
        try:
            yield queue, crew
        finally:
            crew.end()


def _holds_all_leader_leases(queue: Queue, worker_id: str) -> bool:
    found = [queue.store.find(LeaderLease, name=name) for name in DUTIES]
    return all(lease is not None and lease.holder == worker_id for lease in found)


def _is_run_by(queue: Queue, name: UUID, worker_id: str) -> bool:
    job = queue.get(name)
    return job.status == JobStatus.PROCESSING and job.worker_id == worker_id


def _follows(queue: Queue, offset: float) -> Schedule | None:
    """The schedule, if it was run lately and is due soon by a clock that is ahead by so many seconds."""
    (schedule,) = queue.schedules()
    now = datetime.now(UTC) + timedelta(seconds=offset)
    times = (schedule.last_run_at, schedule.next_run_at)
    return schedule if all(at is not None and abs(at - now) < timedelta(seconds=PATIENCE) for at in times) else None


def _is_completed(queue: Queue, name: UUID | None) -> bool:
    return name is not None and queue.get(name).status == JobStatus.COMPLETED


def _all_jobs(queue: Queue) -> list[Job]:
    return [job for status in JobStatus for job in queue.store.query(Job.in_status(status=status))]


def _check_completed_once(queue: Queue, found: list[Job], audit: list[str]) -> None:
    believed = Counter(line.split()[0] for line in audit if line.endswith(" completed"))
    for job in found:
        outcomes = [attempt.outcome for attempt in job.attempts]
        assert (job.status, outcomes.count("completed"), outcomes[-1]) == (JobStatus.COMPLETED, 1, "completed")
        assert believed[str(job.job_id)] <= 1
    _check_indexes_are_empty(queue)


@pytest.mark.parametrize("beside", [False, True], ids=["started after", "running beside"])
def test_a_worker_whose_clock_was_hours_ahead_leaves_nothing_behind_when_it_is_killed(
    tmp_path: Path, beside: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    lease = LONGER_LEASE if beside else LEASE
    with _crewed(tmp_path) as (queue, crew):
        file = tmp_path / "done"
        queue.schedule("often", Submission("at-once"), every=1)
        lost = queue.submit(Submission("waits-for-a-file", {"file": str(file)})).job.job_id
        ahead = crew.start(0.0, offset=HOURS_AHEAD, lease=lease)
        crew.wait_until(lambda: _is_run_by(queue, lost, ahead) and _holds_all_leader_leases(queue, ahead), "the first worker has all")
        crew.wait_until(lambda: _follows(queue, HOURS_AHEAD) is not None, "the schedule follows the clock that is ahead")
        put_off = queue.submit(Submission("fails-once")).job.job_id
        crew.wait_until(lambda: bool(queue.get(put_off).attempts), "the first worker has put a job off")
        if beside:
            successor = crew.start(0.0, lease=lease)
            crew.wait_until(lambda: successor in {one.worker_id for one in queue.every_worker()}, "the second worker is there")
        crew.kill(crew.workers[0])
        killed = time.monotonic()
        assert (queue.get(put_off).run_at or datetime.now(UTC)) - datetime.now(UTC) > timedelta(hours=1)
        # Submitted now: as long as it was alive, the first worker woke delayed jobs hours too early.
        delayed = queue.submit(Submission("at-once", delay=lease)).job.job_id
        file.touch()
        if not beside:
            successor = crew.start(0.0, lease=lease)
        took = {}
        waits: list[tuple[str, Callable[[], bool]]] = [
            ("the lost job completed", lambda: _is_completed(queue, lost)),
            ("the leader leases taken over", lambda: _holds_all_leader_leases(queue, successor)),
            ("the delayed job completed", lambda: _is_completed(queue, delayed)),
            ("the job that was put off completed", lambda: _is_completed(queue, put_off)),
            ("the schedule run again", lambda: (one := _follows(queue, 0.0)) is not None and _is_completed(queue, one.last_job_id)),
        ]
        for what, happened in waits:
            crew.wait_until(happened, what)
            took[what] = (time.monotonic() - killed) / lease
        queue.unschedule("often")
        crew.wait_until(lambda: all(job.finished for job in _all_jobs(queue)), "every run of the schedule is completed")
        crew.end()
        found = _all_jobs(queue)
        _check_completed_once(queue, found, crew.audit.read_text().splitlines())
        assert {lost, delayed, put_off} < {job.job_id for job in found}
        assert [attempt.outcome for attempt in queue.get(put_off).attempts] == ["retried", "completed"]
        assert ([attempt.outcome for attempt in queue.get(lost).attempts], queue.get(lost).losses) == (["lost", "completed"], 1)
    told = ", ".join(f"{what} by {leases:.1f} leases" for what, leases in took.items())
    with capsys.disabled():
        print(f"\n  clocks: {len(found)} jobs completed once each, 1 lost with a worker whose clock was 2 hours ahead: {told}")


@pytest.mark.parametrize("offset", [SECONDS_APART, -SECONDS_APART], ids=["ahead", "behind"])
def test_workers_whose_clocks_are_further_apart_than_a_lease_take_no_jobs_from_each_other(
    tmp_path: Path, offset: float, capsys: pytest.CaptureFixture[str]
) -> None:
    with _crewed(tmp_path) as (queue, crew):
        file = tmp_path / "done"
        names = [queue.submit(Submission("waits-for-a-file", {"file": str(file)})).job.job_id for _ in range(8)]
        leader = crew.start(0.0, lease=LONGER_LEASE)
        crew.wait_until(lambda: _holds_all_leader_leases(queue, leader), "the first worker has the leader leases")
        other = crew.start(0.0, offset=offset, lease=LONGER_LEASE)
        leases: dict[UUID, set[datetime]] = {name: set() for name in names}

        def renewed_for_leases() -> bool:
            """Whether every job was renewed seven times since it was seen first: with three heartbeats in a lease, for two leases."""
            for name, seen in leases.items():
                seen.update(filter(None, [queue.get(name).lease_until]))
            return all(len(seen) > 7 for seen in leases.values())

        crew.wait_until(renewed_for_leases, "every job is kept for longer than its lease")
        shares = Counter(queue.get(name).worker_id for name in names)
        file.touch()
        crew.wait_until(lambda: all(queue.get(name).finished for name in names), "every job is completed")
        crew.end()
        found = [queue.get(name) for name in names]
        _check_completed_once(queue, found, crew.audit.read_text().splitlines())
        assert shares == {leader: 4, other: 4}
        losses = sum(job.losses or 0 for job in found)
        assert (losses, [job.attempt for job in found]) == (0, [1] * 8)
    beats = sum(len(seen) - 1 for seen in leases.values())
    told = f"{losses} lost in {beats} heartbeats, by 2 workers of which one has a clock {offset:+.0f} s off"
    with capsys.disabled():
        print(f"\n  clocks: {len(found)} jobs completed once each: {told}")


def test_odd_items_of_other_programs_beside_jobs_whose_workers_are_killed(tmp_path: Path) -> None:
    chance = random.Random(11)
    with _crewed(tmp_path) as (queue, crew):
        table = boto3_table(queue)
        for _ in range(WORKERS):
            crew.start(rate=0.0)
        names, taken, completed = [], 0, 0
        for number in range(FOREIGN_ROUNDS):
            for _ in range(4):
                put_odd(table, odd_item(chance))
            names += [one.job.job_id for one in queue.submit_many([Submission("at-once") for _ in range(20)])]
            for job_id in [one.job.job_id for one in queue.submit_many([Submission("at-once") for _ in range(3)])]:
                # Another program's worker is faster, or one of the crew is; never both.
                claimed = seed_claim(table, str(job_id), "other", 1)
                taken += claimed is not None
                completed += claimed is not None and seed_completion(table, str(job_id), 2, datetime.now(UTC).isoformat())
                names.append(job_id)
            if number % 3 == 0:
                crew.kill(crew.chance.choice(crew.workers))
                crew.start(rate=0.0)
        crew.wait_until(lambda: all(_is_completed(queue, name) for name in names), "every ordinary job is completed")
        assert completed == taken
        for name in names:
            job = queue.get(name)
            by_gateleg = sum(attempt.outcome == "completed" for attempt in job.attempts)
            assert by_gateleg + (job.worker_id == "other") == 1
        for worker in list(crew.workers):
            crew.kill(worker)
        check_nothing_is_hidden(queue)
