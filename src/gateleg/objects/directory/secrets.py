"""The secret that signs links: the caller's, or one that is stored beside the objects."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from gateleg.objects.directory.folders import Folder, sync

if TYPE_CHECKING:
    from gateleg.objects.directory.tree import Tree

_NAME = "secret"
_BYTES = 32
#: Shorter secrets can be guessed.
SHORTEST = 16


def load_secret(tree: Tree, given: bytes | str | None) -> bytes:
    """The given secret, or the one stored in the folder, which all processes share. It is created at first use, so links survive
    restarts.
    """
    if given is not None:
        secret = given.encode() if isinstance(given, str) else bytes(given)
        if len(secret) < SHORTEST:
            raise ValueError(f"A secret has {SHORTEST} bytes or more.")
        return secret
    while (kept := _read(tree.root)) is None:
        _make(tree)
    if len(kept) < SHORTEST:
        raise ValueError(f"The secret in {tree.path} is cut short: remove the file, and links that were given out end.")
    return kept


def _read(root: Folder) -> bytes | None:
    try:
        file = root.read(_NAME)
    except FileNotFoundError:
        return None
    try:
        return os.read(file, _BYTES)
    finally:
        os.close(file)


def _make(tree: Tree) -> None:
    """Write a new secret under its name, unless another process was first."""
    name = secrets.token_hex(16)
    file = tree.incoming.create(name, 0o600)
    try:
        os.write(file, secrets.token_bytes(_BYTES))
        sync(file)
    finally:
        os.close(file)
    tree.root.move_in_if_absent(tree.incoming, name, _NAME)
    tree.root.sync()
