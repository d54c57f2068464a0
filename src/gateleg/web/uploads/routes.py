"""HTTP routes for the uploads of an application: the tus 1.0 protocol for parts, and links for uploads straight to the object store.

router.include_router(upload_routes(resources, [UploadKind("song", ...)]))     /api/{application}/uploads/song
"""

from base64 import b64decode
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from gateleg.host.resources import Resources
from gateleg.host.tables import PendingUpload
from gateleg.web.api.calls import Using
from gateleg.web.bodies import body_limit
from gateleg.web.uploads.fields import BadForm
from gateleg.web.uploads.resumable import UploadKind, Uploads

__all__ = ["upload_routes"]

#: The supported version and extensions of tus.
_TUS = {"Tus-Resumable": "1.0.0"}
_TUS_OPTIONS = {**_TUS, "Tus-Version": "1.0.0", "Tus-Extension": "creation,termination"}
KindName = Annotated[str, Path(pattern=r"^[a-z][a-z0-9-]{0,39}$", description="The kind of upload, as declared by the application.")]
UploadId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{32}$")]


class UploadStatus(BaseModel):
    """The progress of an upload."""

    upload_id: str
    kind: str
    name: str
    length: int
    received: int
    key: str = Field(description="The key of the finished object.")
    content_type: str | None = Field(description="The media type, detected from the content of the finished file.")
    finished_at: datetime | None

    @classmethod
    def of(cls, upload: PendingUpload) -> "UploadStatus":
        """An upload."""
        plain = {name: getattr(upload, name) for name in cls.model_fields if name != "key"}
        return cls(key=upload.object_key, **plain)


class DirectUpload(BaseModel):
    """A file that the client sends to the object store itself."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=300)
    details: dict[str, Annotated[str, Field(max_length=1000)]] = Field(default={}, max_length=20)


class UploadLink(BaseModel):
    """How to send the file: with fields as a form whose last field is `file`; without fields as the body."""

    upload: UploadStatus
    url: str
    method: Literal["PUT", "POST"]
    fields: dict[str, str]


def upload_routes(resources: Resources[Any], kinds: Sequence[UploadKind], *, prefix: str = "/uploads") -> APIRouter:
    """Routes for the kinds of upload that an application accepts."""
    router, uploads = APIRouter(prefix=prefix), Uploads(resources, kinds)

    @router.options("/{kind}", status_code=204)
    async def describe_uploads(kind: KindName) -> Response:
        """The supported version and extensions of tus."""
        max_bytes = {one.name: one.rules.max_bytes for one in kinds}.get(kind)
        return Response(status_code=204, headers=_TUS_OPTIONS | ({} if max_bytes is None else {"Tus-Max-Size": str(max_bytes)}))

    @router.post("/{kind}", status_code=201)
    async def begin_upload(
        call: Using,
        request: Request,
        kind: KindName,
        upload_length: Annotated[int, Header(ge=0, le=5 * 10**12)],
        upload_metadata: Annotated[str, Header(max_length=20_000)] = "",
    ) -> Response:
        """Begin an upload in parts. The Location header has its address. `Upload-Metadata` contains `filename`, and optionally `sha256`."""
        details = parse_metadata(upload_metadata)
        name, sha256 = details.pop("filename", "file"), details.pop("sha256", None)
        upload = await uploads.begin(call.principal, kind, name, upload_length, details, sha256)
        place = f"{request.url.path.rstrip('/')}/{upload.upload_id}"
        return Response(status_code=201, headers=_TUS | {"Location": place, "Upload-Offset": str(upload.received)})

    @router.head("/{kind}/{upload_id}")
    async def head_upload(call: Using, kind: KindName, upload_id: UploadId) -> Response:
        """How many bytes have been received."""
        upload = await uploads.get(call.principal, upload_id)
        return Response(status_code=200, headers=_progress_headers(upload) | {"Cache-Control": "no-store"})

    @router.get("/{kind}/{upload_id}")
    async def get_upload(call: Using, kind: KindName, upload_id: UploadId) -> UploadStatus:
        """The progress of an upload, and the key of its object."""
        return UploadStatus.of(await uploads.get(call.principal, upload_id))

    @router.patch("/{kind}/{upload_id}", status_code=204)
    @body_limit("upload")
    async def append_to_upload(
        call: Using, request: Request, kind: KindName, upload_id: UploadId, upload_offset: Annotated[int, Header(ge=0)]
    ) -> Response:
        """Append a part that starts at `Upload-Offset`. The last part completes the file."""
        upload = await uploads.append(call.principal, upload_id, upload_offset, request.stream())
        return Response(status_code=204, headers=_progress_headers(upload))

    @router.delete("/{kind}/{upload_id}", status_code=204)
    async def cancel_upload(call: Using, kind: KindName, upload_id: UploadId) -> Response:
        """Cancel an upload."""
        await uploads.cancel(call.principal, upload_id)
        return Response(status_code=204, headers=_TUS)

    @router.post("/{kind}/links", status_code=201)
    async def begin_direct_upload(call: Using, kind: KindName, wanted: DirectUpload) -> UploadLink:
        """Begin an upload straight to the object store. POST to `.../finish` when the file is there."""
        upload, form = await uploads.begin_direct(call.principal, kind, wanted.name, wanted.details)
        return UploadLink(upload=UploadStatus.of(upload), url=form.url, method=form.method, fields=dict(form.fields))

    @router.post("/{kind}/{upload_id}/finish")
    async def finish_upload(call: Using, kind: KindName, upload_id: UploadId) -> UploadStatus:
        """Finish an upload that was sent to the object store. May be repeated."""
        return UploadStatus.of(await uploads.finish(call.principal, upload_id))

    return router


def _progress_headers(upload: PendingUpload) -> dict[str, str]:
    return _TUS | {"Upload-Offset": str(upload.received), "Upload-Length": str(upload.length)}


def parse_metadata(header: str) -> dict[str, str]:
    """The pairs of an `Upload-Metadata` header: names, and base64-encoded values. Raises `BadForm`."""
    found = {}
    for pair in filter(None, (part.strip() for part in header.split(","))):
        name, _, value = pair.partition(" ")
        try:
            found[name] = b64decode(value.strip(), validate=True).decode()
        except ValueError:
            raise BadForm(
                "The Upload-Metadata header is not valid.", fix="Send pairs of a name and a base64-encoded value: `filename bmFtZQ==`."
            ) from None
    return found
