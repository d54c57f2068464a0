"""The host's secret: given in the settings, or created once and kept in the data folder."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from gateleg.net import Secret
from gateleg.objects.private import FILE, close_to_others, make_private
from gateleg.web.errors import Refusal

if TYPE_CHECKING:
    from pathlib import Path

_NAME = "secret"
_BYTES = 32
#: Shorter ones can be guessed.
SHORTEST = 16


class SecretCutShort(Refusal):
    """The file that keeps the host's secret does not hold all of it."""

    code = "secret-cut-short"
    fix = "Put it back from a backup, or remove the file: sessions, links and cursors that were given out then end."


def given_secret(text: str) -> Secret:
    """The secret of the settings."""
    if len(text.encode()) < SHORTEST:
        raise ValueError(f"A secret has {SHORTEST} bytes or more.")
    return Secret(text.encode())


def kept_secret(folder: Path) -> Secret:
    """The secret of a data folder, made at the first use; only its owner can read it. Processes that start together agree on one."""
    make_private(folder)
    place = folder / _NAME
    if not place.exists():
        fresh = folder / f"{_NAME}.{os.getpid()}.{secrets.token_hex(4)}"
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(file, secrets.token_hex(_BYTES).encode())
            os.fsync(file)
        finally:
            os.close(file)
        try:
            # A link fails where a rename would write over the secret of a process that was faster.
            os.link(fresh, place)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return read_secret(folder)


class SecretMissing(Refusal):
    """No host has kept its secret in the data folder."""

    code = "secret-missing"
    fix = "Name the data folder of the host with --data, or in the settings; `gateleg up` makes one."


def read_secret(folder: Path) -> Secret:
    """The secret that a host has kept in its data folder."""
    place = folder / _NAME
    if not place.exists():
        raise SecretMissing(f"There is no secret of a host in {folder}.")
    close_to_others(place, FILE)
    kept = place.read_bytes().strip()
    if len(kept) < SHORTEST:
        raise SecretCutShort(f"The secret in {place} is cut short.")
    return Secret(kept)
