"""Originals: the files that were ingested, each under a key with the digest of its content.

A signed link writes to a key of its own. The ingestion copies what it has read to the original's key, from which everything else is read,
and leaves an empty object with the digest behind, so that the link cannot be used again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.rag.errors import SourceChanged, SourceMissing
from gateleg.apps.rag.object_keys import digest_in_key
from gateleg.objects import ObjectExists

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.rag.ingesting.job_types import SourceConfig
    from gateleg.apps.rag.ingesting.source_download import FetchedSource
    from gateleg.objects import AsyncObjects, ObjectInfo

#: The metadata of an uploaded object whose content was moved to an original: its digest.
_MOVED = "moved-to"


async def store_original(objects: AsyncObjects, key: str, content: bytes | Path, digest: str, content_type: str | None) -> None:
    """Store an original under its key, unless it is there. An object with other content under this key is replaced."""
    try:
        await objects.put(key, content, content_type=content_type, sha256=digest, if_absent=True)
    except ObjectExists:
        if (await objects.head(key)).sha256 != digest:
            await objects.put(key, content, content_type=content_type, sha256=digest)


async def retire_upload(objects: AsyncObjects, key: str, digest: str) -> None:
    """Put an empty object in place of an upload whose content is now an original: links create objects, and never replace them."""
    await objects.put(key, b"", content_type="application/octet-stream", metadata={_MOVED: digest})


async def find_upload(objects: AsyncObjects, key: str) -> ObjectInfo:
    """The object of an upload, or the original that its content was moved to. Raises `ObjectMissing` and `SourceMissing`."""
    info = await objects.head(key)
    digest = info.metadata.get(_MOVED)
    if digest is None or info.size:
        return info
    originals = (await objects.list(f"{key.rpartition('/source/')[0]}/source/{digest}/", limit=1)).objects
    if not originals:
        raise SourceMissing(f"The content of {key!r} was ingested, and has been removed since.", fix="Upload the file again.")
    return await objects.head(originals[0].key)


def check_content(source: SourceConfig, fetched: FetchedSource) -> None:
    """Refuse content of this host that was replaced since its ingestion was requested, or since it was first ingested."""
    if source.kind != "object" or source.bucket is not None:
        return
    digest = digest_in_key(source.key)
    unchanged = source.etag in (None, fetched.etag) if digest is None else fetched.digest.startswith(digest)
    if not unchanged:
        raise SourceChanged(
            "The file was replaced after its ingestion was requested; nothing of it was ingested.",
            fix="Upload the file again with a new link, and ingest it.",
        )
