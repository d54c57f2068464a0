"""The host's secret: given in the settings, or created once and kept in the data folder."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from gateleg.host.errors import Refusal
from gateleg.net import Secret
from gateleg.private_files import FILE_MODE, make_folder, warn_of_exposure

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SHORTEST", "given_secret", "kept_secret", "read_secret"]

SECRET_FILE = "secret"
_BYTES = 32
#: Shorter secrets can be guessed.
SHORTEST = 16


class SecretCutShort(Refusal):
    """The file with the host's secret is truncated."""

    fix = "Restore the file from a backup, or delete it: existing sessions, links and cursors then become invalid."


def given_secret(text: str) -> Secret:
    """The secret of the settings."""
    if len(text.encode()) < SHORTEST:
        raise ValueError(f"A secret has {SHORTEST} bytes or more.")
    return Secret(text.encode())


def kept_secret(folder: Path) -> Secret:
    """The secret of a data folder, created at first use and readable by its owner only. Processes that start together agree on one."""
    make_folder(folder)
    place = folder / SECRET_FILE
    if not place.exists():
        fresh = folder / f"{SECRET_FILE}.{os.getpid()}.{secrets.token_hex(4)}"
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        try:
            os.write(file, secrets.token_hex(_BYTES).encode())
            os.fsync(file)
        finally:
            os.close(file)
        try:
            # A hard link fails if the file exists; a rename would overwrite the secret of a faster process.
            os.link(fresh, place)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return read_secret(folder)


class SecretMissing(Refusal):
    """The data folder contains no secret of a host."""

    fix = "Set the data folder of the host with --data or in the settings; `gateleg up` creates the secret."


def read_secret(folder: Path) -> Secret:
    """The secret in the data folder of a host."""
    place = folder / SECRET_FILE
    if not place.exists():
        raise SecretMissing(f"There is no host secret in {folder}.")
    warn_of_exposure(place)
    kept = place.read_bytes().strip()
    if len(kept) < SHORTEST:
        raise SecretCutShort(f"The secret in {place} is truncated.")
    return Secret(kept)
