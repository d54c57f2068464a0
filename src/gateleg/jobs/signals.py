"""Exceptions that end a handler's attempt in a particular way."""

from __future__ import annotations

#: A hundred years.
_MAX_SNOOZE_SECONDS = 100 * 366 * 86_400.0


class Snooze(Exception):
    """Raise this in a handler to be called again after `seconds`, or at once if they are negative.

    It frees the worker's slot, and does not count as a failure or a try.
    """

    def __init__(self, seconds: float) -> None:
        if not isinstance(seconds, int | float) or not seconds <= _MAX_SNOOZE_SECONDS:
            raise ValueError(f"Snooze needs a number of seconds of at most a hundred years, not {seconds!r}.")
        super().__init__(f"snoozed for {seconds:g} seconds")
        self.seconds = max(0.0, seconds)

    def __reduce__(self) -> tuple[type[Snooze], tuple[float]]:
        return type(self), (self.seconds,)


class GiveUp(Exception):
    """Raise this in a handler to fail the job without retries: `raise GiveUp("no such account")`."""


class Stopped(Exception):
    """Raised by `JobContext.check`: the job was cancelled or timed out, its worker shuts down, or another worker has the job."""
