"""A database file: how to open it on read-only media, page checksums, and SQLite's errors in words.

In WAL mode even a reader writes, to the shared memory beside the file. Where it cannot, on read-only media or in a folder that this process
cannot write, SQLite reads a file whose log is empty as if nobody could ever change it, or joins processes that have it open and share their
memory.

SQLite's checksum VFS makes reading a corrupt page an error, never a wrong answer. The last eight bytes of each page hold its checksum. It
is computed when a page is written to the log or the file and verified when it is read; this covers rows, indexes, the catalog, the change
log and backups alike, and SQLite's own pointers between pages.
"""

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import apsw
import apsw.sqlite_extra

from gateleg.engine.errors import EngineError

C = TypeVar("C", bound=apsw.Connection)

#: Bytes that are copied at once.
COPY_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ReadOnlyAccess:
    """How to open a file for reading only: SQLite's name for it, the refusal of a write, and whether SQLite may recover the log."""

    uri: str
    refusal: str
    may_recover: bool = False

    def connect(self, kind: type[C], vfs: str) -> C:
        """A connection that leaves the file, and the log that belongs to it, as they are."""
        mode = apsw.SQLITE_OPEN_READWRITE if self.may_recover else apsw.SQLITE_OPEN_READONLY
        connection = kind(self.uri, flags=mode | apsw.SQLITE_OPEN_URI, vfs=vfs)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        return connection


class NeedsUpgrade(EngineError):
    """A file is in an earlier form, and cannot be brought to today's because it is open for reading only."""

    def __init__(self, path: str) -> None:
        super().__init__(
            "InternalServerError",
            f"{path} was written by an earlier version of Gateleg and must be upgraded to be read, but it cannot be written: copy it, with "
            "the -wal file beside it if there is one, to a folder that can be written, and open the copy",
        )


def copy_exclusively(source: Path, copy: Path) -> None:
    """Copy a database that nobody has open. Uses SQLite's VFS: closing a descriptor of our own would release this process's locks."""
    writable = is_writable(source)
    flags = apsw.SQLITE_OPEN_MAIN_DB | (apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY)
    file = apsw.VFSFile("unix", str(source.resolve()), [flags, 0])
    try:
        file.xLock(apsw.SQLITE_LOCK_SHARED)
        if writable:
            file.xLock(apsw.SQLITE_LOCK_EXCLUSIVE)
        size = file.xFileSize()
        with copy.open("wb") as new:
            for at in range(0, size, COPY_CHUNK_BYTES):
                new.write(file.xRead(min(COPY_CHUNK_BYTES, size - at), at))
    except apsw.BusyError:
        raise EngineError("InternalServerError", f"{source} is in use: stop the processes that have it open, then repair it") from None
    finally:
        file.xUnlock(apsw.SQLITE_LOCK_NONE)
        file.xClose()


def read_only_access(path: str, *, force: bool = False) -> ReadOnlyAccess | None:
    """How to open an existing file for reading only, if this process cannot write it, or with `force`; None otherwise."""
    file = Path(path)
    if not file.is_file() or not file.stat().st_size:
        return None
    name = f"file:{quote(str(file.resolve()))}"
    obstacle = _obstacle(file)
    if obstacle is None:
        return ReadOnlyAccess(name, "is open for reading only: nothing was written", may_recover=True) if force else None
    refusal = f"is open for reading only, because {obstacle}: nothing was written. Copy it to a folder that can be written to change it"
    log, shared = Path(f"{path}-wal"), Path(f"{path}-shm")
    if shared.exists() and log.exists():
        return ReadOnlyAccess(name, refusal)
    if log.exists() and log.stat().st_size:
        raise EngineError(
            "InternalServerError",
            f"{path} was not closed: its latest writes are in {log.name}, and only a process that can write the folder can read them, but "
            f"{obstacle}. Copy both files to a folder that can be written, and open the copy",
        )
    return ReadOnlyAccess(f"{name}?immutable=1", refusal)


def _obstacle(file: Path) -> str | None:
    """Why a file cannot be written; None if it can."""
    if not is_writable(file):
        return "the file cannot be written"
    return None if is_writable(file.parent) else "its folder cannot be written"


def is_writable(path: Path) -> bool:
    """Whether this process may write a file, or files in a folder."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


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


def is_damage(error: BaseException) -> bool:
    """Whether an error of SQLite means that the file is corrupt. A checksum that does not match is an I/O error."""
    is_mismatch = isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA
    return is_mismatch or isinstance(error, apsw.CorruptError | apsw.NotADBError)


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
