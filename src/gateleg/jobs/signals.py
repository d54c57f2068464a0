"""Exceptions that end a handler's attempt in a particular way."""

from __future__ import annotations

#: A hundred years.
_MAX_SNOOZE_SECONDS = 100 * 366 * 86_400.0


class Snooze(Exception):
    """Raised by a handler: call it again after some seconds; at once, if the time is over already. This is not a failure."""

    def __init__(self, seconds: float) -> None:
        if not isinstance(seconds, int | float) or not seconds <= _MAX_SNOOZE_SECONDS:
            raise ValueError(f"Snooze takes a number of seconds of at most a hundred years, not {seconds!r}.")
        super().__init__(f"snoozed for {seconds:g} seconds")
        self.seconds = max(0.0, seconds)


class GiveUp(Exception):
    """Raised by a handler: fail the job without retrying."""


class Stopped(Exception):
    """Raised by `JobContext.check`: the job was cancelled or timed out, its worker shuts down, or another worker has it."""
