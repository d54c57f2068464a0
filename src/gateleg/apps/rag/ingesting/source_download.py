"""Copy the content of a document to a local file: from an object store, a folder, or a URL (through the guard for outgoing requests)."""

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
    from gateleg.host import Resources
    from gateleg.objects import AsyncObjects

_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FetchedSource:
    """The content of a document in a local file."""

    path: Path
    size: int
    #: SHA-256 in hexadecimal
    digest: str
    content_type: str | None = None
    #: the final URL, if it was fetched from one
    url: str | None = None
    #: the entity tag of the object, if it was one
    etag: str | None = None


def store_of(resources: Resources[Any], bucket: str | None) -> AsyncObjects:
    """The object store with a name from the settings, or the host's own if there is no name."""
    return resources.objects if bucket is None else resources.objects_named(bucket)


async def fetch_source(resources: Resources[Any], source: SourceConfig, folder: Path, max_bytes: int) -> FetchedSource:
    """Copy the content into a folder. Raises `SourceMissing` and `DocumentTooLarge`."""
    path = folder / "source"
    if source.kind == "url":
        return await _fetch_url(resources, source.url or "", path, max_bytes)
    if source.kind == "folder":
        return await asyncio.to_thread(_copy_file, Path(source.folder or ""), source.key, path, max_bytes)
    try:
        download = await store_of(resources, source.bucket).stream(source.key)
    except ObjectMissing:
        raise SourceMissing(f"There is no object {source.key!r}.") from None
    async with download:
        if download.info.size > max_bytes:
            raise _too_large(download.info.size, max_bytes)
        size, digest = await _write_file(aiter(download), path, max_bytes)
    return FetchedSource(path, size, digest, download.info.content_type, etag=download.info.etag)


async def _fetch_url(resources: Resources[Any], url: str, path: Path, max_bytes: int) -> FetchedSource:
    request = HttpRequest(url, headers={"accept": "*/*", "user-agent": "gateleg"}, method="GET")
    answer = await replace(resources.outgoing, limit=max_bytes).open(request)
    if answer.status != 200:
        answer.close()
        raise SourceMissing(f"{url} returned status {answer.status}.", fix="Use the URL of a page that can be read without signing in.")
    size, digest = await _write_file(aiter(answer), path, max_bytes)
    return FetchedSource(path, size, digest, answer.headers.get("content-type"), answer.url)


async def _write_file(pieces: AsyncIterator[bytes], path: Path, max_bytes: int) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    with path.open("wb") as file:
        async for piece in pieces:
            size += len(piece)
            if size > max_bytes:
                raise _too_large(size, max_bytes)
            digest.update(piece)
            file.write(piece)
    return size, digest.hexdigest()


def _copy_file(folder: Path, key: str, path: Path, max_bytes: int) -> FetchedSource:
    source = (folder / key).resolve()
    # A symbolic link must not lead out of the folder that the operator has configured.
    if not source.is_relative_to(folder.resolve()) or not source.is_file():
        raise SourceMissing(f"There is no file {key!r} in the folder.")
    size, digest = 0, hashlib.sha256()
    with source.open("rb") as file, path.open("wb") as copy:
        while piece := file.read(_PIECE_BYTES):
            size += len(piece)
            if size > max_bytes:
                raise _too_large(size, max_bytes)
            digest.update(piece)
            copy.write(piece)
    return FetchedSource(path, size, digest.hexdigest())


def _too_large(size: int, max_bytes: int) -> DocumentTooLarge:
    return DocumentTooLarge(f"The document has {size:,} bytes or more; {max_bytes:,} are allowed.")


def name_of_url(url: str) -> str:
    """A document name for a URL: the last part of its path, or its host."""
    parts = urlsplit(url)
    last = PurePosixPath(unquote(parts.path)).name
    return plain_name(last) if last else plain_name(parts.netloc or "page")
