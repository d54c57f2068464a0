"""Files and folders that only their owner can access, whatever the umask.

SQLite gives the write-ahead log and its index the permissions of the database file.
"""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

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
        found = folder.stat()
    except OSError:
        return None
    if found.st_uid != os.geteuid() or not found.st_mode & 0o077:
        return None
    mode = f"{found.st_mode & 0o777:04o}"
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
            _name(draft, path)
    finally:
        os.unlink(draft)


def _name(draft: str, path: Path) -> None:
    """Rename a closed file to a name that must be free."""
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
            found = path.stat()
            if found.st_uid == os.geteuid() and stat.S_ISREG(found.st_mode) and found.st_mode & 0o077:
                path.chmod(found.st_mode & ~0o077 & 0o7777)
