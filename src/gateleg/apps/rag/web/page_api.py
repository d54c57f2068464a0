"""The routes of `/api/rag` for pages of documents: their passages and images."""

from typing import Annotated

from fastapi import APIRouter, Header, Path, Response
from pydantic import Field

from gateleg.apps.rag.api import caller_of, resources_of
from gateleg.apps.rag.documents import open_document
from gateleg.apps.rag.inspecting.page_chunks import chunks_on
from gateleg.apps.rag.inspecting.page_images import page_image
from gateleg.apps.rag.inspecting.page_rendering import PAGE_IMAGE_TYPE
from gateleg.apps.rag.reading_log import note_read
from gateleg.apps.rag.web.document_api import ChunkView
from gateleg.apps.rag.web.views import View
from gateleg.web.api.calls import Using

router = APIRouter()
_ONE = "/repository/{repository_id}/document/{document_id}/pages/{page}"
PageNumber = Annotated[int, Path(ge=1, le=1_000_000, description="Counted from 1.")]


class PageView(View):
    """A page of a document with its passages."""

    page: int
    pages: int = Field(description="The number of pages of the document.")
    width: float = Field(description="In the unit of the boxes: points, or pixels of an image.")
    height: float
    chunks: list[ChunkView] = Field(description="The passages that are at least partly on the page, in order; at most 100.")


@router.get(_ONE)
async def get_page(call: Using, repository_id: str, document_id: str, page: PageNumber) -> PageView:
    """Read a page of a PDF or an image, with the passages on it and their `boxes`."""
    document = (await open_document(call.host.store, caller_of(call), repository_id, document_id)).document
    drawn = await page_image(resources_of(call), document, page)
    await note_read(resources_of(call), call.principal, "rag.read-page", document, page=page)
    chunks = await chunks_on(call.host.store, document, page)
    return PageView(
        page=page,
        pages=document.pages or 0,
        width=drawn.size.width,
        height=drawn.size.height,
        chunks=[ChunkView.of(chunk, document) for chunk in chunks],
    )


@router.get(_ONE + "/image", response_class=Response, responses={200: {"content": {PAGE_IMAGE_TYPE: {}}}})
async def get_page_image(
    call: Using, repository_id: str, document_id: str, page: PageNumber, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """Return the image of a page. It is rendered on the first request, which takes a second or two."""
    document = (await open_document(call.host.store, caller_of(call), repository_id, document_id)).document
    drawn = await page_image(resources_of(call), document, page)
    await note_read(resources_of(call), call.principal, "rag.read-page", document, page=page)
    # The browser must revalidate each time, because rights may have changed. An unchanged image is not sent again.
    headers = {"Cache-Control": "private, no-cache", "ETag": f'"{document.generation}-{page}"'}
    if if_none_match == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(await resources_of(call).objects.get(drawn.key), media_type=PAGE_IMAGE_TYPE, headers=headers)
