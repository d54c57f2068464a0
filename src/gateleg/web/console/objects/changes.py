"""Changes of objects on behalf of the caller: permission, checks, audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.errors import GatelegError
from gateleg.host.principal import Role
from gateleg.model.types import check_s3_key
from gateleg.objects.values import content_type_of
from gateleg.web.console.objects.contents import HEAD, contradiction, new_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from nicegui.elements.upload_files import FileUpload

    from gateleg.objects import ObjectInfo
    from gateleg.web.console.frame import View

#: The maximum number of objects that a page deletes.
MAX_OBJECTS = 10_000


class UploadRefused(GatelegError):
    """An uploaded file is refused."""

    status = 422


class TooManyObjects(GatelegError):
    """More objects than a page can delete at once."""

    status = 422
    fix = "Delete subfolders one by one, or use a program."

    def __init__(self) -> None:
        super().__init__(f"There are more than {MAX_OBJECTS:,} objects.")


async def take_file(view: View, prefix: str, file: FileUpload, *, replace: bool) -> ObjectInfo:
    """Store an uploaded file in a folder. Its content must match its name, and the name must be free unless `replace` is set."""
    view.require(Role.OPERATOR)
    key = check_s3_key(new_key(prefix, file.name))
    why = contradiction(content_type_of(key), await _beginning(file))
    if why:
        raise UploadRefused(why, fix="Rename the file with the extension of its actual type.")
    if not replace and await view.host.objects.exists(key):
        raise UploadRefused(f"The object {key} already exists.", fix="Allow replacing it, or rename the file.")
    info = await view.host.objects.put(key, file.iterate())
    await view.host.audit.note(view.principal, "object.put", key, size=info.size, content_type=info.content_type)
    return info


async def _beginning(file: FileUpload) -> bytes:
    chunks: AsyncIterator[bytes] = file.iterate(chunk_size=HEAD)
    async for chunk in chunks:
        return chunk
    return b""


async def keys_below(view: View, places: Sequence[str]) -> list[str]:
    """The keys of some objects, and of everything in some folders, which end with a slash."""
    keys: dict[str, None] = {}
    for place in places:
        if not place.endswith("/"):
            keys[place] = None
            continue
        async for entry in view.host.objects.walk(place):
            keys[entry.key] = None
            if len(keys) > MAX_OBJECTS:
                raise TooManyObjects
    return list(keys)


async def delete_objects(view: View, keys: Sequence[str]) -> None:
    """Delete objects."""
    view.require(Role.OPERATOR)
    await view.host.objects.delete_many(keys)
    if len(keys) == 1:
        await view.host.audit.note(view.principal, "object.delete", keys[0])
    else:
        await view.host.audit.note(view.principal, "object.delete", f"{len(keys)} objects", keys=list(keys[:100]))


async def share(view: View, key: str, seconds: int, *, download: str | None = None) -> str:
    """A link that lets anyone read an object for some time, as a full URL."""
    link = await view.host.objects.presign(key, expires=seconds, download=download)
    await view.host.audit.note(view.principal, "object.share", key, seconds=seconds)
    return f"{str(view.request.base_url).rstrip('/')}{link}" if link.startswith("/") else link
