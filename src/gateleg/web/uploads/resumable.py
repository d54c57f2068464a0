"""Resumable uploads, which survive a broken connection and a restart of the host: parts are objects, and a table records the progress.

A part counts once it is recorded in the table, on condition that no other part was added meanwhile. After a crash, the next request or
`sweep` completes the work. The job of an upload is submitted exactly once.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect

from gateleg.host.errors import Refusal
from gateleg.host.tables import PendingUpload
from gateleg.objects import ByteRange, DigestMismatch, ObjectMissing, plain_name, sniff
from gateleg.objects.sniffing import HEAD, TAIL
from gateleg.store import ConditionFailed
from gateleg.web.uploads.fields import FormFields, NotUploaded, OffsetMismatch, UploadNotFound, UploadRules, merge_fields

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from gateleg.host.principal import Principal
    from gateleg.host.resources import Resources
    from gateleg.jobs import Submission
    from gateleg.objects import UploadForm

__all__ = ["UploadKind", "Uploads"]

#: After how long an idle upload is removed, and for how long the status of a finished one is kept.
ABANDONED_AFTER = timedelta(days=1)
FINISHED_KEPT_FOR = timedelta(days=1)
_SWEEP_EVERY = 600.0
_LINK_SECONDS = 3600
#: What upload clients (tus-js-client, Uppy) add by themselves.
_CLIENT_DETAILS = frozenset({"name", "type", "filetype", "relativePath", "contentType"})


async def _allow_anybody(principal: Principal, details: Mapping[str, str]) -> None:
    return None


@dataclass(frozen=True)
class UploadKind:
    """A kind of file that an application accepts, such as a song or a document."""

    name: str
    rules: UploadRules
    #: the key of the finished object
    key: Callable[[PendingUpload], str]
    #: the job to submit when the file is complete, once per upload; by default with the user and tenant of the upload
    job: Callable[[PendingUpload], Submission] | None = None
    #: the details that may be sent with the file; anything else is refused. By default, all details are accepted
    details: type[FormFields] | None = None
    #: checks the caller and the details sent with the file, and may raise; a returned mapping replaces the details
    check: Callable[[Principal, Mapping[str, str]], Awaitable[Mapping[str, str] | None]] = _allow_anybody


class Uploads:
    """The uploads of one application, of the kinds that it declares."""

    def __init__(self, resources: Resources[Any], kinds: Sequence[UploadKind]) -> None:
        self._resources = resources
        self._store, self._objects = resources.store, resources.objects
        self._kinds = {kind.name: kind for kind in kinds}
        self._swept: float | None = None

    async def begin(
        self, principal: Principal, kind: str, name: str, length: int, details: Mapping[str, str] | None = None, sha256: str | None = None
    ) -> PendingUpload:
        """Begin an upload in parts of a file of `length` bytes. Raises the errors of the kind's `check`."""
        return await self._begin(principal, kind, name, length, details or {}, sha256, in_parts=True)

    async def begin_direct(
        self, principal: Principal, kind: str, name: str, details: Mapping[str, str] | None = None
    ) -> tuple[PendingUpload, UploadForm]:
        """Begin an upload straight to the object store, and return the form for it. The client calls `finish` afterwards."""
        max_bytes = self._kind(kind).rules.max_bytes
        upload = await self._begin(principal, kind, name, max_bytes, details or {}, None, in_parts=False)
        return upload, await self._objects.presign_upload(self._direct_key(upload), max_bytes=max_bytes, expires=_LINK_SECONDS, once=True)

    async def get(self, principal: Principal, upload_id: str) -> PendingUpload:
        """An upload of the caller. Raises `UploadNotFound`."""
        found = await self._store.find(PendingUpload, application=self._resources.application, upload_id=upload_id, consistent=True)
        if found is None or (found.owner, found.tenant) != (_owner(principal), principal.tenant):
            raise UploadNotFound("The upload does not exist.")
        return found

    async def append(self, principal: Principal, upload_id: str, offset: int, chunks: AsyncIterator[bytes]) -> PendingUpload:
        """Append data at an offset. If the connection breaks, the data received so far is kept."""
        upload = await self.get(principal, upload_id)
        if not upload.in_parts or offset != upload.received or upload.finished_at is not None:
            raise self._mismatch(upload)
        part = f"{self._folder(upload)}{offset:015d}-{secrets.token_hex(4)}"
        info = await self._objects.put(part, self._until_length(upload, chunks), content_type="application/octet-stream")
        try:
            if offset == 0 and info.size:
                await self._check_first_part(upload, part, info.size)
            if info.size:
                upload = await self._record_part(upload, part, info.size)
        except BaseException:
            await self._objects.delete(part)
            raise
        if not info.size:
            await self._objects.delete(part)
        return await self._finish(upload) if upload.received == upload.length else upload

    async def finish(self, principal: Principal, upload_id: str) -> PendingUpload:
        """Finish an upload: take over the object that the client has written, or complete an interrupted finish. Idempotent."""
        return await self._finish(await self.get(principal, upload_id))

    async def cancel(self, principal: Principal, upload_id: str) -> None:
        """Cancel an upload and remove its parts. A finished file stays."""
        await self._drop(await self.get(principal, upload_id))

    async def sweep(self, *, older_than: timedelta = ABANDONED_AFTER) -> int:
        """Finish complete uploads that were interrupted, and remove abandoned ones. Returns how many were removed."""
        horizon, removed = self._store.setup.now() - older_than, 0
        pattern = PendingUpload.of_application(application=self._resources.application)
        async for upload in self._store.query(pattern):
            if upload.finished_at is not None or upload.touched_at > horizon:
                continue
            try:
                await self._finish(upload)
            except (Refusal, ObjectMissing, DigestMismatch):
                # It is incomplete, or its content is not accepted.
                await self._drop(upload)
                removed += 1
        return removed

    async def _begin(
        self,
        principal: Principal,
        kind: str,
        name: str,
        length: int,
        details: Mapping[str, str],
        sha256: str | None,
        *,
        in_parts: bool,
    ) -> PendingUpload:
        chosen, now = self._kind(kind), self._store.setup.now()
        if chosen.details is not None:
            details = {name: value for name, value in details.items() if name not in _CLIENT_DETAILS}
            merge_fields(chosen.details(), details.items(), "metadata")
        checked = await chosen.check(principal, details)
        chosen.rules.check_size(length)
        await self._sweep_periodically()
        upload = PendingUpload(
            application=self._resources.application,
            upload_id=secrets.token_urlsafe(24),
            kind=kind,
            owner=_owner(principal),
            created_by=principal.name,
            tenant=principal.tenant,
            in_parts=in_parts,
            object_key="",
            name=plain_name(name),
            length=length,
            details=dict(details if checked is None else checked),
            sha256=sha256,
            created_at=now,
            touched_at=now,
        )
        upload = upload.model_copy(update={"object_key": chosen.key(upload)})
        stored = await self._store.create(upload)
        return await self._finish(stored) if in_parts and length == 0 else stored

    async def _until_length(self, upload: PendingUpload, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        left = upload.length - upload.received
        try:
            async for chunk in chunks:
                left -= len(chunk)
                if left < 0:
                    raise OffsetMismatch(f"The upload has more than the {upload.length:,} bytes of its Upload-Length.")
                if chunk:
                    yield chunk
        except ClientDisconnect:
            # The bytes received so far are valid, and are kept.
            return

    async def _check_first_part(self, upload: PendingUpload, part: str, size: int) -> None:
        """Check the type with the first part. An archive that may be a document is checked at the end."""
        found = sniff(await self._objects.get(part, range=ByteRange(0, min(size, HEAD) - 1)))
        if found != "application/zip" or size == upload.length:
            self._kinds[upload.kind].rules.check_type(upload.name, await self._type_of([(part, size)]))

    async def _record_part(self, upload: PendingUpload, part: str, size: int) -> PendingUpload:
        try:
            return await self._store.patch(
                upload,
                PendingUpload.received.set(upload.received + size),
                PendingUpload.parts.append(part),
                PendingUpload.touched_at.set(self._store.setup.now()),
                condition=(PendingUpload.received == upload.received) & PendingUpload.finished_at.missing(),
            )
        except ConditionFailed:
            raise self._mismatch(upload) from None

    async def _finish(self, upload: PendingUpload) -> PendingUpload:
        if upload.finished_at is not None:
            return upload
        content_type = await (self._assemble(upload) if upload.in_parts else self._take_over(upload))
        kind = self._kind(upload.kind)
        upload = upload.model_copy(update={"content_type": content_type})
        if kind.job is not None:
            await self._resources.queue.submit(_submission(kind.job(upload), upload))
        now = self._store.setup.now()
        done = await self._store.patch(
            PendingUpload.key(application=upload.application, upload_id=upload.upload_id),
            PendingUpload.finished_at.set(now),
            PendingUpload.content_type.set(content_type),
            PendingUpload.expires_at.set(now + FINISHED_KEPT_FOR),
        )
        await self._remove_parts(done)
        return done

    async def _assemble(self, upload: PendingUpload) -> str:
        """Join the parts into the object. Idempotent."""
        if upload.received != upload.length:
            raise self._mismatch(upload)
        sizes = [(part, (await self._objects.head(part)).size) for part in upload.parts]
        found = await self._type_of(sizes)
        self._kind(upload.kind).rules.check_type(upload.name, found)
        await self._objects.put(upload.object_key, self._read_parts(upload), content_type=found, sha256=upload.sha256)
        return found

    async def _read_parts(self, upload: PendingUpload) -> AsyncIterator[bytes]:
        for part in upload.parts:
            async with await self._objects.stream(part) as download:
                async for chunk in download:
                    yield chunk

    async def _take_over(self, upload: PendingUpload) -> str:
        """Copy the object that the client has written to its key, if its content is accepted."""
        source = self._direct_key(upload)
        try:
            info = await self._objects.head(source)
        except ObjectMissing:
            if await self._objects.exists(upload.object_key):
                # A crash interrupted a finish after the copy.
                return (await self._objects.head(upload.object_key)).content_type
            raise NotUploaded("The file has not arrived in the object store.") from None
        rules = self._kind(upload.kind).rules
        rules.check_size(info.size)
        found = await self._type_of([(source, info.size)])
        rules.check_type(upload.name, found)
        await self._objects.copy(source, upload.object_key, content_type=found)
        return found

    async def _type_of(self, parts: Sequence[tuple[str, int]]) -> str:
        """The type of the joined parts, by their first and last bytes."""
        return sniff(await self._read_end(parts, HEAD, last=False), await self._read_end(parts, TAIL, last=True))

    async def _read_end(self, parts: Sequence[tuple[str, int]], max_bytes: int, *, last: bool) -> bytes:
        found = b""
        for part, size in reversed(parts) if last else parts:
            width = min(size, max_bytes - len(found))
            if width > 0:
                piece = await self._objects.get(part, range=ByteRange(None, width) if last else ByteRange(0, width - 1))
                found = piece + found if last else found + piece
        return found

    async def _drop(self, upload: PendingUpload) -> None:
        await self._store.delete(PendingUpload, application=upload.application, upload_id=upload.upload_id)
        await self._remove_parts(upload)

    async def _remove_parts(self, upload: PendingUpload) -> None:
        """Remove everything in the folder of an upload, including parts that came too late to count."""
        await self._objects.delete_many([entry.key async for entry in self._objects.walk(self._folder(upload))])

    async def _sweep_periodically(self) -> None:
        now = self._store.setup.ticks()
        if self._swept is None or now - self._swept > _SWEEP_EVERY:
            self._swept = now
            await self.sweep()

    def _kind(self, name: str) -> UploadKind:
        if name not in self._kinds:
            known = ", ".join(self._kinds) or "none"
            raise UploadNotFound(f"This application has no uploads of the kind {name[:100]!r}.", fix=f"Use one of its kinds: {known}.")
        return self._kinds[name]

    def _folder(self, upload: PendingUpload) -> str:
        return f"{upload.application}/uploads/{upload.upload_id}/"

    def _direct_key(self, upload: PendingUpload) -> str:
        return f"{self._folder(upload)}whole"

    def _mismatch(self, upload: PendingUpload) -> OffsetMismatch:
        return OffsetMismatch(f"{upload.received:,} of {upload.length:,} bytes have arrived.", details={"offset": upload.received})


def _submission(wanted: Submission, upload: PendingUpload) -> Submission:
    """The job of an upload, with its user and tenant unless the application set others. The idempotency key prevents duplicates."""
    once = replace(wanted, idempotency_key=f"upload:{upload.upload_id}")
    named = wanted.created_by is not None or wanted.tenant is not None
    return once if named else replace(once, created_by=upload.created_by, tenant=upload.tenant)


def _owner(principal: Principal) -> str:
    return principal.key_id or principal.name
