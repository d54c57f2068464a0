"""`/api/rag`: pages of documents, as pictures and with the passages that lie on them."""

from typing import Annotated

from fastapi import APIRouter, Header, Path, Response
from pydantic import Field

from gateleg.apps.rag.api import caller_of, resources_of
from gateleg.apps.rag.documents import open_document
from gateleg.apps.rag.inspecting.drawing import DRAWN
from gateleg.apps.rag.inspecting.page_chunks import chunks_on
from gateleg.apps.rag.inspecting.page_images import page_image
from gateleg.apps.rag.web.document_api import ChunkView
from gateleg.apps.rag.web.views import View
from gateleg.web.api.calls import Using

router = APIRouter()
_ONE = "/repository/{repository_id}/document/{document_id}/pages/{page}"
PageNumber = Annotated[int, Path(ge=1, le=1_000_000, description="Counted from 1.")]


class PageView(View):
    """A page of a document, and the passages of it."""

    page: int
    pages: int = Field(description="How many the document has.")
    width: float = Field(description="In points, or in pixels for a picture: the unit of the boxes.")
    height: float
    chunks: list[ChunkView] = Field(description="The passages of which a part lies on the page, in order; at most 100.")


@router.get(_ONE)
async def get_page(call: Using, repository_id: str, document_id: str, page: PageNumber) -> PageView:
    """A page of a PDF or a picture, with the passages on it; their `boxes` say where."""
    document = (await open_document(call.host.store, caller_of(call), repository_id, document_id)).document
    drawn = await page_image(resources_of(call), document, page)
    chunks = await chunks_on(call.host.store, document, page)
    return PageView(
        page=page,
        pages=document.pages or 0,
        width=drawn.size.width,
        height=drawn.size.height,
        chunks=[ChunkView.of(chunk) for chunk in chunks],
    )


@router.get(_ONE + "/image", response_class=Response, responses={200: {"content": {DRAWN: {}}}})
async def get_page_image(
    call: Using, repository_id: str, document_id: str, page: PageNumber, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """The picture of a page. It is drawn when it is first asked for, which takes a second or two."""
    document = (await open_document(call.host.store, caller_of(call), repository_id, document_id)).document
    drawn = await page_image(resources_of(call), document, page)
    # Asked again each time: rights may have been taken away. What has not changed is not sent again.
    headers = {"Cache-Control": "private, no-cache", "ETag": f'"{document.generation}-{page}"'}
    if if_none_match == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(await resources_of(call).objects.get(drawn.key), media_type=DRAWN, headers=headers)
