"""Waiters: who is waiting to write to a file, so that long work knows when to yield.

Threads of one process queue on a Python lock, processes on SQLite's, and neither lock shows who waits for it. So waiters announce
themselves: threads in memory, a process by a shared `flock` on the file's folder, which the system releases if the process dies. This is
only a hint: on file systems without such locks, long work yields after every step.
"""

import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path


class Waiters:
    """The waiters of one file, as seen by one process."""

    __slots__ = ("_announced", "_folder", "_probe", "_signal", "_threads")

    def __init__(self, path: str) -> None:
        #: None for an in-memory database, which no other process can use
        self._folder = None if path == ":memory:" else Path(path).parent
        self._threads: set[int] = set()
        self._announced = False
        # Two descriptors, because a process does not see its own lock through the descriptor that holds it.
        self._signal: int | None = None
        self._probe: int | None = None

    def acquire(self, lock: threading.Lock) -> None:
        """Acquire this process's write lock."""
        if lock.acquire(blocking=False):
            return
        thread = threading.get_ident()
        self._threads.add(thread)
        try:
            lock.acquire()
        finally:
            self._threads.discard(thread)

    def announce(self) -> None:
        """Announce to other processes that this one is waiting. May be called repeatedly during a wait, by one thread at a time."""
        if self._announced or self._folder is None:
            return
        if self._signal is None:
            self._signal = _open(self._folder)
        self._announced = self._signal is not None and _lock(self._signal, shared=True)

    def withdraw(self) -> None:
        """Withdraw the announcement: this writer no longer waits."""
        if self._announced and self._signal is not None:
            self._announced = False
            _unlock(self._signal)

    def any(self) -> bool:
        """Whether anybody is waiting; also true if that cannot be determined."""
        if self._threads:
            return True
        if self._folder is None:
            return False
        if self._probe is None:
            self._probe = _open(self._folder)
        if self._probe is None or not _lock(self._probe, shared=False):
            return True
        _unlock(self._probe)
        return False

    def close(self) -> None:
        """Close the descriptors; they are opened again on demand."""
        descriptors = [one for one in (self._signal, self._probe) if one is not None]
        self._signal = self._probe = None
        self._announced = False
        for descriptor in descriptors:
            os.close(descriptor)


def _open(folder: Path) -> int | None:
    try:
        return os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _lock(descriptor: int, *, shared: bool) -> bool:
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _unlock(descriptor: int) -> None:
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
