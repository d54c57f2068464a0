"""Pictures of pages: drawn when somebody first looks at a page, and kept as objects of the document, so that they go with it."""

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
from gateleg.apps.rag.ingesting.sourcing import fetch_source
from gateleg.apps.rag.inspecting.drawing import DRAWN, PageSize, draw_page, has_pages_to_draw
from gateleg.apps.rag.object_keys import page_key
from gateleg.apps.rag.tables import DocumentStatus
from gateleg.objects import ObjectMissing

if TYPE_CHECKING:
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Document
    from gateleg.web import Resources

#: Pages that a process draws at a time: each costs a process of its own.
_AT_A_TIME = 2
#: Seconds that drawing one page may take, where reading the whole document may take longer.
_SECONDS = 20.0
_STATE = "rag-page-images"
_DELETING = (DocumentStatus.DELETE_IN_PROGRESS, DocumentStatus.DELETE_FAILED)


@dataclass(frozen=True, slots=True)
class PageImage:
    """The picture of a page: the key of its object, and how large the page is."""

    key: str
    size: PageSize


class _Drawing:
    """What is being drawn in this process: one page once, and few pages at a time."""

    def __init__(self) -> None:
        self.turn = asyncio.Semaphore(_AT_A_TIME)
        self.tasks: dict[str, asyncio.Task[PageImage]] = {}


async def page_image(resources: Resources[RagSettings], document: Document, page: int) -> PageImage:
    """The picture of a page of a document that the caller may read, drawn if nobody has looked at the page before."""
    if document.generation is None or not has_pages_to_draw(document.content_type) or not 1 <= page <= (document.pages or 0):
        raise PageNotDrawn(f"There is no picture of page {page} of this document.")
    check_own_source(document)
    key = page_key(document.repository_id, document.collection_id, document.document_id, document.generation, page)
    with suppress(ObjectMissing):
        return PageImage(key, _size((await resources.objects.head(key)).metadata))
    drawing = resources.state.setdefault(_STATE, _Drawing())
    task = drawing.tasks.get(key)
    if task is None:
        task = drawing.tasks[key] = asyncio.ensure_future(_drawn(resources, drawing, document, page, key))
        task.add_done_callback(lambda _: drawing.tasks.pop(key, None))
    # Somebody who goes away does not stop the others who look at the same page.
    return await asyncio.shield(task)


async def _drawn(resources: Resources[RagSettings], drawing: _Drawing, document: Document, page: int, key: str) -> PageImage:
    settings = resources.settings
    async with drawing.turn:
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="gateleg-page-"))
        try:
            source = SourceConfig(key=document.source, bucket=document.bucket)
            fetched = await fetch_source(resources, source, folder, max(settings.upload_bytes, document.size or 0))
            if document.content_hash is not None and fetched.digest != document.content_hash:
                raise PageNotDrawn("The file has changed since it was ingested.", fix="Its page is shown when it has been ingested again.")
            target, seconds = folder / "page.webp", min(_SECONDS, settings.parse_seconds)
            size = await draw_page(fetched.path, target, document.content_type or "", page, seconds=seconds, memory=settings.parse_memory)
            kept = {"width": f"{size.width:g}", "height": f"{size.height:g}"}
            await resources.objects.put(key, target, content_type=DRAWN, metadata=kept)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    await _take_back_if_gone(resources, document, key)
    return PageImage(key, size)


async def _take_back_if_gone(resources: Resources[Any], document: Document, key: str) -> None:
    """Remove a picture of a document that was deleted or replaced while it was drawn: what removes it may have passed by before."""
    now = await resources.store.find(document.key, consistent=True)
    if now is None or now.generation != document.generation or now.status in _DELETING:
        await resources.objects.delete(key)
        raise PageNotDrawn("The document was deleted or replaced while its page was drawn.", fix="Open the document again.")


def _size(metadata: Any) -> PageSize:
    return PageSize(float(metadata.get("width", 0)), float(metadata.get("height", 0)))
