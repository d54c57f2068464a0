"""What may be done to objects: put, delete one, many or a folder, and share or accept them by signed links."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SkipValidation

from gateleg.host.actions.action import Action, ActionCall, BulkAction, BulkReply, BulkResult, RefusedTargetReply
from gateleg.host.errors import NotAllowed, Refusal, TooLargeBody
from gateleg.host.principal import Role
from gateleg.model.types import check_s3_key
from gateleg.objects import Entry, Grant, ObjectExists, ObjectInfo
from gateleg.objects.values import content_type_of

__all__ = [
    "OBJECT_ACTIONS",
    "EntryView",
    "NewLink",
    "ObjectTarget",
    "ObjectView",
    "ObjectsToDelete",
    "PutObject",
    "contradiction",
    "delete_object",
    "delete_objects",
    "keys_below",
    "new_key",
    "put_object",
    "sign_object",
]

#: The most objects that one bulk deletes.
MAX_OBJECTS = 10_000
#: How many bytes of a file are checked.
HEAD = 512
#: Signatures by type: bytes and their offset.
_BEGINNINGS: dict[str, tuple[tuple[int, bytes], ...]] = {
    "image/png": ((0, b"\x89PNG\r\n\x1a\n"),),
    "image/jpeg": ((0, b"\xff\xd8\xff"),),
    "image/gif": ((0, b"GIF87a"), (0, b"GIF89a")),
    "image/webp": ((8, b"WEBP"),),
    "image/avif": ((4, b"ftyp"),),
    "video/mp4": ((4, b"ftyp"),),
    "video/webm": ((0, b"\x1a\x45\xdf\xa3"),),
    "video/x-matroska": ((0, b"\x1a\x45\xdf\xa3"),),
    "audio/mp4": ((4, b"ftyp"),),
    "audio/wav": ((8, b"WAVE"),),
    "audio/x-wav": ((8, b"WAVE"),),
    "audio/flac": ((0, b"fLaC"),),
    "audio/ogg": ((0, b"OggS"),),
    "audio/mpeg": ((0, b"ID3"), (0, b"\xff\xfb"), (0, b"\xff\xf3"), (0, b"\xff\xf2"), (0, b"\xff\xfa")),
    "application/pdf": ((0, b"%PDF-"),),
    "application/zip": ((0, b"PK\x03\x04"), (0, b"PK\x05\x06")),
    "application/gzip": ((0, b"\x1f\x8b"),),
    "application/vnd.apache.parquet": ((0, b"PAR1"),),
}


def contradiction(content_type: str, head: bytes) -> str:
    """Why content cannot be of a type, by its first bytes; empty if it can."""
    plain = content_type.partition(";")[0].strip().lower()
    known = _BEGINNINGS.get(plain)
    if known is not None and not any(head[at:].startswith(mark) for at, mark in known):
        return f"Its name says {plain}, but its content is something else."
    if (plain.startswith("text/") or plain.endswith(("/json", "+json", "+xml"))) and b"\x00" in head:
        return f"Its name says {plain}, but its content is not text."
    return ""


def new_key(prefix: str, name: str) -> str:
    """The key of an uploaded file. Browsers may send a path, of which only the name is used."""
    return f"{prefix}{name.replace(chr(92), '/').rpartition('/')[2]}"


class UploadRefused(Refusal):
    """An uploaded file is refused."""

    status = 422


class TooManyObjects(Refusal):
    """More objects than one call deletes."""

    status = 422
    fix = "Delete subfolders one by one, or use a program."

    def __init__(self) -> None:
        super().__init__(f"There are more than {MAX_OBJECTS:,} objects.")


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


class ObjectTarget(BaseModel):
    """An object."""

    model_config = ConfigDict(extra="forbid")

    key: str = Field(max_length=1024, description="The object's key.")


class PutObject(ObjectTarget):
    """An object and its content."""

    content: Annotated[Any, SkipValidation] = Field(description="The file with the content; `-` for standard input.")
    replace: bool = Field(default=False, description="Replace an object that has the key.")


class ObjectsToDelete(BaseModel):
    """Objects to delete."""

    model_config = ConfigDict(extra="forbid")

    places: list[Annotated[str, Field(min_length=1, max_length=1024)]] = Field(
        min_length=1, max_length=MAX_OBJECTS, description="Keys of objects, and folders with all that is in them, which end with a slash."
    )


class NewLink(BaseModel):
    """A request for a signed link."""

    model_config = ConfigDict(extra="forbid")

    key: str = Field(min_length=1, max_length=1024, description="The object.")
    method: Literal["GET", "PUT"] = Field(default="GET", description="GET to read the object, PUT to write it.")
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


class DeletedObjects(BulkReply):
    """The keys of the objects that were deleted, and those for which it was refused."""

    deleted: list[str]

    @classmethod
    def of(cls, result: BulkResult[Any]) -> "DeletedObjects":
        """The result of a bulk."""
        return cls(deleted=list(result.done), refused=[RefusedTargetReply.of(refused) for refused in result.refused])


async def _put(call: ActionCall, given: PutObject) -> ObjectInfo:
    """Store content that fits the key's extension, within the limit of uploads."""
    key = check_s3_key(given.key)
    chunks = _bounded(given.content, call.host.settings.upload_limit)
    head = b""
    async for chunk in chunks:
        head += chunk
        if len(head) >= HEAD:
            break
    if why := contradiction(content_type_of(key), head[:HEAD]):
        raise UploadRefused(why, fix="Rename the file with the extension of its actual type.")
    try:
        return await call.host.objects.put(key, _joined(head, chunks), if_absent=not given.replace)
    except ObjectExists:
        raise ObjectExists(f"The object {key} already exists.", fix="Allow replacing it, or choose another key.") from None


async def _bounded(content: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    received = 0
    async for chunk in content:
        received += len(chunk)
        if received > most:
            raise TooLargeBody(f"An object may have {most:,} bytes.", details={"limit": most})
        yield chunk


async def _joined(head: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head
    async for chunk in rest:
        yield chunk


put_object = Action(
    name="object.put",
    title="Upload",
    help="Store an object. Its content must fit the extension of its key. Larger content is sent with a link to PUT.",
    role=Role.OPERATOR,
    input=PutObject,
    run=_put,
    http="PUT /api/objects/{key:path}",
    raw_body="content",
    command="objects put",
    target=lambda given, info: info.key,
    details=lambda given, info: {"size": info.size, "content_type": info.content_type},
    reply=ObjectView.of_info,
    reply_type=ObjectView,
    done=lambda info: f"The object {info.key} is stored, {info.size:,} bytes",
    # Whoever calls a tool has the objects of their own tools, and sends no files.
    tool=False,
)


async def _delete(call: ActionCall, given: ObjectTarget) -> str:
    await call.host.objects.delete(given.key)
    return given.key


delete_object = Action(
    name="object.delete",
    title="Delete",
    help="Delete an object. Deleting one that does not exist succeeds.",
    role=Role.OPERATOR,
    input=ObjectTarget,
    run=_delete,
    http="DELETE /api/objects/{key:path}",
    command="objects delete",
    target=lambda given, key: key,
    done=lambda key: f"The object {key} is deleted",
    asks="Items that refer to it will have a broken reference. This cannot be undone.",
    dangerous=True,
)


async def keys_below(call: ActionCall, places: list[str]) -> list[str]:
    """The keys of some objects, and of everything in some folders, which end with a slash. An invalid one refuses all."""
    keys: dict[str, None] = {}
    for place in places:
        if not place.endswith("/"):
            keys[check_s3_key(place)] = None
            continue
        async for entry in call.host.objects.walk(place):
            keys[entry.key] = None
            if len(keys) > MAX_OBJECTS:
                raise TooManyObjects
    return list(keys)


async def _chosen(call: ActionCall, given: ObjectsToDelete) -> list[ObjectTarget]:
    return [ObjectTarget(key=key) for key in await keys_below(call, given.places)]


delete_objects = BulkAction(
    of=delete_object,
    title="Delete",
    help="Delete objects, and folders with all that is in them.",
    input=ObjectsToDelete,
    select=_chosen,
    http="POST /api/objects/delete",
    command="objects delete",
    verb="deleted",
    name_of=lambda given: given.key,
    choices=("places",),
    reply=DeletedObjects.of,
    reply_type=DeletedObjects,
    asks="Items that refer to them will have broken references. This cannot be undone.",
).action


async def _sign(call: ActionCall, given: NewLink) -> Link:
    if given.method == "PUT" and not call.principal.may(Role.OPERATOR):
        raise NotAllowed("A link to write needs the role operator.")
    try:
        Grant(given.key, given.method, given.content_type, given.length, given.download, given.max_bytes)
    except ValueError as error:
        raise BadLink(str(error)) from None
    objects = call.host.objects
    if given.max_bytes is not None:
        form = await objects.presign_upload(given.key, max_bytes=given.max_bytes, expires=given.expires, content_type=given.content_type)
        return Link(url=form.url, method=form.method, fields=dict(form.fields))
    url = await objects.presign(
        given.key,
        method=given.method,
        expires=given.expires,
        content_type=given.content_type,
        length=given.length,
        download=given.download,
    )
    return Link(url=url, method=given.method)


sign_object = Action(
    name="object.share",
    title="Create a link",
    help="A signed link to read an object; operators may also get one to write. Anybody who has it may use it until it expires.",
    role=Role.VIEWER,
    input=NewLink,
    run=_sign,
    http="POST /api/objects/links",
    command="objects link",
    entry=lambda given: "object.sign-put" if given.method == "PUT" else "object.share",
    target=lambda given, link: given.key,
    details=lambda given, link: {"seconds" if given.method == "GET" else "expires": given.expires},
    reply=lambda link: link,
    reply_type=Link,
    made=lambda link: link.url,
    done=lambda link: link.url,
    signs_links=True,
    # Whoever has the link needs no key.
    tool=False,
)

OBJECT_ACTIONS = (put_object, delete_object, delete_objects, sign_object)
