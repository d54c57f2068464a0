"""`/objects/{key}`: read objects with a signed link or the role viewer; write them with a signed link."""

import hashlib
from collections.abc import AsyncIterator
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from gateleg.host.actions.objects import ObjectView
from gateleg.host.errors import NotAllowed, Refusal, TooLargeBody, Unknown
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.model.errors import S3KeyRefused
from gateleg.model.types import check_object_key
from gateleg.objects import (
    AsyncDownload,
    ByteRange,
    ContentDiffers,
    DirectoryObjects,
    Grant,
    ObjectExists,
    ObjectInfo,
    RangeOutside,
    content_disposition,
)
from gateleg.web.access import principal_of
from gateleg.web.api.calls import host_of
from gateleg.web.api.etags import fits
from gateleg.web.bodies import body_limit

router = APIRouter(tags=["Objects"])
#: Types that browsers execute. They are sandboxed: scripts run, but reach nothing.
_ACTIVE_TYPES = (
    "text/html",
    "application/xhtml+xml",
    "image/svg+xml",
    "text/xml",
    "application/xml",
    "text/javascript",
    "application/javascript",
)
_ACTIVE_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; media-src data: blob:; frame-ancestors 'self'"
)
_PASSIVE_POLICY = "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"


class LinkUsed(Refusal):
    """A link for one upload was used before, with other content."""

    status = 409
    fix = "Request a new link for each file."


class FormRefused(Refusal):
    """A form was sent to a link that takes the file itself."""

    status = 415
    fix = "Send the file as the body, such as with curl -T."


class RangeRefused(Refusal):
    """A byte range is outside the object."""

    code = "range-outside"
    status = 416
    fix = "Request a range that starts before the end of the object."


def policy_of(content_type: str) -> str:
    """The content security policy for content of a type."""
    kind = content_type.partition(";")[0].strip().lower()
    return _ACTIVE_POLICY if kind in _ACTIVE_TYPES or kind.endswith("+xml") else _PASSIVE_POLICY


def served_type(content_type: str) -> str:
    """The content type for browsers. For text without an encoding they would assume a legacy one."""
    kind, _, rest = content_type.partition(";")
    plain = kind.strip().lower()
    says_itself = plain in _ACTIVE_TYPES or "charset" in rest.lower()
    return content_type if says_itself or not plain.startswith("text/") else f"{content_type}; charset=utf-8"


def described(info: ObjectInfo, download: str | None = None) -> dict[str, str]:
    """The headers of an object's content."""
    headers = {
        "ETag": f'"{info.etag}"',
        "Last-Modified": format_datetime(info.modified, usegmt=True),
        "Accept-Ranges": "bytes",
        "Content-Type": served_type(info.content_type),
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": policy_of(info.content_type),
        "X-Frame-Options": "SAMEORIGIN",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    return headers if download is None else headers | {"Content-Disposition": content_disposition(download)}


def wanted_range(headers: Any, info: ObjectInfo) -> ByteRange | None:
    """The requested range. None for the whole object, also if the client has part of another version."""
    requested = ByteRange.parse(headers["range"]) if "range" in headers else None
    condition = headers.get("if-range")
    if requested is None or condition is None:
        return requested
    if condition.startswith('"'):
        return requested if condition == f'"{info.etag}"' else None
    try:
        return requested if parsedate_to_datetime(condition) == info.modified.replace(microsecond=0) else None
    except ValueError:
        return None


def _granted(host: Host, request: Request, key: str) -> Grant:
    """The grant of a request: from its signed link, or everything that a viewer may do."""
    if "signature" in request.query_params and isinstance(host.sync_objects, DirectoryObjects):
        return host.sync_objects.verify(request.method, key, request.url.query)
    if not principal_of(request).may(Role.VIEWER):
        raise NotAllowed("This needs the role viewer.")
    try:
        check_object_key(key)
    except S3KeyRefused:
        raise Unknown("The object does not exist.") from None
    return Grant(key)


@router.head("/objects/{key:path}", include_in_schema=False)
@router.get("/objects/{key:path}", response_class=StreamingResponse)
async def get_object(request: Request, key: str) -> Response:
    """The content of an object, or a range of it."""
    host = host_of(request)
    grant = _granted(host, request, key)
    info = await host.objects.head(key)
    if grant.sha256 not in (None, info.sha256):
        raise ContentDiffers("The object was replaced after the link was created, which is for its earlier content.")
    headers = described(info, grant.download)
    if fits(request.headers.get("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    requested = wanted_range(request.headers, info)
    try:
        start, stop = (0, info.size) if requested is None else requested.within(info.size)
    except RangeOutside as error:
        raise RangeRefused(error.message, headers={"Content-Range": f"bytes */{info.size}"}) from None
    headers["Content-Length"] = str(stop - start)
    if requested is not None:
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{info.size}"
    status = 200 if requested is None else 206
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    download = await host.objects.stream(key, range=requested)
    if download.info.etag != info.etag:
        await download.close()
        raise Unknown("The object was replaced meanwhile.", fix="Send the request again.")
    return StreamingResponse(_chunks(download), status, headers)


async def _chunks(download: AsyncDownload) -> AsyncIterator[bytes]:
    async with download:
        async for chunk in download:
            yield chunk


async def bounded(chunks: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """The chunks of a body. Raises `TooLargeBody` if there are more bytes than allowed."""
    received = 0
    async for chunk in chunks:
        received += len(chunk)
        if received > most:
            raise TooLargeBody(f"The body may have {most:,} bytes.", details={"limit": most})
        yield chunk


@router.put("/objects/{key:path}", status_code=201)
@body_limit("upload")
async def put_object(request: Request, key: str) -> ObjectView:
    """Write an object with a PUT link, which may fix the content type and the length."""
    host = host_of(request)
    if not isinstance(host.sync_objects, DirectoryObjects):
        raise Unknown("Objects of this host are written to the bucket directly.", fix="POST /api/objects/links returns a link to PUT.")
    announced = request.headers.get("content-length")
    length = int(announced) if announced is not None else None
    content_type = request.headers.get("content-type")
    grant = host.sync_objects.verify("PUT", key, request.url.query, content_type=content_type, length=length)
    if grant.content_type is None and (content_type or "").partition(";")[0].strip().lower() == "multipart/form-data":
        raise FormRefused("The link takes the file itself, not a form.")
    digest = hashlib.sha256()
    body = _hashed(request.stream() if grant.max_bytes is None else bounded(request.stream(), grant.max_bytes), digest)
    try:
        info = await host.objects.put(key, body, content_type=grant.content_type or content_type, if_absent=grant.once)
    except ObjectExists:
        info = await host.objects.head(key)
        # The response to the first request may have been lost.
        if info.sha256 != digest.hexdigest():
            raise LinkUsed("The link was used before, and permits one upload.") from None
    return ObjectView.of_info(info)


async def _hashed(chunks: AsyncIterator[bytes], digest: Any) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        digest.update(chunk)
        yield chunk
