"""Threads for concurrent requests of a sync store."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

A = TypeVar("A")
R = TypeVar("R")


class ThreadPool:
    """A pool of threads that is created at its first use."""

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def map(self, work: Callable[[A], R], entries: Sequence[A], most: int) -> list[R]:
        """Call `work` for each entry, up to `most` at once, and return the results in order. Uses no threads if nothing is concurrent."""
        if most <= 1 or len(entries) <= 1:
            return [work(entry) for entry in entries]
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(max_workers=most, thread_name_prefix="gateleg-store")
        return list(self._executor.map(work, entries))

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            if self._executor is not None:
                self._executor.shutdown()
                self._executor = None
