"""`/api/objects`: list and delete objects, and create signed links to them."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from gateleg.host.errors import NotAllowed, Refusal
from gateleg.host.principal import Role
from gateleg.objects import Entry, Grant, ObjectInfo
from gateleg.web.api.calls import Operating, Viewing
from gateleg.web.api.etags import tagged

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
    """One page of a listing."""

    objects: list[EntryView]
    prefixes: list[str] = Field(description="With a delimiter: common prefixes of keys that are grouped.")
    next: str | None


class ObjectView(EntryView):
    """An object without its content."""

    content_type: str
    metadata: dict[str, str]
    sha256: str | None

    @classmethod
    def of_info(cls, info: ObjectInfo) -> "ObjectView":
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


class NewLink(BaseModel):
    """A request for a signed link."""

    model_config = ConfigDict(extra="forbid")

    key: str = Field(min_length=1, max_length=1024)
    method: Literal["GET", "PUT"] = "GET"
    expires: int = Field(default=3600, ge=1, le=7 * 24 * 3600, description="Minimum validity in seconds.")
    content_type: Annotated[str, Field(pattern=r"^[\w.+-]+/[\w.+-]+(; ?[\w-]+=[\w.+-]+)*$", max_length=200)] | None = Field(
        default=None, description="The Content-Type that a PUT must have."
    )
    length: int | None = Field(default=None, ge=0, le=5 * 10**12, description="The exact size of a PUT in bytes.")
    max_bytes: int | None = Field(default=None, ge=0, le=5 * 10**12, description="The maximum size of a PUT; the response may be a form.")
    download: Annotated[str, Field(pattern=r'^[^/\\\x00-\x1f\x7f"]+$', max_length=255)] | None = Field(
        default=None, description="The file name under which browsers save a GET."
    )


class BadLink(Refusal):
    """The options of a link contradict each other."""

    status = 422
    fix = "Use content_type and either length or max_bytes with PUT; use download with GET."


class Link(BaseModel):
    """A signed link. Anybody who has it may read or write one object until it expires."""

    url: str
    method: Literal["GET", "PUT", "POST"]
    fields: dict[str, str] = Field(
        default={}, description="If present, send them as multipart/form-data, with the file as the last field `file`."
    )


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


@router.post("/links", status_code=201)
async def sign(call: Viewing, link: NewLink) -> Link:
    """A signed link to read an object; operators may also get one to write."""
    if link.method == "PUT" and not call.principal.may(Role.OPERATOR):
        raise NotAllowed("A link to write needs the role operator.")
    try:
        Grant(link.key, link.method, link.content_type, link.length, link.download, link.max_bytes)
    except ValueError as error:
        raise BadLink(str(error)) from None
    if link.method == "PUT":
        await call.note("object.sign-put", link.key, expires=link.expires)
    if link.max_bytes is not None:
        form = await call.host.objects.presign_upload(
            link.key, max_bytes=link.max_bytes, expires=link.expires, content_type=link.content_type
        )
        return Link(url=form.url, method=form.method, fields=dict(form.fields))
    url = await call.host.objects.presign(
        link.key,
        method=link.method,
        expires=link.expires,
        content_type=link.content_type,
        length=link.length,
        download=link.download,
    )
    return Link(url=url, method=link.method)


@router.get("/{key:path}", response_model=ObjectView)
async def head_object(call: Viewing, request: Request, key: ObjectKey) -> Response:
    """The metadata of an object; its content is at `/objects/{key}`."""
    return tagged(request, ObjectView.of_info(await call.host.objects.head(key)))


@router.delete("/{key:path}", status_code=204)
async def delete_object(call: Operating, key: ObjectKey) -> None:
    """Delete an object. Deleting one that does not exist succeeds."""
    await call.host.objects.delete(key)
    await call.note("object.delete", key)
