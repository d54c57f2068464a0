"""`/api/search`: what the applications find for the caller."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from gateleg.web.api.calls import Using
from gateleg.web.searching import LONGEST

router = APIRouter(prefix="/api/search", tags=["Search"])


class HitView(BaseModel):
    """Something that was found."""

    application: str
    kind: str
    title: str
    about: str
    href: str
    icon: str


@router.get("")
async def search(call: Using, q: Annotated[str, Query(max_length=LONGEST, description="What to look for.")]) -> list[HitView]:
    """What the applications have that a text is about, as far as the caller may see it."""
    return [
        HitView(
            application=hit.application.name,
            kind=hit.found.kind,
            title=hit.found.title,
            about=hit.found.about,
            href=hit.found.href,
            icon=hit.found.icon or hit.application.icon,
        )
        for hit in await call.host.search(call.principal, q)
    ]
