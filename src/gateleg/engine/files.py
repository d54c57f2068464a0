"""A database file and what surrounds it: permissions, read-only media, page checksums, and SQLite's errors in words.

Files and new folders are accessible to their owner only, whatever the umask; SQLite gives the write-ahead log and its index the permissions
of the database file.

In WAL mode even a reader writes, to the shared memory beside the file. Where it cannot, on read-only media or in a folder that this process
cannot write, SQLite reads a file whose log is empty as if nobody could ever change it, or joins processes that have it open and share their
memory.

SQLite's checksum VFS makes reading a corrupt page an error, never a wrong answer. The last eight bytes of each page hold its checksum. It
is computed when a page is written to the log or the file and verified when it is read; this covers rows, indexes, the catalog, the change
log and backups alike, and SQLite's own pointers between pages.
"""

import os
import stat
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import apsw
import apsw.sqlite_extra

from gateleg.engine.errors import EngineError

C = TypeVar("C", bound=apsw.Connection)

FILE_MODE = 0o600
FOLDER_MODE = 0o700

#: Suffixes of the files that SQLite creates beside a database.
SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents. Existing folders are left as they are: they may be shared on purpose."""
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        try:
            folder.mkdir(mode=FOLDER_MODE)
        except FileExistsError:
            continue  # another process created it first
        folder.chmod(FOLDER_MODE)
    if not path.is_dir():
        raise NotADirectoryError(20, "not a folder", str(path))


def open_to_others(folder: Path) -> str | None:
    """A warning if other users can access an existing folder of ours; None if they cannot, or if it is not ours."""
    try:
        status = folder.stat()
    except OSError:
        return None
    if status.st_uid != os.geteuid() or not status.st_mode & 0o077:
        return None
    mode = f"{status.st_mode & 0o777:04o}"
    return (
        f"other users of this machine can list {folder} (mode {mode}). They cannot read the database, which only its owner can open, "
        f"but they see which files exist. Unless that is intended, run: chmod 700 {folder}"
    )


def make_file(path: Path) -> None:
    """Create an empty file unless it exists.

    It is created under a temporary name and renamed after closing: closing a file that SQLite has open in this process would release
    SQLite's locks on it.
    """
    if path.exists():
        return
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        os.fchmod(handle, FILE_MODE)
        os.close(handle)
        with suppress(FileExistsError):
            _rename(draft, path)
    finally:
        os.unlink(draft)


def _rename(draft: str, path: Path) -> None:
    """Give a closed file a name that must be free."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links. Another thread of this process is unlikely to open the same new file at this very moment.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
        path.chmod(FILE_MODE)


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically, replacing one that may exist."""
    handle, draft = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, FILE_MODE)
            file.write(content)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def tighten(database: Path) -> None:
    """Revoke other users' access to an existing database and to the files that SQLite keeps beside it, as far as they are ours."""
    for path in (database, *(Path(f"{database}{end}") for end in SQLITE_SUFFIXES)):
        with suppress(FileNotFoundError):
            status = path.stat()
            if status.st_uid == os.geteuid() and stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
                path.chmod(status.st_mode & ~0o077 & 0o7777)


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


def is_mismatch(error: BaseException) -> bool:
    """Whether an error is a checksum mismatch."""
    return isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA


def is_damage(error: BaseException) -> bool:
    """Whether an error of SQLite means that the file is corrupt."""
    return is_mismatch(error) or isinstance(error, apsw.CorruptError | apsw.NotADBError)


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
