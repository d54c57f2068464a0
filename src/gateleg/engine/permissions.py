"""Files and folders that only their owner may use, whatever the umask.

SQLite gives the write-ahead log and its index the permissions of the database's file.
"""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

FILE = 0o600
FOLDER = 0o700

#: What SQLite puts beside a database's file.
COMPANIONS = ("-wal", "-shm", "-journal")


def make_folder(path: Path) -> None:
    """Create a folder and what is missing above it. Folders that are there stay as they are: they may be shared on purpose."""
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        try:
            folder.mkdir(mode=FOLDER)
        except FileExistsError:
            continue  # another process was first
        folder.chmod(FOLDER)
    if not path.is_dir():
        raise NotADirectoryError(20, "not a folder", str(path))


def open_to_others(folder: Path) -> str | None:
    """What others may do with a folder of ours that is there, as a warning; none if it is its owner's alone, or not ours."""
    try:
        found = folder.stat()
    except OSError:
        return None
    if found.st_uid != os.geteuid() or not found.st_mode & 0o077:
        return None
    mode = f"{found.st_mode & 0o777:04o}"
    return (
        f"other users of this machine may look into {folder} (mode {mode}). They cannot read the database, which is its owner's alone, "
        f"but they see what is there. Unless that is meant, run: chmod 700 {folder}"
    )


def make_file(path: Path) -> None:
    """Create an empty file, unless it is there.

    It gets its name once it is closed: closing a file that SQLite has open in this process would end SQLite's locks on it.
    """
    if path.exists():
        return
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        os.fchmod(handle, FILE)
        os.close(handle)
        with suppress(FileExistsError):
            _name(draft, path)
    finally:
        os.unlink(draft)


def _name(draft: str, path: Path) -> None:
    """Give a file that is closed another name, which must be free."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no links. Nobody else of this process is likely to open the same new file at this very moment.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE))
        path.chmod(FILE)


def write_file(path: Path, content: bytes) -> None:
    """Write a file whole, in place of one that may be there."""
    handle, draft = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, FILE)
            file.write(content)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def tighten(database: Path) -> None:
    """Take the permissions of others from a database that is there, and from what SQLite keeps beside it, where they are our own."""
    for path in (database, *(Path(f"{database}{end}") for end in COMPANIONS)):
        with suppress(FileNotFoundError):
            found = path.stat()
            if found.st_uid == os.geteuid() and stat.S_ISREG(found.st_mode) and found.st_mode & 0o077:
                path.chmod(found.st_mode & ~0o077 & 0o7777)
