"""Files of users: uploads for agents, and files that agents produce. Each user of a partition has a folder.

Callers name files by id, or by a key within their folder; no key leads out of it.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from gateleg.apps.agents.errors import BadField, MissingField, NotFoundInPartition
from gateleg.apps.agents.tables import new_id
from gateleg.net.http import HttpRequest
from gateleg.objects import ObjectMissing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.agents.partitions import Partition
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources
    from gateleg.objects import AsyncObjects, ObjectInfo

#: Maximum lifetime of a signed URL.
LONGEST = 7 * 24 * 3600
#: Maximum characters of a file name.
_NAME = 200
_UNNAMED = "file"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a user."""

    file_id: str
    key: str
    filename: str
    media_type: str
    size: int
    purpose: str
    created_at: Any

    def described(self) -> dict[str, Any]:
        """The file's description for clients, with the field names of the providers' APIs."""
        return {
            "id": self.file_id,
            "object": "file",
            "filename": self.filename,
            "purpose": self.purpose,
            "created_at": self.created_at,
            "bytes": self.size,
            "mime_type": self.media_type,
        }


def folder_of(context: Context, owner: str | None = None) -> str:
    """The folder of a user: of the caller, or of another owner. Names are quoted, so that none can escape its folder."""
    return tenant_folder(context.partition) + _quoted(owner if owner is not None else context.owner)


def tenant_folder(partition: Partition) -> str:
    """The folder of a tenant, which contains those of its users."""
    return "agents/" + _quoted(partition.endpoint_id) + _quoted(partition.part_id)


def _quoted(part: str) -> str:
    return quote(part, safe="").replace(".", "%2E") + "/"


def own_key(context: Context, object_key: str) -> str:
    """The key of an object in the caller's folder, from its whole key or the part below the folder. Raises `BadField`."""
    folder = folder_of(context)
    rest = object_key.removeprefix(folder)
    if not rest or rest.startswith("/") or any(part in ("", ".", "..") for part in rest.split("/")):
        raise BadField(f"objectKey {object_key!r} is not a valid object key.", fix="Use a path such as pictures/cat.png.")
    return folder + rest


async def store_file(resources: Resources[Any], context: Context, given: Mapping[str, Any]) -> StoredFile:
    """Store a file from `encoded_content` (base64) or `file_uri`, with `filename`, and optionally `mime_type` and `purpose`."""
    body = await _content(resources, given)
    name = _text(given, "filename")[:_NAME] or _UNNAMED
    metadata = {"filename": quote(name), "purpose": quote(_text(given, "purpose"))}
    file_id = f"file-{new_id()}"
    kind = _text(given, "mime_type") or None
    info = await resources.objects.put(_key(context, file_id), body, content_type=kind or _guessed(name), metadata=metadata)
    return _described(file_id, info)


async def find_file(objects: AsyncObjects, context: Context, file_id: str, owner: str | None = None) -> StoredFile:
    """Find a file of the caller, or of an owner whose files the caller may see. Raises `NotFoundInPartition`."""
    try:
        return _described(file_id, await objects.head(_key(context, file_id, owner)))
    except ObjectMissing:
        raise NotFoundInPartition(f"There is no file {file_id!r}.") from None


async def read_file(objects: AsyncObjects, context: Context, file_id: str, owner: str | None = None) -> str:
    """The content of a file, in base64."""
    file = await find_file(objects, context, file_id, owner)
    return base64.b64encode(await objects.get(file.key)).decode()


def _key(context: Context, file_id: str, owner: str | None = None) -> str:
    if "/" in file_id or file_id in ("", ".", ".."):
        raise NotFoundInPartition(f"There is no file {file_id!r}.")
    return f"{folder_of(context, owner)}files/{file_id}"


async def _content(resources: Resources[Any], given: Mapping[str, Any]) -> bytes:
    encoded = _text(given, "encoded_content")
    if encoded:
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error:
            raise BadField("encodedContent is not base64.", details={"field": "encodedContent"}) from None
    address = _text(given, "file_uri")
    if not address:
        raise MissingField("A file needs encodedContent or fileUri.", fix="Send the content in base64, or a URL to read it from.")
    answer = await resources.outgoing.fetch(HttpRequest(address, method="GET"))
    if answer.status != 200:
        raise BadField(f"The server of fileUri responded with status {answer.status}.", details={"field": "fileUri"})
    return answer.body


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name) or ""
    if not isinstance(value, str):
        raise BadField(f"{name} must be text.", details={"field": name})
    return value


def _guessed(name: str) -> str:
    """Guess a media type from a file name's extension."""
    import mimetypes

    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def _described(file_id: str, info: ObjectInfo) -> StoredFile:
    told = {name: unquote(text) for name, text in info.metadata.items()}
    name = told.get("filename", _UNNAMED)
    return StoredFile(file_id, info.key, name, info.content_type, info.size, told.get("purpose", ""), info.modified)
