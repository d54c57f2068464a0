"""`/api/objects`: what objects there are, links to them, and deleting them."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from gateleg.objects import Entry, Grant, ObjectInfo
from gateleg.web.api.calls import Operating, Viewing
from gateleg.web.api.tagging import tagged
from gateleg.web.errors import NotAllowed, Refusal
from gateleg.web.principal import Role

router = APIRouter(prefix="/api/objects", tags=["Objects"])
ObjectKey = Annotated[str, Path(max_length=1024)]


class EntryView(BaseModel):
    """An object in a list."""

    key: str
    size: int
    etag: str
    modified: datetime

    @classmethod
    def of(cls, entry: Entry) -> "EntryView":
        """An entry of a listing."""
        return cls(key=entry.key, size=entry.size, etag=entry.etag, modified=entry.modified)


class ObjectsPage(BaseModel):
    """A part of a listing."""

    objects: list[EntryView]
    prefixes: list[str] = Field(description="With a delimiter: what keys have in common that are not shown one by one.")
    next: str | None


class ObjectView(EntryView):
    """An object without its content."""

    content_type: str
    metadata: dict[str, str]
    sha256: str | None

    @classmethod
    def whole(cls, info: ObjectInfo) -> "ObjectView":
        """An object."""
        return cls(
            key=info.key,
            size=info.size,
            etag=info.etag,
            modified=info.modified,
            content_type=info.content_type,
            metadata=dict(info.metadata),
            sha256=info.sha256,
        )


class Wanted(BaseModel):
    """A link that is asked for."""

    model_config = ConfigDict(extra="forbid")

    key: str = Field(min_length=1, max_length=1024)
    method: Literal["GET", "PUT"] = "GET"
    expires: int = Field(default=3600, ge=1, le=7 * 24 * 3600, description="Seconds for which it holds at least.")
    content_type: Annotated[str, Field(pattern=r"^[\w.+-]+/[\w.+-]+(; ?[\w-]+=[\w.+-]+)*$", max_length=200)] | None = Field(
        default=None, description="What a PUT must have as its Content-Type."
    )
    length: int | None = Field(default=None, ge=0, le=5 * 10**12, description="The exact bytes that a PUT must have.")
    most: int | None = Field(default=None, ge=0, le=5 * 10**12, description="The most bytes that a PUT may have; the answer may be a form.")
    download: Annotated[str, Field(pattern=r'^[^/\\\x00-\x1f\x7f"]+$', max_length=255)] | None = Field(
        default=None, description="The name under which browsers save a GET."
    )


class BadLink(Refusal):
    """A link whose parts do not go together."""

    code = "bad-link"
    status = 422
    fix = "A content type, a length and a bound of it are for PUT, and only one of the last two; the name of a download is for GET."


class Link(BaseModel):
    """A link: who has it may read or write one object until it expires."""

    url: str
    method: Literal["GET", "PUT", "POST"]
    fields: dict[str, str] = Field(default={}, description="With these the request is a form of them, and the file its last field `file`.")


@router.get("")
async def list_objects(
    call: Viewing,
    prefix: Annotated[str, Query(max_length=1024)] = "",
    delimiter: Annotated[str | None, Query(min_length=1, max_length=1)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=4000)] = None,
) -> ObjectsPage:
    """Objects whose keys begin with a prefix, in the order of their keys."""
    page = await call.host.objects.list(prefix, delimiter=delimiter, cursor=cursor, limit=limit)
    return ObjectsPage(objects=[EntryView.of(entry) for entry in page.objects], prefixes=list(page.prefixes), next=page.cursor)


@router.post("/links", status_code=201)
async def sign(call: Viewing, wanted: Wanted) -> Link:
    """A signed link to read an object; operators may ask for one to write it."""
    if wanted.method == "PUT" and not call.principal.may(Role.OPERATOR):
        raise NotAllowed("A link to write needs the role operator.")
    try:
        Grant(wanted.key, wanted.method, wanted.content_type, wanted.length, wanted.download, wanted.most)
    except ValueError as error:
        raise BadLink(str(error)) from None
    if wanted.method == "PUT":
        await call.note("object.sign-put", wanted.key, expires=wanted.expires)
    if wanted.most is not None:
        form = await call.host.objects.presign_upload(
            wanted.key, most=wanted.most, expires=wanted.expires, content_type=wanted.content_type
        )
        return Link(url=form.url, method=form.method, fields=dict(form.fields))
    url = await call.host.objects.presign(
        wanted.key,
        method=wanted.method,
        expires=wanted.expires,
        content_type=wanted.content_type,
        length=wanted.length,
        download=wanted.download,
    )
    return Link(url=url, method=wanted.method)


@router.get("/{key:path}", response_model=ObjectView)
async def head_object(call: Viewing, request: Request, key: ObjectKey) -> Response:
    """What is known of an object; its content is at `/objects/{key}`."""
    return tagged(request, ObjectView.whole(await call.host.objects.head(key)))


@router.delete("/{key:path}", status_code=204)
async def delete_object(call: Operating, key: ObjectKey) -> None:
    """Delete an object. It is no error if there is none."""
    await call.host.objects.delete(key)
    await call.note("object.delete", key)
