"""Uploads in parts and straight to the store: they survive restarts, and end in one job."""

import hashlib
import zipfile
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from gateleg.host import Application, Principal, Resources, Role
from gateleg.host.host import Host
from gateleg.host.member_jobs import MemberJobs
from gateleg.host.settings import Settings
from gateleg.host.tables import PendingUpload
from gateleg.jobs import JobContext, Jobs, ManualClock, Submission
from gateleg.objects import DigestMismatch
from gateleg.web.app import create_app
from gateleg.web.uploads import OffsetMismatch, UploadKind, UploadNotFound, UploadRules, Uploads, WrongContent
from gateleg.web.uploads.routes import upload_routes
from tests.web.conftest import client_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
ANN, EVE = Principal("ann", Role.MEMBER, tenant="acme"), Principal("eve", Role.MEMBER, tenant="acme")


class Picture(BaseModel):
    key: str


jobs = Jobs()


@jobs.handler("PICTURE", config=Picture)
async def picture(job: JobContext, config: Picture) -> None: ...


KIND = UploadKind(
    "picture",
    UploadRules(20_000, types=frozenset({"image/png", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"})),
    key=lambda upload: f"shop/{upload.upload_id}/{upload.name}",
    job=lambda upload: Submission("PICTURE", Picture(key=upload.object_key)),
)


def routes(resources: Resources[Any]) -> APIRouter:
    router = APIRouter()
    router.include_router(upload_routes(resources, [KIND]))
    return router


SHOP = Application("shop", "Shop", "store", jobs=jobs, routes=routes)


@pytest.fixture
async def shop(settings: Settings, clock: ManualClock) -> AsyncIterator[Host]:
    async with Host.open(settings, [SHOP], clock=clock, ticks=clock) as host:
        yield host


@pytest.fixture
def uploads(shop: Host) -> Uploads:
    return Uploads(shop.resources["shop"], [KIND])


async def pieces(*chunks: bytes, breaks: bool = False) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
    if breaks:
        raise ClientDisconnect


async def submitted(host: Host) -> list[UUID]:
    return [job.job_id async for job in host.store.query(host.queue.tables.job.in_status(status="PENDING"))]


async def leftovers(host: Host) -> list[str]:
    return [entry.key async for entry in host.objects.walk("shop/uploads/")]


async def test_parts_become_one_object_and_one_job(shop: Host, uploads: Uploads) -> None:
    upload = await uploads.begin(ANN, "picture", "../a.png", len(PNG), {"album": "x"}, hashlib.sha256(PNG).hexdigest())
    for start in range(0, len(PNG), 3000):
        upload = await uploads.append(ANN, upload.upload_id, start, pieces(PNG[start : start + 3000]))
    assert (upload.received, upload.content_type, upload.name) == (len(PNG), "image/png", "a.png")
    assert await shop.objects.get(upload.object_key) == PNG
    assert (await shop.objects.head(upload.object_key)).content_type == "image/png"
    assert len(await submitted(shop)) == 1
    assert await leftovers(shop) == []
    assert (await uploads.finish(ANN, upload.upload_id)).finished_at == upload.finished_at
    assert len(await submitted(shop)) == 1


async def test_the_job_of_a_file_is_the_uploaders_and_in_their_tenant(shop: Host, uploads: Uploads) -> None:
    upload = await uploads.begin(ANN, "picture", "a.png", len(PNG))
    await uploads.append(ANN, upload.upload_id, 0, pieces(PNG))
    (job_id,) = await submitted(shop)
    job = await shop.queue.get(job_id)
    assert (job.created_by, job.tenant) == ("ann", "acme")
    for principal, seen in ((ANN, True), (EVE, False), (replace(ANN, tenant="other"), False)):
        assert await MemberJobs(SHOP, shop.resources["shop"], principal).sees(job) is seen


async def test_the_job_of_a_file_belongs_to_who_uploaded_it(shop: Host) -> None:
    key = await shop.keys.create("ann", Role.MEMBER, tenant="acme")
    async with client_of(create_app(shop, console=False), token=key.token) as ann:
        begun = await ann.post("/api/shop/uploads/picture", headers={"Upload-Length": str(len(PNG)), "Tus-Resumable": "1.0.0"})
        part = {"Upload-Offset": "0", "Content-Type": "application/offset+octet-stream", "Tus-Resumable": "1.0.0"}
        await ann.patch(begun.headers["location"], content=PNG, headers=part)
        (job,) = (await ann.get("/api/shop/jobs")).json()["items"]
    assert (job["job_type"], job["created_by"]) == ("PICTURE", "ann")
    assert (await shop.queue.get(UUID(job["job_id"]))).tenant == "acme"


async def test_an_application_may_submit_the_job_of_a_file_for_somebody_else(shop: Host) -> None:
    kind = replace(KIND, job=lambda upload: Submission("PICTURE", Picture(key=upload.object_key), created_by="robot", tenant="lab"))
    uploads = Uploads(shop.resources["shop"], [kind])
    upload = await uploads.begin(ANN, "picture", "a.png", len(PNG))
    await uploads.append(ANN, upload.upload_id, 0, pieces(PNG))
    (job_id,) = await submitted(shop)
    job = await shop.queue.get(job_id)
    assert (job.created_by, job.tenant) == ("robot", "lab")


async def test_what_came_before_the_connection_broke_counts_and_another_process_goes_on(shop: Host, uploads: Uploads) -> None:
    upload = await uploads.begin(ANN, "picture", "a.png", len(PNG))
    upload = await uploads.append(ANN, upload.upload_id, 0, pieces(PNG[:1000], PNG[1000:1500], breaks=True))
    assert upload.received == 1500
    other = Uploads(shop.resources["shop"], [KIND])
    assert (await other.get(ANN, upload.upload_id)).received == 1500
    done = await other.append(ANN, upload.upload_id, 1500, pieces(PNG[1500:]))
    assert await shop.objects.get(done.object_key) == PNG


async def test_a_part_at_another_offset_or_with_too_much_is_refused_and_leaves_nothing(shop: Host, uploads: Uploads) -> None:
    upload = await uploads.begin(ANN, "picture", "a.png", len(PNG))
    await uploads.append(ANN, upload.upload_id, 0, pieces(PNG[:100]))
    for offset, content in ((0, PNG[:100]), (50, b"x"), (200, b"x"), (100, PNG)):
        with pytest.raises(OffsetMismatch):
            await uploads.append(ANN, upload.upload_id, offset, pieces(content))
    assert len(await leftovers(shop)) == 1


async def test_of_two_parts_at_once_one_counts(shop: Host, uploads: Uploads) -> None:
    upload = await uploads.begin(ANN, "picture", "a.png", len(PNG))

    async def slow() -> AsyncIterator[bytes]:
        yield PNG[:10]
        await uploads.append(ANN, upload.upload_id, 0, pieces(PNG[:1000]))
        yield PNG[10:500]

    with pytest.raises(OffsetMismatch):
        await uploads.append(ANN, upload.upload_id, 0, slow())
    assert (await uploads.get(ANN, upload.upload_id)).received == 1000
    assert len(await leftovers(shop)) == 1


async def test_others_do_not_find_an_upload(uploads: Uploads) -> None:
    upload = await uploads.begin(ANN, "picture", "a.png", len(PNG))
    for other in (EVE, replace(ANN, tenant="other"), replace(ANN, key_id="k")):
        with pytest.raises(UploadNotFound):
            await uploads.append(other, upload.upload_id, 0, pieces(PNG))
    with pytest.raises(UploadNotFound):
        await uploads.begin(ANN, "film", "a.mp4", 1)


async def test_content_of_another_type_is_refused_with_its_first_part(shop: Host, uploads: Uploads) -> None:
    upload = await uploads.begin(ANN, "picture", "a.png", 5000)
    with pytest.raises(WrongContent):
        await uploads.append(ANN, upload.upload_id, 0, pieces(b"%PDF-1.7 " * 100))
    assert await leftovers(shop) == []


@dataclass
class Dying:
    """A queue whose process dies before or after it has taken a job."""

    queue: Any
    takes: bool

    async def submit(self, submission: Submission) -> None:
        if self.takes:
            await self.queue.submit(submission)
        raise RuntimeError("killed")


@pytest.mark.parametrize("takes", [False, True])
async def test_a_crash_at_the_end_is_made_good_and_the_job_is_submitted_once(
    shop: Host, uploads: Uploads, clock: ManualClock, takes: bool
) -> None:
    resources: Any = shop.resources["shop"]
    mortal = Uploads(replace(resources, queue=Dying(resources.queue, takes)), [KIND])
    upload = await mortal.begin(ANN, "picture", "a.png", len(PNG))
    with pytest.raises(RuntimeError):
        await mortal.append(ANN, upload.upload_id, 0, pieces(PNG))
    clock.advance(2 * 24 * 3600)
    assert await uploads.sweep() == 0
    assert (await uploads.get(ANN, upload.upload_id)).finished_at is not None
    assert len(await submitted(shop)) == 1
    assert await shop.objects.get(upload.object_key) == PNG
    assert await leftovers(shop) == []


async def test_abandoned_uploads_are_swept(shop: Host, uploads: Uploads, clock: ManualClock) -> None:
    upload = await uploads.begin(ANN, "picture", "a.png", len(PNG))
    await uploads.append(ANN, upload.upload_id, 0, pieces(PNG[:100]))
    direct, _ = await uploads.begin_direct(ANN, "picture", "b.png")
    assert await uploads.sweep() == 0
    clock.advance(timedelta(days=2).total_seconds())
    assert await uploads.sweep() == 2
    assert await leftovers(shop) == []
    with pytest.raises(UploadNotFound):
        await uploads.get(ANN, direct.upload_id)


async def test_a_client_writes_to_the_store_itself_and_says_so(shop: Host) -> None:
    made = await shop.keys.create("ann", Role.MEMBER, tenant="acme")
    app = create_app(shop, console=False)
    async with client_of(app, token=made.token) as client, client_of(app) as anybody:
        begun = (await client.post("/api/shop/uploads/picture/links", json={"name": "a.png"})).json()
        finish = f"/api/shop/uploads/picture/{begun['upload']['upload_id']}/finish"
        early = await client.post(finish)
        assert (early.status_code, early.json()["error"]["code"]) == (409, "not-uploaded")
        assert (await anybody.request(begun["method"], begun["url"], content=b"x" * 20_001)).status_code == 403
        assert (await anybody.request(begun["method"], begun["url"], content=PNG)).status_code == 201
        done = (await client.post(finish)).json()
        assert (await client.post(finish)).json() == done
    assert done["content_type"] == "image/png"
    assert await shop.objects.get(done["key"]) == PNG
    assert len(await submitted(shop)) == 1
    assert await leftovers(shop) == []


async def test_the_protocol_is_that_of_tus(shop: Host) -> None:
    made = await shop.keys.create("ann", Role.MEMBER)
    metadata = f"filename {b64encode('ü.png'.encode()).decode()},album eA=="
    async with client_of(create_app(shop, console=False), token=made.token) as client:
        told = await client.options("/api/shop/uploads/picture")
        assert (told.headers["tus-version"], told.headers["tus-max-size"]) == ("1.0.0", "20000")
        begun = await client.post("/api/shop/uploads/picture", headers={"upload-length": str(len(PNG)), "upload-metadata": metadata})
        place = begun.headers["location"]
        assert (begun.status_code, begun.headers["upload-offset"]) == (201, "0")
        kind = {"content-type": "application/offset+octet-stream"}
        whole = await client.post("/api/shop/uploads/picture", headers={"upload-length": str(len(PNG))})
        assert len(PNG) > shop.settings.body_limit
        assert (await client.patch(whole.headers["location"], content=PNG, headers={"upload-offset": "0", **kind})).status_code == 204
        part = await client.patch(place, content=PNG[:4000], headers={"upload-offset": "0", **kind})
        assert (part.status_code, part.headers["upload-offset"]) == (204, "4000")
        assert (await client.patch(place, content=b"x", headers={"upload-offset": "1", **kind})).status_code == 409
        head = await client.head(place)
        assert (head.headers["upload-offset"], head.headers["upload-length"]) == ("4000", str(len(PNG)))
        last = await client.patch(place, content=PNG[4000:], headers={"upload-offset": "4000", **kind})
        assert last.headers["upload-offset"] == str(len(PNG))
        status = (await client.get(place)).json()
        assert (status["name"], status["content_type"]) == ("ü.png", "image/png")
        too_large = await client.post("/api/shop/uploads/picture", headers={"upload-length": "20001"})
        assert (too_large.status_code, too_large.json()["error"]["code"]) == (413, "body-too-large")
        broken = await client.post("/api/shop/uploads/picture", headers={"upload-length": "1", "upload-metadata": "filename ???"})
        assert broken.json()["error"]["code"] == "bad-form"
        again = await client.post("/api/shop/uploads/picture", headers={"upload-length": "10"})
        assert (await client.delete(again.headers["location"])).status_code == 204
        assert (await client.head(again.headers["location"])).status_code == 404


async def test_a_word_document_in_parts_is_told_by_its_end(shop: Host, uploads: Uploads, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        for number in range(60):
            archive.writestr(f"media/{number:03}.bin", b"x" * 100)
        archive.writestr("[Content_Types].xml", "x")
        archive.writestr("word/document.xml", "x")
    content = (tmp_path / "a.docx").read_bytes()
    upload = await uploads.begin(ANN, "picture", "a.docx", len(content))
    await uploads.append(ANN, upload.upload_id, 0, pieces(content[:5000]))
    done = await uploads.append(ANN, upload.upload_id, 5000, pieces(content[5000:]))
    assert str(done.content_type).endswith("wordprocessingml.document")


async def test_the_table_keeps_no_upload_for_ever(shop: Host, uploads: Uploads) -> None:
    upload = await uploads.begin(ANN, "picture", "a.png", len(PNG))
    done = await uploads.append(ANN, upload.upload_id, 0, pieces(PNG))
    assert isinstance(done, PendingUpload)
    assert done.expires_at is not None


async def test_what_is_not_what_was_announced_is_given_up(shop: Host, uploads: Uploads, clock: ManualClock) -> None:
    upload = await uploads.begin(ANN, "picture", "a.png", len(PNG), sha256="0" * 64)
    with pytest.raises(DigestMismatch):
        await uploads.append(ANN, upload.upload_id, 0, pieces(PNG))
    direct, form = await uploads.begin_direct(ANN, "picture", "b.png")
    await shop.objects.put(f"shop/uploads/{direct.upload_id}/whole", b"%PDF-")
    assert form.method == "PUT"
    clock.advance(2 * 24 * 3600)
    assert await uploads.sweep() == 2
    assert await submitted(shop) == []
    assert await leftovers(shop) == []
