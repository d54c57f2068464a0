"""A job's history as bars: the wait, and every attempt. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gateleg.durations import duration
from gateleg.jobs import JobStatus
from gateleg.web.console.jobs.job_details import failure_text

if TYPE_CHECKING:
    from datetime import datetime

    from gateleg.jobs.tables import Attempt
    from gateleg.web.console.jobs.job_details import JobDetails
    from gateleg.web.console.theme import Kind

#: Labels and colours of outcomes.
OUTCOMES: dict[str, tuple[str, Kind]] = {
    "completed": ("Done", "done"),
    "failed": ("Failed", "failed"),
    "retried": ("Failed, retried", "failed"),
    "snoozed": ("Snoozed", "waiting"),
    "released": ("Released by its worker", "waiting"),
    "cancelled": ("Cancelled", "cancelled"),
    "lost": ("Worker lost", "warning"),
}
#: The minimum width of a bar, as a fraction of the whole.
_NARROWEST = 0.004


@dataclass(frozen=True)
class Bar:
    """A period of a job's history: `left` and `width` are fractions of the whole, from 0 to 1."""

    label: str
    kind: Kind
    #: the outcome of an attempt; empty for a wait
    word: str
    left: float
    width: float
    text: str
    worker: str | None = None
    error: str | None = None
    #: its start, while it continues
    since: datetime | None = None


def bars(details: JobDetails, now: datetime) -> list[Bar]:
    """The wait before the first attempt, the finished attempts, and the current one."""
    begin, end = details.created_at, details.completed_at if details.finished and details.completed_at else now
    whole = max((end - begin).total_seconds(), 0.001)

    def place(start: datetime, stop: datetime) -> tuple[float, float]:
        left = min(max((start - begin).total_seconds() / whole, 0.0), 1.0 - _NARROWEST)
        width = max((stop - start).total_seconds() / whole, _NARROWEST)
        return left, min(width, 1.0 - left)

    first = details.attempts[0].started_at if details.attempts else details.started_at
    made = [_waiting(*place(begin, first or end), begin, first or end, going_on=first is None and not details.finished)]
    headline = None if details.failure is None else failure_text(details.failure)
    for at, attempt in enumerate(details.attempts):
        bar = _ended(attempt, *place(attempt.started_at, attempt.ended_at))
        # An error that several attempts repeat is shown at the last of them; one in the header is not shown again.
        repeated = bar.error == headline or (at + 1 < len(details.attempts) and error_text(details.attempts[at + 1]) == bar.error)
        made.append(replace(bar, error=None) if repeated else bar)
    if details.status == JobStatus.PROCESSING and details.started_at is not None:
        left, width = place(details.started_at, now)
        made.append(Bar(f"Attempt {details.attempt}", "running", "Running", left, width, "", details.worker_id, since=details.started_at))
    elif details.status == JobStatus.PENDING and details.attempts:
        last = details.attempts[-1].ended_at
        made.append(_waiting(*place(last, now), last, now, going_on=True))
    return made


def error_text(attempt: Attempt) -> str | None:
    """The error of an attempt."""
    return None if attempt.error is None else failure_text(attempt.error)


def _waiting(left: float, width: float, start: datetime, stop: datetime, *, going_on: bool) -> Bar:
    seconds = (stop - start).total_seconds()
    return Bar("Waiting", "waiting", "", left, width, "" if going_on else duration(seconds), since=start if going_on else None)


def _ended(attempt: Attempt, left: float, width: float) -> Bar:
    word, kind = OUTCOMES[attempt.outcome]
    if attempt.times is not None:
        word = f"{word} {attempt.times} times"
    return Bar(
        f"Attempt {attempt.number}",
        kind,
        word,
        left,
        width,
        duration((attempt.ended_at - attempt.started_at).total_seconds()),
        attempt.worker_id,
        error_text(attempt),
    )
