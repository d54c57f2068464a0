"""Callbacks of long-running functions, for progress and cancellation."""

from __future__ import annotations

from collections.abc import Callable

from gateleg.apps.mv.errors import Cancelled

__all__ = ["Cancelling", "Progress", "check_cancelled", "ignore_progress", "never_cancelled", "subrange"]

#: Called with a fraction from 0 to 1 and a short description of the current step.
Progress = Callable[[float, str], None]
#: Called frequently; returns true if the work must stop.
Cancelling = Callable[[], bool]


def ignore_progress(fraction: float, text: str) -> None:
    """A `Progress` that does nothing."""


def never_cancelled() -> bool:
    """A `Cancelling` that always returns false."""
    return False


def subrange(progress: Progress, start: float, end: float) -> Progress:
    """A `Progress` for one part of the work, which reports fractions between `start` and `end`."""

    def report(fraction: float, text: str) -> None:
        progress(start + (end - start) * min(max(fraction, 0.0), 1.0), text)

    return report


def check_cancelled(cancelled: Cancelling) -> None:
    """Raise `Cancelled` if the work must stop."""
    if cancelled():
        raise Cancelled("The work was cancelled before it was finished.")
