"""The folder tree of a store: opens, creates, syncs and removes the folders that contain objects."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from gateleg.objects.directory.folders import Folder
from gateleg.objects.private import FILE, make_private, restrict_tree_to_owner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: The maximum number of folders to remember as synced. Beyond that, all are forgotten, and each is synced once more.
_MAX_SYNCED_FOLDERS = 10_000
#: Attempts to use a folder that a concurrent deletion keeps removing.
_ATTEMPTS = 100


#: The name of a marker file: the permissions of existing files were tightened once. Walking the tree at each start would take too long.
_MARKER = "private"


class Tree:
    """The store's folder: `keys` contains the objects, `incoming` unfinished uploads."""

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        make_private(root)
        _restrict_existing(root)
        self.durable = durable
        self.path = os.path.realpath(root)
        self.root = Folder(self.path)
        for name in ("keys", "incoming"):
            self.root.make(name)
        self.keys = self.root.enter("keys")
        self.incoming = self.root.enter("incoming")
        self._synced: dict[tuple[str, ...], tuple[int, int]] = {}
        self._lock = threading.Lock()
        if durable:
            self.root.sync()

    def close(self) -> None:
        for folder in (self.keys, self.incoming, self.root):
            folder.close()

    def open(self, path: Sequence[str]) -> int:
        """Open an object's file for reading. Raises `FileNotFoundError`."""
        with self.keys.descend(path[:-1]) as folder:
            return folder.read(path[-1])

    def place(self, incoming: str, path: Sequence[str], *, replace: bool = True) -> bool:
        """Move an uploaded file to its place; durable when this returns. Without `replace`, returns False if the file exists."""
        for left in reversed(range(_ATTEMPTS)):
            try:
                with self._open_or_create(path[:-1]) as folder:
                    if replace:
                        folder.move_in(self.incoming, incoming, path[-1])
                    elif not folder.move_in_if_absent(self.incoming, incoming, path[-1]):
                        return False
                    if self.durable:
                        folder.sync()
                    return True
            except FileNotFoundError:
                # A deletion removed the folder while it was still empty. If the uploaded file itself is missing, raise.
                if not left or incoming not in self.incoming.names():
                    raise
        raise AssertionError("the last attempt raises")

    def remove(self, path: Sequence[str]) -> None:
        """Remove an object's file and the folders that become empty. Raises `FileNotFoundError`."""
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

    def _open_or_create(self, path: Sequence[str]) -> Folder:
        """Open a folder, created if needed. The names of it and of the folders above are synced to disk, even if others created them."""
        folder = self.keys.reopen()
        for depth, name in enumerate(path, start=1):
            with folder:
                try:
                    inner = folder.enter(name)
                except FileNotFoundError:
                    folder.make(name)
                    inner = folder.enter(name)
                if self.durable:
                    self._sync_once(folder, inner, tuple(path[:depth]))
            folder = inner
        return folder

    def _sync_once(self, outer: Folder, inner: Folder, path: tuple[str, ...]) -> None:
        identity = inner.identity
        if self._synced.get(path) == identity:
            return
        outer.sync()
        with self._lock:
            if len(self._synced) >= _MAX_SYNCED_FOLDERS:
                self._synced.clear()
            self._synced[path] = identity


def _restrict_existing(root: Path) -> None:
    """Remove permissions of other users that an earlier version or a copy left."""
    mark = root / _MARKER
    if not mark.exists():
        restrict_tree_to_owner(root)
        mark.touch(FILE)
