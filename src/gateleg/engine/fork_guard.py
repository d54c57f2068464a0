"""Fork guard: keeps a forked child from using its parent's connections, because SQLite's locks do not survive a fork.

A child that kept using an inherited file would hold no lock that others can see: the parent, when closing the file, would consider itself
the last user and delete the log that the child still writes to. The child's writes would be lost.
"""

import os
import weakref
from typing import Protocol

FORKED_WHILE_OPEN = (
    "was open when this process was forked, and SQLite's locks do not survive a fork: close the engine before forking, "
    "or start the process by spawning it"
)


class OpenFile(Protocol):
    """Anything that holds a database file open."""

    path: str

    def abandon_after_fork(self) -> None:
        """Let go of the inherited connections."""


_open_files: "weakref.WeakSet[OpenFile]" = weakref.WeakSet()
#: Device and inode of the files that were open at a fork.
_files_open_at_fork: set[tuple[int, int]] = set()
#: Objects that a child must never close; referenced so that garbage collection does not close them.
_kept_alive: list[object] = []


def register(file: OpenFile) -> None:
    """Call `abandon_after_fork` in every forked child."""
    _open_files.add(file)


def unregister(file: OpenFile) -> None:
    """After the file was closed: a child may open it."""
    _open_files.discard(file)


def was_open_at_fork(path: str) -> bool:
    """Whether a file was open in the parent when this process was forked."""
    return bool(_files_open_at_fork) and _identity(path) in _files_open_at_fork


def keep_alive(*things: object) -> None:
    """Keep objects from being garbage-collected."""
    _kept_alive.extend(things)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _after_fork() -> None:
    for file in list(_open_files):
        identity = _identity(file.path)
        if identity is not None:
            _files_open_at_fork.add(identity)
        file.abandon_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
