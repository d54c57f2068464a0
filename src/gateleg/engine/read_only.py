"""Files on read-only media, or in folders that this process cannot write: whether and how SQLite can read them.

In WAL mode even a reader writes, to the shared memory beside the file. Where it cannot, SQLite reads a file whose log is empty as if nobody
could ever change it, or joins processes that have it open and share their memory.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import apsw

from gateleg.engine.errors import EngineError

C = TypeVar("C", bound=apsw.Connection)


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


def read_only_access(path: str, *, wanted: bool = False) -> ReadOnlyAccess | None:
    """How to open an existing file for reading only, if this process cannot write it, or if that is `wanted`; None otherwise."""
    file = Path(path)
    if not file.is_file() or not file.stat().st_size:
        return None
    name = f"file:{quote(str(file.resolve()))}"
    obstacle = _obstacle(file)
    if obstacle is None:
        return ReadOnlyAccess(name, "is open for reading only: nothing was written", may_recover=True) if wanted else None
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
