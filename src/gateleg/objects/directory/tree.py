"""The folders that hold the objects: finding them, making them durable, and removing them when they are empty."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from gateleg.objects.directory.folders import Folder
from gateleg.objects.private import FILE, close_below, make_private

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: Folders whose names are known to be on the disk. When there are more, all are forgotten: it costs a sync each.
_KNOWN = 10_000
#: How often a folder may vanish between its making and its use before something else must be wrong.
_TRIES = 100


#: Says that what was in the folder when it was first opened has been closed to other users; a walk at each start would take too long.
_CLOSED = "private"


class Tree:
    """The store's folder: `keys` holds the objects, `incoming` what is being written."""

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        make_private(root)
        _close_what_was_there(root)
        self.durable = durable
        self.path = os.path.realpath(root)
        self.root = Folder(self.path)
        for name in ("keys", "incoming"):
            self.root.make(name)
        self.keys = self.root.enter("keys")
        self.incoming = self.root.enter("incoming")
        self._known: dict[tuple[str, ...], tuple[int, int]] = {}
        self._lock = threading.Lock()
        if durable:
            self.root.sync()

    def close(self) -> None:
        """Let go of the folders."""
        for folder in (self.keys, self.incoming, self.root):
            folder.close()

    def open(self, path: Sequence[str]) -> int:
        """An object's file, open for reading. Raises `FileNotFoundError`."""
        with self.keys.descend(path[:-1]) as folder:
            return folder.read(path[-1])

    def place(self, incoming: str, path: Sequence[str], *, replace: bool = True) -> bool:
        """Move what was written to its place; durable when this returns. Without `replace`, False if there is a file already."""
        for left in reversed(range(_TRIES)):
            try:
                with self._made(path[:-1]) as folder:
                    if replace:
                        folder.receive(self.incoming, incoming, path[-1])
                    elif not folder.adopt(self.incoming, incoming, path[-1]):
                        return False
                    if self.durable:
                        folder.sync()
                    return True
            except FileNotFoundError:
                # A deletion has removed the folder while it was still empty; or the file itself is gone, which the last try says.
                if not left or incoming not in self.incoming.names():
                    raise
        raise AssertionError("the last try raises")

    def remove(self, path: Sequence[str]) -> None:
        """Remove an object's file and the folders that are empty without it. Raises `FileNotFoundError`."""
        with self.keys.descend(path[:-1]) as folder:
            folder.remove(path[-1])
            if self.durable:
                folder.sync()
        for depth in range(len(path) - 1, 0, -1):
            try:
                with self.keys.descend(path[: depth - 1]) as folder:
                    if not folder.remove_folder(path[depth - 1]):
                        return
            except FileNotFoundError:
                continue

    def _made(self, path: Sequence[str]) -> Folder:
        """A folder, made if need be. Its name and those of the folders above it are on the disk, whoever made them."""
        folder = self.keys.again()
        for depth, name in enumerate(path, start=1):
            with folder:
                try:
                    inner = folder.enter(name)
                except FileNotFoundError:
                    folder.make(name)
                    inner = folder.enter(name)
                if self.durable:
                    self._settle(folder, inner, tuple(path[:depth]))
            folder = inner
        return folder

    def _settle(self, outer: Folder, inner: Folder, path: tuple[str, ...]) -> None:
        identity = inner.identity
        if self._known.get(path) == identity:
            return
        outer.sync()
        with self._lock:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            self._known[path] = identity


def _close_what_was_there(root: Path) -> None:
    """Close what an earlier version, or a copy, has left open to other users of the machine."""
    mark = root / _CLOSED
    if not mark.exists():
        close_below(root)
        mark.touch(FILE)
