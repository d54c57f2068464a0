"""Deadlines: the time that an operation has left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.store.errors import TimedOut

if TYPE_CHECKING:
    from gateleg.store.setup import Setup


class OperationDeadline:
    """The time by which an operation must end."""

    __slots__ = ("_end", "_setup")

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._end = setup.ticks() + (setup.timeout or 0.0)

    def left(self) -> float:
        """The remaining seconds; raise `TimedOut` if none remain."""
        left = self._end - self._setup.ticks()
        if left <= 0:
            raise TimedOut(f"The operation took longer than {self._setup.timeout} seconds.")
        return left

    def pause(self, seconds: float) -> float:
        """Return the length of a pause; raise `TimedOut` at once if the pause would not end before the deadline."""
        if seconds >= self.left():
            raise TimedOut(f"The operation would take longer than {self._setup.timeout} seconds.")
        return seconds
