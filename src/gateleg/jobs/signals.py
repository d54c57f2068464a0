"""What a handler raises to say how its attempt is to end."""

from __future__ import annotations

#: A job can be put off for this many seconds, a hundred years.
_LONGEST = 100 * 366 * 86_400.0


class Snooze(Exception):
    """The job is not ready: call the handler again after some seconds. That counts as no failure."""

    def __init__(self, seconds: float) -> None:
        if not seconds <= _LONGEST:
            raise ValueError(f"A job is snoozed for a number of seconds, at most a hundred years of them, not for {seconds!r}.")
        super().__init__(f"again in {seconds:g} seconds")
        self.seconds = seconds


class GiveUp(Exception):
    """The job cannot succeed, however often it is tried."""


class Stopped(Exception):
    """The job is to stop: it was cancelled, its worker stops, or another worker has it. Raised by `JobContext.check`."""
