"""Checkpoints: when the write-ahead log is written back to the database file.

SQLite does it by itself after a commit that makes the log long, while others go on writing. Where two processes write without a pause, it
is then never done: the log grows, and every commit pays for another attempt and waits for the disk. So what was written meanwhile, which is
little, is folded while writers are held off, and the log begins anew.
"""

from contextlib import suppress

import apsw

from gateleg.engine.busy_handler import waiting

#: Frames of the log, of a page each, after which it is folded.
LIMIT = 4000
#: Seconds for which writers and readers of before are waited for. If that was not enough, it is tried again when the log has grown as much.
_PATIENCE = 0.05


class Log:
    """The log as one connection sees it."""

    __slots__ = ("_frames", "_next")

    def __init__(self, connection: apsw.Connection) -> None:
        self._frames = 0
        self._next = LIMIT
        connection.set_wal_hook(self._grown)

    def _grown(self, _: apsw.Connection, name: str, frames: int) -> int:
        self._frames = frames
        return apsw.SQLITE_OK

    def look_after(self, connection: apsw.Connection) -> None:
        """Fold the log if it is long; called after a commit, which an error here does not undo."""
        if self._frames < self._next:
            if self._frames < LIMIT:
                self._next = LIMIT
            return
        self._next = self._frames + LIMIT
        with waiting(connection, _PATIENCE):
            for mode in (apsw.SQLITE_CHECKPOINT_PASSIVE, apsw.SQLITE_CHECKPOINT_RESTART):
                with suppress(apsw.Error):
                    connection.wal_checkpoint(mode=mode)
