"""What follows from the end of an attempt: pure decisions about retries, delays and states."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from gateleg.jobs.tables.job import FINISHED, KEPT_ATTEMPTS, Attempt, Failure, Job, JobStatus, Outcome, Readiness, Results
from gateleg.jobs.texts import told_by, writable
from gateleg.model.codec.unchecked import construct_unchecked
from gateleg.net import span

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

#: How long finished jobs stay in the queue before the sweeper moves them to the archive.
RETENTION: Mapping[JobStatus, timedelta] = {
    JobStatus.COMPLETED: timedelta(days=7),
    JobStatus.CANCELLED: timedelta(days=7),
    JobStatus.FAILED: timedelta(days=30),
}
#: How long after that DynamoDB deletes the events that they emitted. Jobs and their logs have no time to live: only archiving removes them.
EXPIRY_GRACE = timedelta(days=30)

#: The most bytes that the errors of a job's attempts tell in all, and the most characters of one that has no more room.
_ERRORS = 60_000
_BRIEF = 200

#: How often a job may be lost with its worker before it is run alone, in a process of its own where that can be.
ALONE_AFTER = 2

LEASE_EXPIRED = "lease-expired"
TIMED_OUT = "timed-out"
WAITED_TOO_LONG = "waited-too-long"
DEPENDENCY = "dependency"


def class_name(kind: type[BaseException]) -> str:
    """An exception's name, as a `Failure` has it."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


@dataclass(frozen=True)
class Retry:
    """When and how often a failed job is tried again.

    The delay grows by `factor` from `first` to `longest` seconds, and a random part of it, up to `jitter` of the whole, is taken away so
    that jobs which failed together do not come back together. `never` lists exceptions after which there is no retry, `only` the only
    ones after which there is, and `delays` seconds to wait after particular ones. A subclass counts as its base.

    A job whose worker was lost has not failed, so none of that counts it: it is begun again up to `losses` times.
    """

    times: int = 3
    first: float = 1.0
    factor: float = 2.0
    longest: float = 3600.0
    jitter: float = 0.5
    never: tuple[type[BaseException], ...] = ()
    only: tuple[type[BaseException], ...] = ()
    delays: Mapping[type[BaseException], float] = field(default_factory=dict)
    losses: int = 10

    def __post_init__(self) -> None:
        if self.times < 0 or self.losses < 0 or self.first < 0 or self.longest < 0 or self.factor < 1 or not 0 <= self.jitter <= 1:
            raise ValueError("A retry needs times, losses, first and longest from 0 on, a factor from 1 on and a jitter from 0 to 1.")

    def applies(self, kinds: tuple[str, ...]) -> bool:
        """Whether a failure of these kinds (an exception's class and its bases, by name) may be tried again."""
        if any(class_name(kind) in kinds for kind in self.never):
            return False
        return not self.only or kinds == (TIMED_OUT,) or any(class_name(kind) in kinds for kind in self.only)

    def delay(self, count: int, kinds: tuple[str, ...], chance: random.Random) -> float:
        """The seconds before retry number `count`, counted from 1."""
        for kind, seconds in self.delays.items():
            if class_name(kind) in kinds:
                return seconds
        return span(count, self.first, self.longest, self.factor) * (1 - self.jitter * chance.random())


@dataclass(frozen=True)
class Completed:
    """The handler returned."""

    results: Results


@dataclass(frozen=True)
class Failed:
    """The handler raised or took too long. `kinds` are the names of the exception's class and its bases."""

    failure: Failure
    kinds: tuple[str, ...] = ()
    #: that another attempt cannot succeed
    final: bool = False


@dataclass(frozen=True)
class Lost:
    """The worker was not heard of for the time of a lease. That need not be the fault of the job."""

    failure: Failure


@dataclass(frozen=True)
class Snoozed:
    """The handler wants to be called again later. That is not a failure."""

    seconds: float


@dataclass(frozen=True)
class Released:
    """The worker stops and gives the job back. That is not a failure."""


@dataclass(frozen=True)
class Cancelled:
    """The job was stopped because someone asked for it."""

    reason: str | None = None


Ending = Completed | Failed | Lost | Snoozed | Released | Cancelled


@dataclass(frozen=True)
class Verdict:
    """What becomes of a job after an attempt."""

    status: JobStatus
    outcome: Outcome
    failure: Failure | None = None
    results: Results | None = None
    retry_count: int = 0
    run_at: datetime | None = None
    reason: str | None = None
    #: how often the job was lost with its worker, when that has changed
    losses: int | None = None


def judge(job: Job, ending: Ending, retry: Retry, now: datetime, chance: random.Random) -> Verdict:
    """What becomes of a running job whose attempt has ended."""
    count = job.retry_count
    if isinstance(ending, Completed):
        return Verdict(JobStatus.COMPLETED, "completed", results=ending.results, retry_count=count)
    if isinstance(ending, Cancelled) or job.cancel_requested is not None:
        # Whoever asked for the end of the job does not want another attempt either.
        reason = ending.reason if isinstance(ending, Cancelled) else job.cancel_reason
        failure = ending.failure if isinstance(ending, (Failed, Lost)) else None
        results = Results(result_type="CANCELLED")
        return Verdict(JobStatus.CANCELLED, "cancelled", failure, results, count, reason=reason or job.cancel_reason)
    if isinstance(ending, Snoozed):
        return Verdict(JobStatus.PENDING, "snoozed", retry_count=count, run_at=now + timedelta(seconds=ending.seconds))
    if isinstance(ending, Released):
        return Verdict(JobStatus.PENDING, "released", retry_count=count)
    if isinstance(ending, Lost):
        return _judge_loss(job, ending.failure, retry, now, chance)
    kinds = ending.kinds or (ending.failure.kind,)
    if ending.final or count >= job.max_retries or not retry.applies(kinds):
        return Verdict(JobStatus.FAILED, "failed", ending.failure, failure_results(ending.failure), count)
    delay = timedelta(seconds=retry.delay(count + 1, kinds, chance))
    return Verdict(JobStatus.PENDING, "retried", ending.failure, None, count + 1, now + delay)


def failure_results(failure: Failure) -> Results:
    """The results of a job that has failed: what failed, and in a sentence how."""
    return Results(result_type="FAILURE", summary_metrics={"error": failure.kind, "message": _shortened(failure.message, 500)})


def _judge_loss(job: Job, failure: Failure, retry: Retry, now: datetime, chance: random.Random) -> Verdict:
    """What becomes of a job that was lost with its worker: it is begun again, from the second time on alone, and given up at last."""
    losses = (job.losses or 0) + 1
    if losses <= retry.losses:
        delay = timedelta(seconds=retry.delay(losses, (LEASE_EXPIRED,), chance))
        return Verdict(JobStatus.PENDING, "lost", failure, None, job.retry_count, now + delay, losses=losses)
    alone = max(0, losses - ALONE_AFTER)
    told = f"{failure.message} The job was lost with its worker {losses} times, {alone} of them while it ran alone, and is given up."
    given_up = failure.model_copy(update={"message": told})
    return Verdict(JobStatus.FAILED, "failed", given_up, failure_results(given_up), job.retry_count, losses=losses)


def is_suspect(job: Job) -> bool:
    """Whether a job may be what ends its workers, because it was lost with them more than once: it is to run alone."""
    return (job.losses or 0) >= ALONE_AFTER


def attempt_of(job: Job, verdict: Verdict, now: datetime) -> Attempt:
    """The attempt that has ended, for the job's history."""
    values = {
        "number": job.tries,
        "worker_id": job.worker_id or "",
        "started_at": job.started_at or now,
        "ended_at": now,
        "outcome": verdict.outcome,
        "error": verdict.failure,
        "times": None,
    }
    return construct_unchecked(Attempt, values)


def history_with(job: Job, attempt: Attempt) -> list[Attempt]:
    """The job's attempts and one more; the oldest are dropped when there are too many. Snoozes that follow each other are one."""
    last = job.attempts[-1] if job.attempts else None
    if attempt.outcome == "snoozed" and last is not None and last.outcome == "snoozed":
        again = attempt.model_copy(update={"started_at": last.started_at, "times": (last.times or 1) + 1})
        return [*job.attempts[:-1], again]
    attempts = [*job.attempts, attempt][-KEPT_ATTEMPTS:]
    return attempts if attempt.error is None else _spared(attempts)


def _spared(attempts: list[Attempt]) -> list[Attempt]:
    """The same attempts, the older of which tell less of their errors when all together tell too much: traces are also in the log."""
    left, spared = _ERRORS, []
    for attempt in reversed(attempts):
        error = attempt.error
        if error is not None:
            left -= len(error.message.encode()) + len((error.trace or "").encode())
            if left < 0:
                attempt = attempt.model_copy(update={"error": brief(error)})
        spared.append(attempt)
    return spared[::-1]


def brief(error: Failure) -> Failure:
    """A failure that tells little, where there is no room for more."""
    return Failure(kind=error.kind[:_BRIEF], message=_shortened(error.message, _BRIEF))


def readiness_at(run_at: datetime | None, now: datetime) -> Readiness:
    """Whether a job that waits for nothing else can be claimed now."""
    return Readiness.DELAYED if run_at is not None and run_at > now else Readiness.READY


def expiry_of(status: JobStatus, ended: datetime, retention: Mapping[JobStatus, timedelta] = RETENTION) -> datetime | None:
    """When DynamoDB may delete the events of a job in this state."""
    return ended + retention[status] + EXPIRY_GRACE if status in FINISHED else None


def failure_of(error: BaseException, trace: str | None = None) -> Failed:
    """A handler's exception as the end of an attempt."""
    kinds = tuple(class_name(kind) for kind in type(error).__mro__ if kind is not object)
    told = None if trace is None else writable(trace)
    return Failed(Failure(kind=kinds[0], message=_shortened(told_by(error), 2000), trace=_tail(told, 8000)), kinds)


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def _tail(text: str | None, length: int) -> str | None:
    """The end of a trace, which says more than its beginning."""
    return text if text is None or len(text) <= length else "..." + text[3 - length :]


def lease_expired(worker: str | None, until: Any) -> Lost:
    """The end of an attempt whose worker was not heard of."""
    message = f"Worker {worker or 'unknown'} did not renew its lease, which was to end at {until}."
    return Lost(Failure(kind=LEASE_EXPIRED, message=message))


def timed_out(seconds: float) -> Failed:
    """The end of an attempt that took too long."""
    return Failed(Failure(kind=TIMED_OUT, message=f"The job took longer than {seconds:g} seconds."), (TIMED_OUT,))
