"""Uploads that survive a broken connection and a restart of the host: parts in the object store, how far it is in a table.

A part counts once the table says so, on the condition that nobody else has added one meanwhile; what a crash leaves half done is done
again by the next request or by `sweep`. The job that an application has for a file is submitted once, whatever happens in between.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect

from gateleg.objects import ByteRange, DigestMismatch, ObjectMissing, plain_name, sniff
from gateleg.objects.sniffing import HEAD, TAIL
from gateleg.store import ConditionFailed
from gateleg.web.errors import Refusal
from gateleg.web.tables import PendingUpload
from gateleg.web.uploads.rules import NotUploaded, OffsetMismatch, UploadNotFound, UploadRules

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from gateleg.jobs import Submission
    from gateleg.objects import UploadForm
    from gateleg.web.principal import Principal
    from gateleg.web.resources import Resources

__all__ = ["UploadKind", "Uploads"]

#: How long an upload may rest before it is given up, and how long one that has arrived can be asked for.
ABANDONED = timedelta(days=1)
KEPT = timedelta(days=1)
_SWEEP_EVERY = 600.0
_LINK_SECONDS = 3600


async def _anybody(principal: Principal, details: Mapping[str, str]) -> None:
    return None


@dataclass(frozen=True)
class UploadKind:
    """A kind of file that an application takes: a song, a document."""

    name: str
    rules: UploadRules
    #: the key of the object that a file becomes
    key: Callable[[PendingUpload], str]
    #: the job to be submitted when the file is there, once for each upload; in the name and tenant of who uploaded it, unless it has others
    job: Callable[[PendingUpload], Submission] | None = None
    #: refuses callers, by the details that they have sent along with the file; what it returns is kept in place of these
    check: Callable[[Principal, Mapping[str, str]], Awaitable[Mapping[str, str] | None]] = _anybody


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
        """Begin an upload in parts of a file of that many bytes. Raises what the kind refuses."""
        return await self._begin(principal, kind, name, length, details or {}, sha256, in_parts=True)

    async def begin_direct(
        self, principal: Principal, kind: str, name: str, details: Mapping[str, str] | None = None
    ) -> tuple[PendingUpload, UploadForm]:
        """Begin an upload that the client sends straight to the object store, with the form that lets it; `finish` says that it has."""
        most = self._kind(kind).rules.most
        upload = await self._begin(principal, kind, name, most, details or {}, None, in_parts=False)
        return upload, await self._objects.presign_upload(self._direct_key(upload), most=most, expires=_LINK_SECONDS)

    async def get(self, principal: Principal, upload_id: str) -> PendingUpload:
        """An upload of the caller's. Raises `UploadNotFound`."""
        found = await self._store.find(PendingUpload, application=self._resources.application, upload_id=upload_id, consistent=True)
        if found is None or (found.owner, found.tenant) != (_owner(principal), principal.tenant):
            raise UploadNotFound("There is no such upload.")
        return found

    async def append(self, principal: Principal, upload_id: str, offset: int, chunks: AsyncIterator[bytes]) -> PendingUpload:
        """Add what follows at an offset. What has arrived when a connection breaks counts."""
        upload = await self.get(principal, upload_id)
        if not upload.in_parts or offset != upload.received or upload.finished_at is not None:
            raise self._mismatch(upload)
        part = f"{self._folder(upload)}{offset:015d}-{secrets.token_hex(4)}"
        info = await self._objects.put(part, self._bounded(upload, chunks), content_type="application/octet-stream")
        try:
            if offset == 0 and info.size:
                await self._check_beginning(upload, part, info.size)
            if info.size:
                upload = await self._count(upload, part, info.size)
        except BaseException:
            await self._objects.delete(part)
            raise
        if not info.size:
            await self._objects.delete(part)
        return await self._finish(upload) if upload.received == upload.length else upload

    async def finish(self, principal: Principal, upload_id: str) -> PendingUpload:
        """Take over an object that the client has written, or finish what was left unfinished. Twice does no harm."""
        return await self._finish(await self.get(principal, upload_id))

    async def cancel(self, principal: Principal, upload_id: str) -> None:
        """Give an upload up, and remove what has arrived of it. A file that has arrived whole stays."""
        await self._drop(await self.get(principal, upload_id))

    async def sweep(self, *, older_than: timedelta = ABANDONED) -> int:
        """Finish the uploads that have arrived and were not taken over, and remove those that were given up; how many were removed."""
        horizon, removed = self._store.setup.now() - older_than, 0
        question = PendingUpload.of_application(application=self._resources.application)
        async for upload in self._store.query(question):
            if upload.finished_at is not None or upload.touched_at > horizon:
                continue
            try:
                await self._finish(upload)
            except (Refusal, ObjectMissing, DigestMismatch):
                # It never arrived whole, or what arrived is not what it may be.
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
        checked = await chosen.check(principal, details)
        chosen.rules.check_size(length)
        await self._sweep_now_and_then()
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

    async def _bounded(self, upload: PendingUpload, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        left = upload.length - upload.received
        try:
            async for chunk in chunks:
                left -= len(chunk)
                if left < 0:
                    raise OffsetMismatch(f"More bytes came than the {upload.length:,} that were announced.")
                if chunk:
                    yield chunk
        except ClientDisconnect:
            # What has come by then is whole as far as it goes, and counts.
            return

    async def _check_beginning(self, upload: PendingUpload, part: str, size: int) -> None:
        """Refuse content of the wrong type with its first part. What could be a document in an archive is decided at the end."""
        found = sniff(await self._objects.get(part, range=ByteRange(0, min(size, HEAD) - 1)))
        if found != "application/zip" or size == upload.length:
            self._kinds[upload.kind].rules.check_type(upload.name, await self._type_of([(part, size)]))

    async def _count(self, upload: PendingUpload, part: str, size: int) -> PendingUpload:
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
        content_type = await (self._assemble(upload) if upload.in_parts else self._adopt(upload))
        kind = self._kind(upload.kind)
        upload = upload.model_copy(update={"content_type": content_type})
        if kind.job is not None:
            await self._resources.queue.submit(_submission(kind.job(upload), upload))
        now = self._store.setup.now()
        done = await self._store.patch(
            PendingUpload.key(application=upload.application, upload_id=upload.upload_id),
            PendingUpload.finished_at.set(now),
            PendingUpload.content_type.set(content_type),
            PendingUpload.expires_at.set(now + KEPT),
        )
        await self._remove_parts(done)
        return done

    async def _assemble(self, upload: PendingUpload) -> str:
        """Make the object of its parts. Done twice, it makes the same object."""
        if upload.received != upload.length:
            raise self._mismatch(upload)
        sizes = [(part, (await self._objects.head(part)).size) for part in upload.parts]
        found = await self._type_of(sizes)
        self._kind(upload.kind).rules.check_type(upload.name, found)
        await self._objects.put(upload.object_key, self._joined(upload), content_type=found, sha256=upload.sha256)
        return found

    async def _joined(self, upload: PendingUpload) -> AsyncIterator[bytes]:
        for part in upload.parts:
            async with await self._objects.stream(part) as download:
                async for chunk in download:
                    yield chunk

    async def _adopt(self, upload: PendingUpload) -> str:
        """Take over what the client has written, if it is what it may be."""
        source = self._direct_key(upload)
        try:
            info = await self._objects.head(source)
        except ObjectMissing:
            if await self._objects.exists(upload.object_key):
                # A crash came between the copy and the end.
                return (await self._objects.head(upload.object_key)).content_type
            raise NotUploaded("The file has not arrived in the object store.") from None
        rules = self._kind(upload.kind).rules
        rules.check_size(info.size)
        found = await self._type_of([(source, info.size)])
        rules.check_type(upload.name, found)
        await self._objects.copy(source, upload.object_key, content_type=found)
        return found

    async def _type_of(self, parts: Sequence[tuple[str, int]]) -> str:
        """The type of the content that parts make together, by its beginning and its end."""
        return sniff(await self._ends(parts, HEAD, last=False), await self._ends(parts, TAIL, last=True))

    async def _ends(self, parts: Sequence[tuple[str, int]], most: int, *, last: bool) -> bytes:
        found = b""
        for part, size in reversed(parts) if last else parts:
            width = min(size, most - len(found))
            if width > 0:
                piece = await self._objects.get(part, range=ByteRange(None, width) if last else ByteRange(0, width - 1))
                found = piece + found if last else found + piece
        return found

    async def _drop(self, upload: PendingUpload) -> None:
        await self._store.delete(PendingUpload, application=upload.application, upload_id=upload.upload_id)
        await self._remove_parts(upload)

    async def _remove_parts(self, upload: PendingUpload) -> None:
        """Remove all that lies in the folder of an upload, also parts that came too late to count."""
        await self._objects.delete_many([entry.key async for entry in self._objects.walk(self._folder(upload))])

    async def _sweep_now_and_then(self) -> None:
        now = self._store.setup.ticks()
        if self._swept is None or now - self._swept > _SWEEP_EVERY:
            self._swept = now
            await self.sweep()

    def _kind(self, name: str) -> UploadKind:
        if name not in self._kinds:
            raise UploadNotFound(f"There are no uploads of the kind {name[:100]!r} here.")
        return self._kinds[name]

    def _folder(self, upload: PendingUpload) -> str:
        return f"{upload.application}/uploads/{upload.upload_id}/"

    def _direct_key(self, upload: PendingUpload) -> str:
        return f"{self._folder(upload)}whole"

    def _mismatch(self, upload: PendingUpload) -> OffsetMismatch:
        return OffsetMismatch(f"{upload.received:,} of {upload.length:,} bytes have arrived.", details={"offset": upload.received})


def _submission(wanted: Submission, upload: PendingUpload) -> Submission:
    """The job of a file, in the name of whoever sent it unless the application names somebody. The key makes a second one the first."""
    once = replace(wanted, idempotency_key=f"upload:{upload.upload_id}")
    named = wanted.created_by is not None or wanted.tenant is not None
    return once if named else replace(once, created_by=upload.created_by, tenant=upload.tenant)


def _owner(principal: Principal) -> str:
    return principal.key_id or principal.name
