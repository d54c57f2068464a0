"""Checkpoints: when the write-ahead log is copied back into the database file.

SQLite's automatic checkpoint runs after a commit that makes the log long, while others keep writing. If two processes write without a
pause it never completes: the log grows, and every commit pays for another attempt. So passive checkpoints, which block nobody, are
repeated until the whole log is in the file; the next writer then restarts it. Only if that fails, or if the log has not restarted for long
because somebody was always reading or writing, does a checkpoint block writers, for the few frames that are left. SQLite syncs the
database only when the whole log is in it, which is at that moment and can take a second on a busy disk; so the file is synced just before.
"""

import os
from contextlib import suppress

import apsw

from gateleg.engine.busy_handler import BusyHandler, limited_wait

#: Frames (of one page each) in the log after which a checkpoint runs.
CHECKPOINT_FRAMES = 4000
#: The same for the maintenance thread, which thus checkpoints before others have to. Few pages at a time, because a writer that syncs
#: the log also waits for the disk to write the checkpointed pages.
EARLY_CHECKPOINT_FRAMES = 500
#: How long a blocking checkpoint waits for readers and writers. If that fails, the next attempt comes when the log has grown as much again.
_MAX_WAIT_SECONDS = 0.01
#: Most passive checkpoints in a row.
_MAX_PASSIVE_CHECKPOINTS = 4
#: Most frames to checkpoint while writers are blocked. More remain only while somebody reads for long.
_MAX_BLOCKING_FRAMES = 500


class WriteAheadLog:
    """The write-ahead log of one connection, whose usual busy handler is `busy_handler`."""

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
        with suppress(apsw.Error), limited_wait(connection, _MAX_WAIT_SECONDS, self._busy_handler):
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
