"""Errors of SQLite, translated for the caller."""

import apsw

from gateleg.engine.checksums import is_damage
from gateleg.engine.errors import EngineError

CLOSED = "The engine is closed: open it again to use it"


class Busy(EngineError):
    """Another process held the write lock for too long."""

    def __init__(self) -> None:
        super().__init__("InternalServerError", "Another process held the write lock for too long and nothing was written. Try again")


#: What SQLite raises if a table does not exist, because it was dropped before a statement was compiled, or since.
TABLE_GONE = (apsw.SQLError, apsw.SchemaChangeError)


def translate(error: BaseException) -> BaseException:
    """The `EngineError` for an error of SQLite; any other error is returned unchanged."""
    if isinstance(error, apsw.FullError):
        return EngineError("InternalServerError", "The disk is full and nothing was written. Free some space and try again")
    if isinstance(error, apsw.BusyError):
        return Busy()
    if is_damage(error):
        return EngineError(
            "InternalServerError",
            "The database file is damaged: a page is corrupt. Run `gateleg engine check` to see what is damaged, and "
            "`gateleg engine repair` to recover the rest",
        )
    if isinstance(error, apsw.IOError):
        return EngineError("InternalServerError", f"The database could not be read or written: {error}. Nothing was changed")
    if isinstance(error, apsw.ReadOnlyError):
        return EngineError("InternalServerError", "The database is read-only: check the permissions of its file and folder")
    if isinstance(error, apsw.ConnectionClosedError | apsw.CursorClosedError | apsw.ThreadingViolationError):
        # Connections and cursors are not shared between threads, so another thread can only have closed them.
        return EngineError("InternalServerError", CLOSED)
    return error
