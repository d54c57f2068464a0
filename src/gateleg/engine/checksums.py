"""Page checksums by SQLite's checksum VFS: reading a corrupt page is an error, never a wrong answer.

The last eight bytes of each page hold its checksum. It is computed when a page is written to the log or the file and verified when it is
read; this covers rows, indexes, the catalog, the change log and backups alike, and SQLite's own pointers between pages.
"""

import threading

import apsw
import apsw.sqlite_extra

from gateleg.engine.errors import EngineError

#: The checksum VFS. It leaves files without reserved bytes as they are.
VFS = "cksmvfs"
#: Bytes at the end of each page that hold its checksum.
RESERVED_BYTES = 8

_loading = threading.Lock()


def vfs() -> str:
    """The name of the checksum VFS, which is loaded into SQLite once per process."""
    with _loading:
        if VFS not in apsw.vfs_names():
            with apsw.Connection(":memory:") as connection:
                try:
                    apsw.sqlite_extra.load(connection, "cksumvfs")
                except (apsw.sqlite_extra.NotAvailable, apsw.Error) as error:
                    raise EngineError(
                        "InternalServerError",
                        f"SQLite's checksum VFS cannot be loaded ({error}): install apsw from a wheel, which includes it",
                    ) from error
            connection.close()
    return VFS


def reserve(connection: apsw.Connection) -> None:
    """Reserve space for checksums in a file that is still empty or about to be vacuumed."""
    connection.reserve_bytes(reserve=RESERVED_BYTES)


def has_checksums(connection: apsw.Connection) -> bool:
    """Whether a connection's file has checksums."""
    return connection.reserve_bytes() == RESERVED_BYTES


def is_mismatch(error: BaseException) -> bool:
    """Whether an error is a checksum mismatch."""
    return isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA


def is_damage(error: BaseException) -> bool:
    """Whether an error of SQLite means that the file is corrupt."""
    return is_mismatch(error) or isinstance(error, apsw.CorruptError | apsw.NotADBError)
