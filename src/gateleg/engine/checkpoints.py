"""Checkpoints: when the write-ahead log is written back to the database file.

SQLite does it by itself after a commit that makes the log long, while others go on writing. Where two processes write without a pause, it
is then never done: the log grows, and every commit pays for another attempt and waits for the disk. So the log is folded, without holding
anybody off, again and again, until all of it is in the file: the next writer then begins it anew. Only if that was not achieved, or if
nobody has begun it anew for long because there was always somebody reading or writing, are writers held off: for the rest, which is next
to nothing. SQLite syncs the database only once all of the log is in it, which is at that moment; on a busy disk that can take a second. So
what was folded before is synced before.
"""

import os
from contextlib import suppress

import apsw

from gateleg.engine.busy_handler import BusyHandler, waiting

#: Frames of the log, of a page each, after which it is folded.
LIMIT = 4000
#: The same for the maintenance, which thus spares others from doing it beside long work. Few pages at a time, because a writer that syncs
#: the log waits for the disk until the pages of a fold are on it, too.
EARLY_LIMIT = 500
#: Seconds for which writers and readers of before are waited for. If that was not enough, it is tried again when the log has grown as much.
_PATIENCE = 0.01
#: How often the log is folded without holding anybody off, at most.
_ROUNDS = 4
#: Frames that may be left for the moment when writers are held off. More are left where somebody has been reading for long.
_FEW = 500


class Log:
    """The log as one connection sees it, which otherwise waits for others by `busy_handler`."""

    __slots__ = ("_busy_handler", "_early", "_frames", "_next")

    def __init__(self, connection: apsw.Connection, busy_handler: BusyHandler) -> None:
        self._busy_handler = busy_handler
        self._frames = 0
        self._early = False
        self._next = LIMIT
        connection.set_wal_hook(self._grown)

    def _grown(self, _: apsw.Connection, name: str, frames: int) -> int:
        if frames < self._frames:
            self._next = self._limit  # the log has begun anew
        self._frames = frames
        return apsw.SQLITE_OK

    @property
    def _limit(self) -> int:
        return min(EARLY_LIMIT, LIMIT) if self._early else LIMIT

    def fold_early(self) -> None:
        """Have this connection fold the log before others have to."""
        self._early, self._next = True, self._limit

    @property
    def is_long(self) -> bool:
        """Whether the last commit of this connection has left a log that is to be folded."""
        return self._frames >= self._next

    def look_after(self, connection: apsw.Connection) -> None:
        """Fold the log, by a connection of this thread, if it is long; called after a commit, which an error here does not undo.

        It is left alone where another has folded most of it, as the maintenance does beside long work.
        """
        if not self.is_long:
            return
        self._next = self._frames + self._limit
        with suppress(apsw.Error), waiting(connection, _PATIENCE, self._busy_handler):
            frames, folded = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
            if frames - folded < self._limit:
                self._next = folded + self._limit
                return
            for _ in range(_ROUNDS):
                frames, folded = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                if frames == folded:
                    break
            if frames == folded < 2 * LIMIT:
                return  # the next writer begins the log anew, unless somebody has just written
            if frames - folded <= _FEW:
                sync_file(connection.filename)
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)


def sync_file(path: str) -> None:
    """Sync a database's file by one of SQLite's own descriptors of it, where the system shows them.

    To open the file for that is not possible: closing it would end the locks that SQLite has on it in this process.
    """
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}") == path:
                    os.fdatasync(int(name))
                    return
