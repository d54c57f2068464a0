"""A disk that fills up, as SQLite sees it: the system's own calls, of which some answer that there is no space left.

An exception of a file system that is written in Python would reach the caller even where SQLite takes an error in its stride, as it does
when a checkpoint fails after its commit; so the calls are replaced underneath SQLite's own file system.
"""

import ctypes
import errno
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

_CALLS = {
    "write": (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t),
    "pwrite": (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64),
    "pwrite64": (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64),
}


class Room:
    """How many writes there is room for; none if there is no end of it."""

    def __init__(self) -> None:
        self.left: int | None = None

    def take(self) -> bool:
        """Whether there is room for one more."""
        if self.left is None:
            return True
        self.left -= 1
        return self.left >= 0


@contextmanager
def limited_room() -> Iterator[Room]:
    """Put all of SQLite's writes in this process under a limit."""
    system = apsw.VFS("", "unix")
    library = ctypes.CDLL(None, use_errno=True)
    room = Room()
    kept = []
    for name, arguments in _CALLS.items():
        replacement = _limited(room, getattr(library, name), arguments)
        if system.xSetSystemCall(name, ctypes.cast(replacement, ctypes.c_void_p).value or 0):
            kept.append((name, replacement))
    try:
        yield room
    finally:
        for name, _ in kept:
            system.xSetSystemCall(name, 0)


def _limited(room: Room, call: "ctypes._NamedFuncPointer", arguments: tuple[type, ...]) -> "ctypes._CFunctionType":
    call.argtypes = arguments
    call.restype = ctypes.c_ssize_t

    def replacement(*given: int) -> int:
        if room.take():
            written: int = call(*given)
            return written
        ctypes.set_errno(errno.ENOSPC)
        return -1

    return ctypes.CFUNCTYPE(ctypes.c_ssize_t, *arguments, use_errno=True)(replacement)
