"""Whose turn it is to upload: one upload of a key at a time, and few of all, because each takes memory and time to read."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gateleg.web.uploads.rules import UploadUnderWay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from gateleg.web.principal import Principal

#: Uploads that one host process reads at the same time.
_AT_ONCE = 4


class Turns:
    """The uploads that are under way, by who sends them."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._busy: set[str] = set()

    @contextmanager
    def take(self, name: str) -> Iterator[None]:
        """Upload for the length of the block; raises `UploadUnderWay`."""
        if name in self._busy:
            raise UploadUnderWay("Another upload with the same key is under way.")
        if len(self._busy) >= self._at_once:
            raise UploadUnderWay("Others are uploading, and this host reads no more uploads at the same time.")
        self._busy.add(name)
        try:
            yield
        finally:
            self._busy.discard(name)


_turns = Turns(_AT_ONCE)


@asynccontextmanager
async def turn(principal: Principal) -> AsyncIterator[None]:
    """Whoever calls uploads for the length of the block."""
    with _turns.take(principal.key_id or principal.name):
        yield


@asynccontextmanager
async def upload_folder() -> AsyncIterator[Path]:
    """A folder for what is uploaded, removed at the end of the block."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="gateleg-upload-"))
    try:
        yield folder
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))
