"""Forks: SQLite's locks do not survive a fork, so a child must not use connections of its parent.

A child that went on with an inherited file would hold no lock on it that its parent or others can see: the parent, closing the file,
would take itself for its last user and remove the log that the child still writes to. What the child wrote would be lost.
"""

import os
import weakref
from typing import Protocol

WHY = (
    "was open when this process was forked, and SQLite's locks do not survive a fork: close the engine before forking, "
    "or start the process by spawning it"
)


class Watched(Protocol):
    """Something that has a file open."""

    path: str

    def abandon(self) -> None:
        """Forget what was inherited."""


_watched: "weakref.WeakSet[Watched]" = weakref.WeakSet()
#: Device and inode of the files that were open at a fork.
_inherited: set[tuple[int, int]] = set()
#: What a child must never close, kept so that it is not closed by being forgotten.
_kept: list[object] = []


def watch(watched: Watched) -> None:
    """Have something told in every child of this process."""
    _watched.add(watched)


def forget(watched: Watched) -> None:
    """It has been closed: a child may open the file."""
    _watched.discard(watched)


def inherited(path: str) -> bool:
    """Whether a file was open in the parent when this process was forked."""
    return bool(_inherited) and _identity(path) in _inherited


def keep(*things: object) -> None:
    """Never let these go."""
    _kept.extend(things)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _after_fork() -> None:
    for watched in list(_watched):
        identity = _identity(watched.path)
        if identity is not None:
            _inherited.add(identity)
        watched.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
