"""Translate errors of SQLite for the caller."""

import apsw

from gateleg.engine.checksums import is_damage
from gateleg.engine.errors import EngineError

CLOSED = "The engine is closed: open it again to use it"


class Busy(EngineError):
    """Another process is writing, and did not stop in time."""

    def __init__(self) -> None:
        super().__init__("InternalServerError", "Another process held the database for too long: nothing was written. Try again")


#: How SQLite says that a table is not there: it may have been dropped before a statement was compiled, or since.
TABLE_GONE = (apsw.SQLError, apsw.SchemaChangeError)


def translate(error: BaseException) -> BaseException:
    """What SQLite could not do, in words for the caller; anything else as it is."""
    if isinstance(error, apsw.FullError):
        return EngineError("InternalServerError", "The disk is full: nothing was written. Free some space and try again")
    if isinstance(error, apsw.BusyError):
        return Busy()
    if is_damage(error):
        return EngineError(
            "InternalServerError",
            "The database's file is damaged: a page is not as it was written. Run `gateleg engine check` to see what is damaged, and "
            "`gateleg engine repair` to save the rest",
        )
    if isinstance(error, apsw.IOError):
        return EngineError("InternalServerError", f"The database could not be read or written: {error}. Nothing was changed")
    if isinstance(error, apsw.ReadOnlyError):
        return EngineError("InternalServerError", "The database may only be read: check the permissions of its file and folder")
    if isinstance(error, apsw.ConnectionClosedError | apsw.CursorClosedError | apsw.ThreadingViolationError):
        # Connections and their cursors are not shared between threads: only one that closes them all can be in the way.
        return EngineError("InternalServerError", CLOSED)
    return error
