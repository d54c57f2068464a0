"""Getting the content of a document onto this machine: from an object store, a folder, or an address behind the guard."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from gateleg.apps.rag.errors import DocumentTooLarge, SourceMissing
from gateleg.net.http import HttpRequest
from gateleg.objects import ObjectMissing, plain_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.apps.rag.ingesting.job_types import SourceConfig
    from gateleg.objects import AsyncObjects
    from gateleg.web import Resources

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Fetched:
    """The content of a document in a file of this machine."""

    path: Path
    size: int
    #: SHA-256 in hexadecimal
    digest: str
    content_type: str | None = None
    #: where it came from, for one that was fetched
    url: str | None = None


def store_of(resources: Resources[Any], bucket: str | None) -> AsyncObjects:
    """The object store of a name of the settings; the host's own without one."""
    return resources.objects if bucket is None else resources.objects_named(bucket)


async def fetch_source(resources: Resources[Any], source: SourceConfig, folder: Path, most: int) -> Fetched:
    """Copy the content into a folder. Raises `SourceMissing` and `DocumentTooLarge`."""
    path = folder / "source"
    if source.kind == "url":
        return await _fetch_url(resources, source.url or "", path, most)
    if source.kind == "folder":
        return await asyncio.to_thread(_copy_file, Path(source.folder or ""), source.key, path, most)
    try:
        download = await store_of(resources, source.bucket).stream(source.key)
    except ObjectMissing:
        raise SourceMissing(f"There is no object {source.key!r}.") from None
    async with download:
        if download.info.size > most:
            raise _too_large(download.info.size, most)
        size, digest = await _written(aiter(download), path, most)
    return Fetched(path, size, digest, download.info.content_type)


async def _fetch_url(resources: Resources[Any], url: str, path: Path, most: int) -> Fetched:
    request = HttpRequest(url, headers={"accept": "*/*", "user-agent": "gateleg"}, method="GET")
    answer = await replace(resources.outgoing, limit=most).open(request)
    if answer.status != 200:
        answer.close()
        raise SourceMissing(
            f"{url} answers with status {answer.status}.", fix="Give the address of a page that can be read without signing in."
        )
    size, digest = await _written(aiter(answer), path, most)
    return Fetched(path, size, digest, answer.headers.get("content-type"), answer.url)


async def _written(pieces: AsyncIterator[bytes], path: Path, most: int) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    with path.open("wb") as file:
        async for piece in pieces:
            size += len(piece)
            if size > most:
                raise _too_large(size, most)
            digest.update(piece)
            file.write(piece)
    return size, digest.hexdigest()


def _copy_file(folder: Path, key: str, path: Path, most: int) -> Fetched:
    source = (folder / key).resolve()
    # A link must not lead out of the folder that the operator has named.
    if not source.is_relative_to(folder.resolve()) or not source.is_file():
        raise SourceMissing(f"There is no file {key!r} in the folder.")
    size, digest = 0, hashlib.sha256()
    with source.open("rb") as file, path.open("wb") as copy:
        while piece := file.read(_PIECE):
            size += len(piece)
            if size > most:
                raise _too_large(size, most)
            digest.update(piece)
            copy.write(piece)
    return Fetched(path, size, digest.hexdigest())


def _too_large(size: int, most: int) -> DocumentTooLarge:
    return DocumentTooLarge(f"The document has {size:,} bytes or more; {most:,} are allowed.")


def name_of_url(url: str) -> str:
    """A name for what is at an address: the last part of its path, or its host."""
    parts = urlsplit(url)
    last = PurePosixPath(unquote(parts.path)).name
    return plain_name(last) if last else plain_name(parts.netloc or "page")
