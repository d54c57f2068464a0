"""Page images: rendered when a page is first viewed, and stored as objects of the document, so that they are removed with it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.documents import check_own_source
from gateleg.apps.rag.errors import PageNotDrawn
from gateleg.apps.rag.ingesting.job_types import SourceConfig
from gateleg.apps.rag.ingesting.source_download import fetch_source
from gateleg.apps.rag.inspecting.page_rendering import PAGE_IMAGE_TYPE, PageSize, can_render_pages, render_page
from gateleg.apps.rag.object_keys import page_key
from gateleg.apps.rag.tables import DocumentStatus
from gateleg.objects import ObjectMissing

if TYPE_CHECKING:
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Document
    from gateleg.host import Resources

#: Maximum pages rendered at a time; each takes a process.
_AT_A_TIME = 2
#: Maximum seconds for rendering a page.
_SECONDS = 20.0
_STATE = "rag-page-images"
_DELETING = (DocumentStatus.DELETE_IN_PROGRESS, DocumentStatus.DELETE_FAILED)


@dataclass(frozen=True, slots=True)
class PageImage:
    """The key of a page image's object, and the size of the page."""

    key: str
    size: PageSize


class _Renderings:
    """The running renderings of this process, at most one for each page."""

    def __init__(self) -> None:
        self.turn = asyncio.Semaphore(_AT_A_TIME)
        self.tasks: dict[str, asyncio.Task[PageImage]] = {}


async def page_image(resources: Resources[RagSettings], document: Document, page: int) -> PageImage:
    """The image of a page, rendered if it does not exist yet. The caller must have checked access to the document."""
    if document.generation is None or not can_render_pages(document.content_type) or not 1 <= page <= (document.pages or 0):
        raise PageNotDrawn(f"Page {page} of this document cannot be shown as an image.")
    check_own_source(document)
    key = page_key(document.repository_id, document.collection_id, document.document_id, document.generation, page)
    with suppress(ObjectMissing):
        return PageImage(key, _size((await resources.objects.head(key)).metadata))
    renderings = resources.state.setdefault(_STATE, _Renderings())
    task = renderings.tasks.get(key)
    if task is None:
        task = renderings.tasks[key] = asyncio.ensure_future(_render(resources, renderings, document, page, key))
        task.add_done_callback(lambda _: renderings.tasks.pop(key, None))
    # A viewer who leaves must not cancel the rendering for other viewers.
    return await asyncio.shield(task)


async def _render(resources: Resources[RagSettings], renderings: _Renderings, document: Document, page: int, key: str) -> PageImage:
    settings = resources.settings
    async with renderings.turn:
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="gateleg-page-"))
        try:
            source = SourceConfig(key=document.source, bucket=document.bucket)
            fetched = await fetch_source(resources, source, folder, max(settings.upload_bytes, document.size or 0))
            if document.content_hash is not None and fetched.digest != document.content_hash:
                raise PageNotDrawn("The file has changed since it was ingested.", fix="Ingest the document again to see its pages.")
            target, seconds = folder / "page.webp", min(_SECONDS, settings.parse_seconds)
            size = await render_page(fetched.path, target, document.content_type or "", page, seconds=seconds, memory=settings.parse_memory)
            kept = {"width": f"{size.width:g}", "height": f"{size.height:g}"}
            await resources.objects.put(key, target, content_type=PAGE_IMAGE_TYPE, metadata=kept)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    await _discard_if_stale(resources, document, key)
    return PageImage(key, size)


async def _discard_if_stale(resources: Resources[Any], document: Document, key: str) -> None:
    """Remove the image if the document was deleted or replaced meanwhile, because that cleanup may have run before the image was stored."""
    now = await resources.store.find(document.key, consistent=True)
    if now is None or now.generation != document.generation or now.status in _DELETING:
        await resources.objects.delete(key)
        raise PageNotDrawn("The document was deleted or replaced while its page was being rendered.", fix="Open the document again.")


def _size(metadata: Any) -> PageSize:
    return PageSize(float(metadata.get("width", 0)), float(metadata.get("height", 0)))
