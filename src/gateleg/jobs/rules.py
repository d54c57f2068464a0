"""What happens to a job after an attempt: decisions about retries, delays and states. Pure.

An attempt ends with one of `AttemptOutcome`; `decide` says what follows from it. The texts of failures are made here in a form that can be
stored. `is_name` says which names queues, job types, schedules and workers may have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from gateleg.jobs.tables.job import FINISHED, KEPT_ATTEMPTS, Attempt, Failure, Job, JobStatus, Outcome, Readiness, Results
from gateleg.model.validation import construct_unchecked
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
#: How long after the end of the retention DynamoDB's TTL deletes a job's events. Jobs and logs have no TTL: only archiving removes them.
EXPIRY_GRACE = timedelta(days=30)

#: The maximum size of all errors in a job's attempts, and the length to which messages are shortened beyond it.
_MAX_ERRORS_BYTES = 60_000
_SHORT_MESSAGE_CHARS = 200

#: A job that was lost with its worker this often runs alone, in its own process if possible.
RUN_ALONE_AFTER_LOSSES = 2

LEASE_EXPIRED = "lease-expired"
TIMED_OUT = "timed-out"
WAITED_TOO_LONG = "waited-too-long"


def decide(job: Job, outcome: AttemptOutcome, retry: Retry, now: datetime, chance: random.Random) -> Decision:
    """Decide what happens to a running job whose attempt has ended."""
    count = job.retry_count
    if isinstance(outcome, Completed):
        return Decision(JobStatus.COMPLETED, "completed", results=outcome.results, retry_count=count)
    if isinstance(outcome, Cancelled) or job.cancel_requested is not None:
        # A job that is being cancelled is not retried.
        reason = outcome.reason if isinstance(outcome, Cancelled) else job.cancel_reason
        failure = outcome.failure if isinstance(outcome, (Failed, Lost)) else None
        results = Results(result_type="CANCELLED")
        return Decision(JobStatus.CANCELLED, "cancelled", failure, results, count, reason=reason or job.cancel_reason)
    if isinstance(outcome, Snoozed):
        return Decision(JobStatus.PENDING, "snoozed", retry_count=count, run_at=now + timedelta(seconds=outcome.seconds))
    if isinstance(outcome, Released):
        return Decision(JobStatus.PENDING, "released", retry_count=count)
    if isinstance(outcome, Lost):
        return _decide_loss(job, outcome.failure, retry, now, chance)
    kinds = outcome.kinds or (outcome.failure.kind,)
    if outcome.final or count >= job.max_retries or not retry.applies(kinds):
        return Decision(JobStatus.FAILED, "failed", outcome.failure, failure_results(outcome.failure), count)
    delay = timedelta(seconds=retry.delay(count + 1, kinds, chance))
    return Decision(JobStatus.PENDING, "retried", outcome.failure, None, count + 1, now + delay)


def _decide_loss(job: Job, failure: Failure, retry: Retry, now: datetime, chance: random.Random) -> Decision:
    """Decide about a job that was lost with its worker: start it again, alone from the second loss on, or fail it after too many losses."""
    losses = (job.losses or 0) + 1
    if losses <= retry.losses:
        delay = timedelta(seconds=retry.delay(losses, (LEASE_EXPIRED,), chance))
        return Decision(JobStatus.PENDING, "lost", failure, None, job.retry_count, now + delay, losses=losses)
    alone = max(0, losses - RUN_ALONE_AFTER_LOSSES)
    message = f"{failure.message} The job was lost with its worker {losses} times, {alone} of them while it ran alone, and is not retried."
    given_up = failure.model_copy(update={"message": message})
    return Decision(JobStatus.FAILED, "failed", given_up, failure_results(given_up), job.retry_count, losses=losses)


def must_run_alone(job: Job) -> bool:
    """Whether a job was lost with its worker so often that it may be the cause, and must run alone."""
    return (job.losses or 0) >= RUN_ALONE_AFTER_LOSSES


def failure_results(failure: Failure) -> Results:
    """The results of a failed job: the kind of failure and its message."""
    return Results(result_type="FAILURE", summary_metrics={"error": failure.kind, "message": _shortened(failure.message, 500)})


def readiness_at(run_at: datetime | None, now: datetime) -> Readiness:
    """Whether a job without open dependencies is claimable now or delayed."""
    return Readiness.DELAYED if run_at is not None and run_at > now else Readiness.READY


def expiry_of(status: JobStatus, ended: datetime, retention: Mapping[JobStatus, timedelta] = RETENTION) -> datetime | None:
    """When TTL may delete the events of a job that ended in this status."""
    return ended + retention[status] + EXPIRY_GRACE if status in FINISHED else None


def attempts_after(job: Job, decision: Decision, now: datetime) -> list[Attempt]:
    """The job's attempts with the one that has just ended. The last `KEPT_ATTEMPTS` are kept; snoozes merge with the attempt after them."""
    snoozed = decision.outcome == "snoozed"
    values = {
        "number": job.tries,
        "worker_id": job.worker_id or "",
        "started_at": job.started_at or now,
        "ended_at": now,
        "outcome": decision.outcome,
        "error": decision.failure,
        "times": 1 if snoozed else None,
    }
    last = job.attempts[-1] if job.attempts else None
    if last is not None and last.outcome == "snoozed" and last.number == values["number"]:
        values |= {"started_at": last.started_at, "times": (last.times or 1) + snoozed}
        return [*job.attempts[:-1], construct_unchecked(Attempt, values)]
    attempts = [*job.attempts, construct_unchecked(Attempt, values)][-KEPT_ATTEMPTS:]
    return attempts if decision.failure is None else _with_short_errors(attempts)


def _with_short_errors(attempts: list[Attempt]) -> list[Attempt]:
    """The attempts, with the errors of older ones shortened if all errors together are too large. The log also has the traces."""
    left, shortened = _MAX_ERRORS_BYTES, []
    for attempt in reversed(attempts):
        error = attempt.error
        if error is not None:
            left -= len(error.message.encode()) + len((error.trace or "").encode())
            if left < 0:
                attempt = attempt.model_copy(update={"error": short_failure(error)})
        shortened.append(attempt)
    return shortened[::-1]


def failure_of(error: BaseException, trace: str | None = None) -> Failed:
    """The outcome of an attempt whose handler raised this exception."""
    kinds = tuple(class_name(kind) for kind in type(error).__mro__ if kind is not object)
    text = None if trace is None else escape_undecodable(trace)
    return Failed(Failure(kind=kinds[0], message=_shortened(error_message(error), 2000), trace=_tail(text, 8000)), kinds)


def short_failure(error: Failure) -> Failure:
    """The failure without its trace and with a short message."""
    return Failure(kind=error.kind[:_SHORT_MESSAGE_CHARS], message=_shortened(error.message, _SHORT_MESSAGE_CHARS))


def lease_expired(worker: str | None, until: Any) -> Lost:
    """The outcome of an attempt whose worker was lost."""
    message = f"Worker {worker or 'unknown'} did not renew its lease, which expired at {until}."
    return Lost(Failure(kind=LEASE_EXPIRED, message=message))


def claimed_too_long(job: Job) -> Failed:
    """The outcome of an attempt of another program's worker, which has no lease, and did not end in time."""
    message = (
        f"Worker {job.worker_id or 'unknown'} claimed the job without a lease, as other programs do, and has not ended it within its "
        f"timeout of {job.timeout_seconds} seconds."
    )
    return Failed(Failure(kind=TIMED_OUT, message=message), (TIMED_OUT,))


def timed_out(seconds: float) -> Failed:
    """The outcome of an attempt that timed out."""
    return Failed(Failure(kind=TIMED_OUT, message=f"The job took longer than its timeout of {seconds:g} seconds."), (TIMED_OUT,))


def class_name(kind: type[BaseException]) -> str:
    """The qualified name of an exception class, as stored in a `Failure`."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def error_message(error: BaseException) -> str:
    """The message of an exception; the name of its class if the message is empty or `str` fails."""
    try:
        return escape_undecodable(str(error)) or type(error).__name__
    except Exception:
        return type(error).__name__


def escape_undecodable(text: str) -> str:
    """The text with lone surrogates escaped, such as those of file names that are not UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def _tail(text: str | None, length: int) -> str | None:
    """The last characters of a trace, which say more than the first ones."""
    return text if text is None or len(text) <= length else "..." + text[3 - length :]


_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,100}")


def is_name(text: str) -> bool:
    """Whether a text can name a queue, a job type or a worker. Names become parts of keys, so their characters are restricted."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True)
class Retry:
    """When and how often a failed job is retried: `Retry(times=5, first=2.0, never=(ValueError,))`.

    The delays grow exponentially (backoff). A job whose worker was lost has not failed, and does not use up `times`.

    Raises `ValueError` for a negative number, a factor below 1, or a jitter outside 0 to 1, and `TypeError` for an option of another type.
    """

    #: the number of retries after the first attempt
    times: int = 3
    #: the delay before the first retry, in seconds
    first: float = 1.0
    #: the growth of the delay from one retry to the next
    factor: float = 2.0
    #: the maximum delay, in seconds
    longest: float = 3600.0
    #: up to this fraction of each delay is subtracted at random, so that jobs that failed together are not retried together
    jitter: float = 0.5
    #: exceptions that are not retried, including their subclasses
    never: tuple[type[BaseException], ...] = ()
    #: if set, the only exceptions that are retried, including their subclasses
    only: tuple[type[BaseException], ...] = ()
    #: the delays in seconds after particular exceptions, including their subclasses
    delays: Mapping[type[BaseException], float] = field(default_factory=dict)
    #: how many times a job whose worker was lost is started again
    losses: int = 10

    def __post_init__(self) -> None:
        for name in ("times", "losses", "first", "longest", "factor", "jitter"):
            if not isinstance(number := getattr(self, name), int | float):
                raise TypeError(
                    f"Retry({name}={number!r}) is not a number. Give seconds for first and longest, such as Retry(times=5, first=60)."
                )
        if self.times < 0 or self.losses < 0 or self.first < 0 or self.longest < 0 or self.factor < 1 or not 0 <= self.jitter <= 1:
            raise ValueError("Retry needs times, losses, first and longest >= 0, factor >= 1 and jitter from 0 to 1.")
        for name in ("never", "only", "delays"):
            kinds: Any = getattr(self, name)
            several = isinstance(kinds, Iterable) and not isinstance(kinds, str)
            wrong = [kind for kind in kinds if not (isinstance(kind, type) and issubclass(kind, BaseException))] if several else [kinds]
            if wrong:
                example = "delays={ValueError: 60}" if name == "delays" else f"{name}=(ValueError,)"
                raise TypeError(
                    f"Retry({name}=...) takes exception classes, and was given {wrong[0]!r}. Write Retry({example}), for example."
                )

    def applies(self, kinds: tuple[str, ...]) -> bool:
        """Whether a failure is retried. `kinds` are the names of the exception's class and its base classes."""
        if any(class_name(kind) in kinds for kind in self.never):
            return False
        return not self.only or kinds == (TIMED_OUT,) or any(class_name(kind) in kinds for kind in self.only)

    def delay(self, count: int, kinds: tuple[str, ...], chance: random.Random) -> float:
        """The delay in seconds before retry number `count`, counted from 1."""
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
    """The handler raised or timed out. `kinds` are the names of the exception's class and its base classes."""

    failure: Failure
    kinds: tuple[str, ...] = ()
    #: whether another attempt cannot succeed
    final: bool = False


@dataclass(frozen=True)
class Lost:
    """The worker did not renew its lease: it was killed, suspended or cut off from the store."""

    failure: Failure


@dataclass(frozen=True)
class Snoozed:
    """The handler raised `Snooze` to be called again later. That is not a failure."""

    seconds: float


@dataclass(frozen=True)
class Released:
    """The worker shuts down and releases the job. That is not a failure."""


@dataclass(frozen=True)
class Cancelled:
    """The job was cancelled on request."""

    reason: str | None = None


AttemptOutcome = Completed | Failed | Lost | Snoozed | Released | Cancelled


@dataclass(frozen=True)
class Decision:
    """What happens to a job after an attempt."""

    status: JobStatus
    outcome: Outcome
    failure: Failure | None = None
    results: Results | None = None
    retry_count: int = 0
    run_at: datetime | None = None
    reason: str | None = None
    #: how often the job was lost with its worker, if that has changed
    losses: int | None = None
