"""How long an operation may still take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.store.errors import TimedOut

if TYPE_CHECKING:
    from gateleg.store.setup import Setup


class Deadline:
    """The end of an operation's time; without a timeout there is none."""

    __slots__ = ("_end", "_setup")

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._end = None if setup.timeout is None else setup.ticks() + setup.timeout

    def left(self) -> float | None:
        """The seconds that are left; an error when there are none."""
        if self._end is None:
            return None
        left = self._end - self._setup.ticks()
        if left <= 0:
            raise TimedOut(f"The operation took longer than {self._setup.timeout} seconds.")
        return left

    def pause(self, seconds: float) -> float:
        """A pause that ends before the deadline; one that would not is refused at once."""
        left = self.left()
        if left is not None and seconds >= left:
            raise TimedOut(f"The operation would take longer than {self._setup.timeout} seconds.")
        return seconds
