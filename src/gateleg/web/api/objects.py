"""`/api/objects`: list and describe objects. `gateleg.host.actions.objects` writes, deletes and shares them."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from gateleg.host.actions.objects import EntryView, ObjectView
from gateleg.web.api.calls import Viewing
from gateleg.web.api.etags import tagged

router = APIRouter(prefix="/api/objects", tags=["Objects"])
ObjectKey = Annotated[str, Path(max_length=1024)]


class ObjectsPage(BaseModel):
    """One page of a listing."""

    objects: list[EntryView]
    prefixes: list[str] = Field(description="With a delimiter: common prefixes of keys that are grouped.")
    next: str | None


@router.get("")
async def list_objects(
    call: Viewing,
    prefix: Annotated[str, Query(max_length=1024)] = "",
    delimiter: Annotated[str | None, Query(min_length=1, max_length=1)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=4000)] = None,
) -> ObjectsPage:
    """Objects whose keys start with a prefix, ordered by key."""
    page = await call.host.objects.list(prefix, delimiter=delimiter, cursor=cursor, limit=limit)
    return ObjectsPage(objects=[EntryView.of(entry) for entry in page.objects], prefixes=list(page.prefixes), next=page.cursor)


@router.get("/{key:path}", response_model=ObjectView)
async def head_object(call: Viewing, request: Request, key: ObjectKey) -> Response:
    """The metadata of an object; its content is at `/objects/{key}`."""
    return tagged(request, ObjectView.of_info(await call.host.objects.head(key)))
