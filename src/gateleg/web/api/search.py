"""`/api/search`: search in all applications."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from gateleg.host.search import MAX_SEARCH_CHARACTERS
from gateleg.web.api.calls import Using
from gateleg.web.api.pages import Cursor, Limit, Listing, page_by_position

router = APIRouter(prefix="/api/search", tags=["Search"])


class HitView(BaseModel):
    """A search result."""

    application: str
    kind: str
    title: str
    about: str
    href: str
    icon: str


@router.get("")
async def search(
    call: Using,
    q: Annotated[str, Query(max_length=MAX_SEARCH_CHARACTERS, description="What to search for.")],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[HitView]:
    """Search all applications. The results contain only what the caller may see."""
    hits = await call.host.search(call.principal, q)
    page = page_by_position(hits, secret=call.host.secret, query=f"/api/search?q={q}", limit=limit, cursor=cursor)
    views = [
        HitView(
            application=hit.application.name,
            kind=hit.found.kind,
            title=hit.found.title,
            about=hit.found.about,
            href=hit.found.href,
            icon=hit.found.icon or hit.application.icon,
        )
        for hit in page
    ]
    return Listing(items=views, next=page.next)
