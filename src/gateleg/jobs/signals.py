"""What a handler raises to say how its attempt is to end."""

from __future__ import annotations


class Snooze(Exception):
    """The job is not ready: call the handler again after some seconds. That counts as no failure."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"again in {seconds:g} seconds")
        self.seconds = seconds


class GiveUp(Exception):
    """The job cannot succeed, however often it is tried."""


class Stopped(Exception):
    """The job is to stop: it was cancelled, its worker stops, or another worker has it. Raised by `JobContext.check`."""
