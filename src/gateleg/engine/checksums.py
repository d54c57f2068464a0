"""Page checksums by SQLite's checksum VFS: reading a corrupted page is an error, never a wrong answer.

The last eight bytes of each page hold the sum of the others. It is computed when a page is written to the log or the file, and verified
when one is read; that covers rows, indexes, the catalog, the log of changes and backups alike, and SQLite's own pointers between pages.
"""

import threading

import apsw
import apsw.sqlite_extra

from gateleg.engine.errors import EngineError

#: The file system that sums and verifies. It leaves files without room for checksums as they are.
VFS = "cksmvfs"
#: Bytes at the end of each page that hold its checksum.
RESERVED = 8

_loading = threading.Lock()


def vfs() -> str:
    """The name of the file system, which is loaded into SQLite once for each process."""
    with _loading:
        if VFS not in apsw.vfs_names():
            with apsw.Connection(":memory:") as connection:
                try:
                    apsw.sqlite_extra.load(connection, "cksumvfs")
                except (apsw.sqlite_extra.NotAvailable, apsw.Error) as error:
                    raise EngineError(
                        "InternalServerError",
                        f"SQLite's checksum VFS cannot be loaded ({error}): install apsw from a wheel, which brings it along",
                    ) from error
            connection.close()
    return VFS


def protect(connection: apsw.Connection) -> None:
    """Have a file that is still empty, or is about to be vacuumed, keep room for checksums."""
    connection.reserve_bytes(reserve=RESERVED)


def protected(connection: apsw.Connection) -> bool:
    """Whether the file of a connection has checksums."""
    return connection.reserve_bytes() == RESERVED


def is_mismatch(error: BaseException) -> bool:
    """Whether an error says that a page does not have its checksum."""
    return isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA


def is_damage(error: BaseException) -> bool:
    """Whether an error of SQLite's says that the file is not as it was written."""
    return is_mismatch(error) or isinstance(error, apsw.CorruptError | apsw.NotADBError)
