"""The secret that signs links: the caller's, or one that is stored in the store's folder."""

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
MIN_BYTES = 16


def load_secret(tree: Tree, secret: bytes | str | None) -> bytes:
    """The caller's secret, or else the one stored in the folder, which all processes share. It is created at first use, so that links
    survive restarts. Raises `ValueError` if the secret is too short.
    """
    if secret is not None:
        encoded = secret.encode() if isinstance(secret, str) else bytes(secret)
        if len(encoded) < MIN_BYTES:
            raise ValueError(f"A secret must have {MIN_BYTES} bytes or more.")
        return encoded
    while (stored := _read(tree.root)) is None:
        _make(tree)
    if len(stored) < MIN_BYTES:
        raise ValueError(f"The secret in {tree.path} is truncated: remove the file, which invalidates all existing links.")
    return stored


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
