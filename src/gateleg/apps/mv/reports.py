"""How long work tells its caller how far it is, and learns that it should stop."""

from __future__ import annotations

from collections.abc import Callable

from gateleg.apps.mv.errors import Cancelled

__all__ = ["Cancelling", "Progress", "check_cancelled", "ignore_progress", "never_cancelled", "subrange"]

#: Called with a fraction from 0 to 1 and a few words about what is being done.
Progress = Callable[[float, str], None]
#: Asked often; true when the work should stop.
Cancelling = Callable[[], bool]


def ignore_progress(fraction: float, text: str) -> None:
    """A `Progress` for callers who do not follow the work."""


def never_cancelled() -> bool:
    """A `Cancelling` for callers who do not stop the work."""
    return False


def subrange(progress: Progress, start: float, end: float) -> Progress:
    """The progress of a part of the work, as progress of the whole: its 0 is `start`, its 1 is `end`."""

    def report(fraction: float, text: str) -> None:
        progress(start + (end - start) * min(max(fraction, 0.0), 1.0), text)

    return report


def check_cancelled(cancelled: Cancelling) -> None:
    """Raise `Cancelled` when the caller wants the work to stop."""
    if cancelled():
        raise Cancelled("The work was stopped before it was finished.")
