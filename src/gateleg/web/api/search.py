"""`/api/search`: search in everything that the caller may see."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from gateleg.host.search import MAX_SEARCH_CHARACTERS, hit_fields
from gateleg.web.api.calls import Using
from gateleg.web.api.pages import Cursor, Limit, Listing, page_by_position

router = APIRouter(prefix="/api/search", tags=["Search"])


class HitView(BaseModel):
    """A search result."""

    application: str = Field(description="The application that found it; empty for what the host itself found.")
    kind: str
    title: str
    about: str
    href: str = Field(description="The address of its page in the console.")
    icon: str
    exact: bool = Field(description="Whether the text names exactly this: an id, a whole key or a name.")


class SearchPage(Listing[HitView]):
    """One page of results."""

    skipped: list[str] = Field(description="What could not be searched, because it failed or took too long.")


@router.get("")
async def search(
    call: Using,
    q: Annotated[str, Query(max_length=MAX_SEARCH_CHARACTERS, description="What to search for.")],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> SearchPage:
    """Search jobs, pages, settings, tables, items by key, objects by the beginning of their key, and all applications.

    The results contain only what the caller may see.
    """
    found = await call.host.search(call.principal, q)
    page = page_by_position(found.hits, secret=call.host.secret, query=f"/api/search?q={q}", limit=limit, cursor=cursor)
    return SearchPage(items=[HitView.model_validate(hit_fields(hit)) for hit in page], next=page.next, skipped=list(found.skipped))
