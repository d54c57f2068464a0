"""How the writers of one file get along, in the threads of a process and in several processes.

**Who waits.** Threads of one process queue on a Python lock, processes on SQLite's, and neither lock shows who waits for it. So waiting
writers announce themselves in a `WriterQueue`, and long work yields to them.

**How long.** SQLite's own busy handler sleeps up to a tenth of a second, although most writes take a fraction of a millisecond: processes
that alternate would sleep more than they work. `BusyHandler` retries quickly at first and more slowly the longer it has waited. The more
processes wait, the longer each of them has waited, so that together they do not retry more often than a few would, and leave the processor
to the writer.

**Who checkpoints.** `WriteAheadLog` copies the log back into the database. SQLite's automatic checkpoint runs after a commit that makes the
log long, while others keep writing. If two processes write without a pause it never completes: the log grows, and every commit pays for
another attempt. So passive checkpoints, which block nobody, are repeated until the whole log is in the file; the next writer then restarts
it. Only if that fails, or if the log has not restarted for long because somebody was always reading or writing, does a checkpoint block
writers, for the few frames that are left. SQLite syncs the database only when the whole log is in it, which is at that moment and can take
a second on a busy disk; so the file is synced just before.

**Who forked.** SQLite's locks do not survive a fork. A child that kept using an inherited file would hold no lock that others can see: the
parent, when closing the file, would consider itself the last user and delete the log that the child still writes to. The child's writes
would be lost. So a forked child lets go of its parent's connections, and is refused new ones to those files.
"""

import fcntl
import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import apsw


class WriterQueue:
    """Who waits to write to one file, as seen by one process.

    Threads announce themselves in memory, a process by a shared `flock` on the file's folder, which the system releases if the process
    dies. This is only a hint: on file systems without such locks, long work yields after every step.
    """

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
            self._signal = _open_folder(self._folder)
        self._announced = self._signal is not None and _lock(self._signal, shared=True)

    def withdraw(self) -> None:
        """Withdraw the announcement: this writer no longer waits."""
        if self._announced and self._signal is not None:
            self._announced = False
            _unlock(self._signal)

    def has_waiters(self) -> bool:
        """Whether anybody is waiting; also true if that cannot be determined."""
        if self._threads:
            return True
        if self._folder is None:
            return False
        if self._probe is None:
            self._probe = _open_folder(self._folder)
        if self._probe is None or not _lock(self._probe, shared=False):
            return True
        _unlock(self._probe)
        return False

    def close(self) -> None:
        """Close the descriptors; they are opened again on demand."""
        descriptors = [descriptor for descriptor in (self._signal, self._probe) if descriptor is not None]
        self._signal = self._probe = None
        self._announced = False
        for descriptor in descriptors:
            os.close(descriptor)


def _open_folder(folder: Path) -> int | None:
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


#: When to give up waiting to write.
MAX_WAIT_SECONDS = 60.0
#: Pause between attempts to write, as a fraction of the time waited so far, within bounds.
_PAUSE_FRACTION = 0.5
_MIN_PAUSE_SECONDS = 0.00025
_MAX_PAUSE_SECONDS = 0.01


class BusyHandler:
    """Called by SQLite when the database is locked, with the number of earlier calls; returning False gives up. One per connection.

    With `writers`, announces to long work that somebody is waiting.
    """

    __slots__ = ("_max_wait", "_since", "_writers")

    def __init__(self, max_wait: float = MAX_WAIT_SECONDS, writers: WriterQueue | None = None) -> None:
        self._max_wait = max_wait
        self._since = 0.0
        self._writers = writers

    def __call__(self, calls: int) -> bool:
        """Sleep briefly; returns whether to try again."""
        now = time.monotonic()
        if calls == 0:
            self._since = now
        waited = now - self._since
        if waited >= self._max_wait:
            return False
        if self._writers is not None:
            self._writers.announce()
        time.sleep(next_pause(waited))
        return True


def next_pause(waited: float) -> float:
    """Seconds until the next attempt after waiting this long."""
    return min(max(waited * _PAUSE_FRACTION, _MIN_PAUSE_SECONDS), _MAX_PAUSE_SECONDS)


@contextmanager
def limited_wait(connection: apsw.Connection, max_wait: float, handler: BusyHandler) -> Iterator[None]:
    """Limit how long a connection waits for locks within the block; `handler` is restored afterwards."""
    connection.set_busy_handler(BusyHandler(max_wait))
    try:
        yield
    finally:
        connection.set_busy_handler(handler)


#: Frames (of one page each) in the log after which a checkpoint runs.
CHECKPOINT_FRAMES = 4000
#: The same for the maintenance thread, which thus checkpoints before others have to. Few pages at a time, because a writer that syncs
#: the log also waits for the disk to write the checkpointed pages.
EARLY_CHECKPOINT_FRAMES = 500
#: How long a blocking checkpoint waits for readers and writers. If that fails, the next attempt comes when the log has grown as much again.
_CHECKPOINT_WAIT_SECONDS = 0.01
#: Most passive checkpoints in a row.
_MAX_PASSIVE_CHECKPOINTS = 4
#: Most frames to checkpoint while writers are blocked. More remain only while somebody reads for long.
_MAX_BLOCKING_FRAMES = 500


class WriteAheadLog:
    """The write-ahead log as one connection sees it; `busy_handler` is the usual one of the connection."""

    __slots__ = ("_busy_handler", "_early", "_frames", "_next_checkpoint")

    def __init__(self, connection: apsw.Connection, busy_handler: BusyHandler) -> None:
        self._busy_handler = busy_handler
        self._frames = 0
        self._early = False
        self._next_checkpoint = CHECKPOINT_FRAMES
        connection.set_wal_hook(self._after_commit)

    def _after_commit(self, _: apsw.Connection, name: str, frames: int) -> int:
        if frames < self._frames:
            self._next_checkpoint = self._checkpoint_frames  # the log has restarted
        self._frames = frames
        return apsw.SQLITE_OK

    @property
    def _checkpoint_frames(self) -> int:
        return min(EARLY_CHECKPOINT_FRAMES, CHECKPOINT_FRAMES) if self._early else CHECKPOINT_FRAMES

    def checkpoint_early(self) -> None:
        """Make this connection checkpoint earlier than others do."""
        self._early, self._next_checkpoint = True, self._checkpoint_frames

    @property
    def is_long(self) -> bool:
        """Whether the log is due for a checkpoint, as of this connection's last commit."""
        return self._frames >= self._next_checkpoint

    def checkpoint_if_long(self, connection: apsw.Connection) -> None:
        """Checkpoint the log if it is long. Called after a commit, which an error here does not affect.

        Does nothing if another connection has checkpointed most of it, as the maintenance thread does during long work.
        """
        if not self.is_long:
            return
        self._next_checkpoint = self._frames + self._checkpoint_frames
        with suppress(apsw.Error), limited_wait(connection, _CHECKPOINT_WAIT_SECONDS, self._busy_handler):
            frames, folded = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
            if frames - folded < self._checkpoint_frames:
                self._next_checkpoint = folded + self._checkpoint_frames
                return
            for _ in range(_MAX_PASSIVE_CHECKPOINTS):
                frames, folded = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                if frames == folded:
                    break
            if frames == folded < 2 * CHECKPOINT_FRAMES:
                return  # the next writer restarts the log, unless somebody has just written
            if frames - folded <= _MAX_BLOCKING_FRAMES:
                sync_file(connection.filename)
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)


def sync_file(path: str) -> None:
    """Sync a database file through one of SQLite's own descriptors, where the system lists them in /proc.

    Opening the file here is not an option: closing it again would release SQLite's locks on it in this process.
    """
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}") == path:
                    os.fdatasync(int(name))
                    return


FORKED_WHILE_OPEN = (
    "was open when this process was forked, and SQLite's locks do not survive a fork: close the engine before forking, "
    "or start the process by spawning it"
)


class OpenFile(Protocol):
    """Anything that holds a database file open."""

    path: str

    def abandon_after_fork(self) -> None:
        """Let go of the inherited connections."""


_open_files: "weakref.WeakSet[OpenFile]" = weakref.WeakSet()
#: Device and inode of the files that were open at a fork.
_files_open_at_fork: set[tuple[int, int]] = set()
#: Objects that a child must never close; referenced so that garbage collection does not close them.
_kept_alive: list[object] = []


def register(file: OpenFile) -> None:
    """Call `abandon_after_fork` in every forked child."""
    _open_files.add(file)


def unregister(file: OpenFile) -> None:
    """After the file was closed: a child may open it."""
    _open_files.discard(file)


def was_open_at_fork(path: str) -> bool:
    """Whether a file was open in the parent when this process was forked."""
    return bool(_files_open_at_fork) and _identity(path) in _files_open_at_fork


def keep_alive(*things: object) -> None:
    """Keep objects from being garbage-collected."""
    _kept_alive.extend(things)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _after_fork() -> None:
    for file in list(_open_files):
        identity = _identity(file.path)
        if identity is not None:
            _files_open_at_fork.add(identity)
        file.abandon_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
