"""Files from a request into a folder, or into the object store: counted, hashed and told by their content while they arrive."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from email.message import Message
from typing import TYPE_CHECKING

from gateleg.objects import plain_name, sniff, sniff_file
from gateleg.objects.sniffing import HEAD
from gateleg.web.uploads.multipart import FileBegins, read_form
from gateleg.web.uploads.rules import BadForm, UploadRules

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.requests import Request

    from gateleg.objects import AsyncObjects, ObjectInfo

#: Bytes that are collected before a thread writes them.
_BLOCK = 1 << 20
#: Bytes that a form may have besides its files.
_FORM = 1 << 20


@dataclass(frozen=True)
class ReceivedFile:
    """A file that has arrived: its name made plain, where it lies, and what it is by its content."""

    name: str
    path: Path
    size: int
    sha256: str
    content_type: str


async def receive_files(request: Request, folder: Path, rules: UploadRules) -> list[ReceivedFile]:
    """The files of a request, each in a folder of its own below `folder`, so that they keep their names.

    The request is a form with files, or one file as its body, named by `Content-Disposition`. What breaks the rules is refused as soon as
    that is known: by the length that is announced, by the first bytes of a file, or by what has arrived. The caller removes the folder.
    """
    content_type = request.headers.get("content-type", "")
    rules.check_size(_announced(request) - (_FORM if _is_form(content_type) else 0))
    found: list[ReceivedFile] = []
    writing: _Writing | None = None
    received = 0
    async for event in _events(request, content_type):
        if isinstance(event, FileBegins):
            if writing is not None:
                found.append(await writing.finish(rules))
            if len(found) == rules.files:
                raise BadForm(f"At most {rules.files} files are taken at once.", fix="Send fewer files at once.")
            writing = _Writing(folder / str(len(found)), plain_name(event.name))
        elif isinstance(event, bytes) and writing is not None:
            received += len(event)
            rules.check_size(received)
            await writing.write(event, rules)
    if writing is not None:
        found.append(await writing.finish(rules))
    if not found:
        raise BadForm("There is no file in the body.")
    return found


async def receive_object(request: Request, objects: AsyncObjects, key: str, rules: UploadRules, *, name: str = "") -> ObjectInfo:
    """The body of a request as an object, written while it arrives; it is there when all of it has come and fits the rules, or not at all.

    Its type is the one that its content has.
    """
    rules.check_size(_announced(request))
    chunks = request.stream().__aiter__()
    head = b""
    while len(head) < HEAD:
        try:
            head += await anext(chunks)
        except StopAsyncIteration:
            break
    rules.check_size(len(head))
    found = sniff(head)
    rules.check_type(name or key.rpartition("/")[2], found)
    return await objects.put(key, _whole(head, chunks, rules), content_type=found)


async def _whole(head: bytes, chunks: AsyncIterator[bytes], rules: UploadRules) -> AsyncIterator[bytes]:
    received = len(head)
    yield head
    async for chunk in chunks:
        received += len(chunk)
        rules.check_size(received)
        if chunk:
            yield chunk


async def _events(request: Request, content_type: str) -> AsyncIterator[object]:
    if _is_form(content_type):
        async for event in read_form(content_type, request.stream()):
            yield event
        return
    yield FileBegins(sent_name(request.headers.get("content-disposition", "")))
    async for chunk in request.stream():
        yield chunk


def _is_form(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "multipart/form-data"


def _announced(request: Request) -> int:
    """The bytes that a request says it has; 0 when it says nothing."""
    length = request.headers.get("content-length", "")
    return int(length[:18]) if length.isascii() and length.isdigit() else 0


def sent_name(disposition: str) -> str:
    """The name of a file that a `Content-Disposition` header has, in any script."""
    message = Message()
    message["content-disposition"] = disposition
    return message.get_filename("")


class _Writing:
    """One file on its way to the disk."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(mode=0o700)
        self.path = folder / name
        self._file = self.path.open("wb")
        self._digest = hashlib.sha256()
        self._block = bytearray()
        self._size = 0
        self._told = False

    async def write(self, piece: bytes, rules: UploadRules) -> None:
        self._block += piece
        self._size += len(piece)
        if not self._told and self._size >= HEAD:
            self._told = True
            rules.check_start(self.path.name, sniff(bytes(self._block[:HEAD])))
        if len(self._block) >= _BLOCK:
            await self._flush()

    async def _flush(self) -> None:
        block, self._block = bytes(self._block), bytearray()
        await asyncio.to_thread(self._keep, block)

    def _keep(self, block: bytes) -> None:
        self._file.write(block)
        self._digest.update(block)

    async def finish(self, rules: UploadRules) -> ReceivedFile:
        await self._flush()
        self._file.close()
        found = await asyncio.to_thread(sniff_file, self.path)
        rules.check_type(self.path.name, found)
        return ReceivedFile(self.path.name, self.path, self._size, self._digest.hexdigest(), found)

    def __del__(self) -> None:
        self._file.close()
