"""Limits on concurrent uploads: one for each API key, and few for the host, because each takes memory and time to read."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gateleg.web.uploads.rules import UploadInProgress

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from gateleg.web.principal import Principal

#: The maximum number of concurrent uploads of a host process.
_MAX_CONCURRENT = 4


class UploadSlots:
    """The uploads in progress, by API key."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._busy: set[str] = set()

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold a slot for the duration of the block. Raises `UploadInProgress` if none is free."""
        if name in self._busy:
            raise UploadInProgress("Another upload with the same API key is in progress.")
        if len(self._busy) >= self._limit:
            raise UploadInProgress(f"The host has reached its limit of {self._limit} concurrent uploads.")
        self._busy.add(name)
        try:
            yield
        finally:
            self._busy.discard(name)


_slots = UploadSlots(_MAX_CONCURRENT)


@asynccontextmanager
async def upload_slot(principal: Principal) -> AsyncIterator[None]:
    """Hold the caller's upload slot for the duration of the block."""
    with _slots.hold(principal.key_id or principal.name):
        yield


@asynccontextmanager
async def upload_folder() -> AsyncIterator[Path]:
    """A temporary folder for uploaded files, removed at the end of the block."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="gateleg-upload-"))
    try:
        yield folder
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))
