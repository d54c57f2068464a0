"""Garbage collection while a worker runs.

A job allocates a few hundred small containers and no reference cycles. With Python's default, a collection every 700 allocations, a worker
would spend a fifth of its time on finding nothing.
"""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Net container allocations before a collection of the youngest generation, and collections before one of the next generation.
_THRESHOLDS = (10_000, 20, 20)


class _Threshold:
    """The raised threshold of this process, shared by all of its workers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._previous: tuple[int, int, int] | None = None

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            # A threshold of 0 means that the program has turned collection off.
            if self._users == 1 and 0 < gc.get_threshold()[0] < _THRESHOLDS[0]:
                self._previous = gc.get_threshold()
                gc.set_threshold(*_THRESHOLDS)

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._previous is not None:
                # Keep the threshold if the program has changed it in the meantime.
                if gc.get_threshold() == _THRESHOLDS:
                    gc.set_threshold(*self._previous)
                self._previous = None


_threshold = _Threshold()


@contextmanager
def collecting_less_often() -> Iterator[None]:
    """Raise the collection threshold during the block, and restore it afterwards.

    If the program has set a higher threshold, or turned collection off, nothing changes.
    """
    _threshold.enter()
    try:
        yield
    finally:
        _threshold.leave()


def exclude_loaded_modules() -> None:
    """Exempt all existing objects from garbage collection. Hosts and workers in a process of their own call this."""
    gc.collect()
    gc.freeze()
