"""Files from requests: streamed to a folder or to objects, bounded and told by their content."""

import hashlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx
import pytest
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field

from gateleg.errors import problem_message
from gateleg.host.errors import InvalidRequest, Refusal, TooLargeBody
from gateleg.objects import AsyncObjects, DirectoryObjects, ThreadedObjects
from gateleg.web.envelope import error_response
from gateleg.web.uploads import FormFields, UploadRules, WrongContent, form_body, receive_files, receive_form, receive_object

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 100
BIG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10_000


class Album(FormFields):
    """What is sent along with songs."""

    album: str = Field("", max_length=20)
    year: int | None = None


@pytest.fixture
def objects(tmp_path: Path) -> Iterator[AsyncObjects]:
    with DirectoryObjects(tmp_path / "objects", durability="relaxed") as store:
        yield ThreadedObjects(store)


@pytest.fixture
async def client(tmp_path: Path, objects: AsyncObjects) -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()
    (tmp_path / "in").mkdir()

    @app.exception_handler(Refusal)
    async def told(request: Request, error: Exception) -> object:
        return error_response(error)

    @app.post("/files")
    async def files(request: Request, max_bytes: int = 10_000_000, files: int = 3) -> list[list[object]]:
        rules = UploadRules(max_bytes, files, frozenset({"image/png", "text/plain"}))
        found = await receive_files(request, tmp_path / "in", rules)
        assert all(sha(one.path.read_bytes()) == one.sha256 for one in found)
        return [[one.name, one.size, one.sha256, one.content_type] for one in found]

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> object:
        problems = [{"message": problem_message(problem)} for problem in error.errors()]
        return error_response(InvalidRequest("The request is not valid.", details={"problems": problems}))

    @app.post("/album", openapi_extra=form_body(Album, many=True))
    async def album(request: Request, query: Annotated[Album, Query()]) -> list[object]:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        form = await receive_form(request, folder, UploadRules(10_000_000, 3), query)
        return [form.fields.album, form.fields.year]

    @app.put("/object")
    async def one(request: Request) -> list[object]:
        info = await receive_object(request, objects, "in/song", UploadRules(3_000_000, types=frozenset({"image/png"})))
        return [info.size, info.sha256, info.content_type]

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        yield client


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def test_the_files_of_a_form_are_kept_under_plain_names(client: httpx.AsyncClient) -> None:
    sent = [("file", ("../../Bild ü.mp3", PNG)), ("file", ("b.txt", b"hello")), ("file", ("c.csv", b"a,b\n1,2\n"))]
    found = (await client.post("/files", files=sent)).json()
    assert found == [
        ["Bild ü.mp3", len(PNG), sha(PNG), "image/png"],
        ["b.txt", 5, sha(b"hello"), "text/plain"],
        ["c.csv", 8, sha(b"a,b\n1,2\n"), "text/csv"],
    ]


async def test_one_file_may_be_the_whole_body(client: httpx.AsyncClient) -> None:
    disposition = "attachment; filename*=UTF-8''k%C3%B6ln.png"
    found = (await client.post("/files", content=BIG, headers={"content-disposition": disposition})).json()
    assert found == [["köln.png", len(BIG), sha(BIG), "image/png"]]


@pytest.mark.parametrize("size", [1, 7, 64, 4096, 100_000])
async def test_a_form_may_be_cut_anywhere(client: httpx.AsyncClient, size: int) -> None:
    request = client.build_request("POST", "/files", files=[("file", ("a.png", PNG)), ("file", ("b.txt", b"hello"))])
    body = request.read()

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    answered = await client.post("/files", content=pieces(), headers={"content-type": request.headers["content-type"]})
    assert [one[2] for one in answered.json()] == [sha(PNG), sha(b"hello")]


@pytest.mark.parametrize(
    ("query", "sent", "code"),
    [
        ("max_bytes=50", [("file", ("a.png", PNG))], "body-too-large"),
        ("max_bytes=110", [("file", ("a.png", PNG)), ("file", ("b.txt", b"hello"))], "body-too-large"),
        ("files=1", [("file", ("a.png", PNG)), ("file", ("b.txt", b"hello"))], "bad-form"),
        ("", [("file", ("a.png", b"%PDF-1.7"))], "wrong-content"),
        ("", [("file", ("a.txt", b"\x7fELF\x02\x01\x01\0"))], "wrong-content"),
    ],
)
async def test_what_breaks_the_rules_is_refused(
    client: httpx.AsyncClient, query: str, sent: list[tuple[str, tuple[str, bytes]]], code: str
) -> None:
    refused = await client.post(f"/files?{query}", files=sent)
    assert refused.json()["error"]["code"] == code


async def test_an_empty_file_is_called_empty_where_texts_are_refused(client: httpx.AsyncClient) -> None:
    refused = (await client.put("/object", content=b"")).json()["error"]
    assert (refused["code"], refused["message"]) == ("wrong-content", "song is empty.")


@pytest.mark.parametrize(
    "body",
    [b"", b"--x\r\nbroken", b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhello'],
)
async def test_a_form_that_ends_in_the_middle_is_refused(client: httpx.AsyncClient, body: bytes) -> None:
    refused = await client.post("/files", content=body, headers={"content-type": "multipart/form-data; boundary=x"})
    assert refused.json()["error"]["code"] == "bad-form"


async def test_a_form_without_a_file_is_refused(client: httpx.AsyncClient) -> None:
    for content, kind in ((b"--x--\r\n", "multipart/form-data; boundary=x"), (b"file=a", "application/x-www-form-urlencoded")):
        refused = await client.post("/files", content=content, headers={"content-type": kind})
        assert refused.json()["error"]["code"] == "bad-form", kind
    refused = await client.post("/album", data={"album": "b"}, files={"year": (None, b"1999")})
    assert refused.json()["error"]["code"] == "bad-form"


@pytest.mark.parametrize(
    ("query", "fields", "stored"),
    [
        ("", {"album": "Blue", "year": "1971"}, ["Blue", 1971]),
        ("?album=Blue", {"year": "1971"}, ["Blue", 1971]),
        ("?album=Blue&year=1971", {"year": "1971"}, ["Blue", 1971]),
        ("?album=Blue", {"album_name": "x"}, "There is no field 'album_name'. Did you mean 'album'? The fields are album, year."),
        ("?album=Blue", {"zzz": "x"}, "There is no field 'zzz'. The fields are album, year."),
        ("?album=Blue", {"album": "Red"}, "'album' is 'Blue' in the query and 'Red' in the form."),
        ("?album=Blue&year=1971", {"year": "1972"}, "'year' is '1971' in the query and '1972' in the form."),
        ("?albun=Blue", {}, "There is no field 'albun'. Did you mean 'album'? The fields are album, year."),
        ("", {"year": "soon"}, "Input should be a valid integer, unable to parse string as an integer"),
    ],
)
@pytest.mark.parametrize("order", [1, -1], ids=["fields first", "file first"])
async def test_fields_come_in_the_query_or_in_the_form_and_unknown_ones_are_refused(
    client: httpx.AsyncClient, tmp_path: Path, query: str, fields: dict[str, str], stored: object, order: int
) -> None:
    parts = [*((name, (None, value.encode())) for name, value in fields.items()), ("file", ("a.png", PNG))][::order]
    answered = await client.post(f"/album{query}", files=parts)
    if isinstance(stored, list):
        assert answered.json() == stored
        return
    assert answered.status_code == 422
    assert answered.json()["error"]["details"]["problems"][0]["message"] == stored


async def test_a_field_with_two_values_is_refused(client: httpx.AsyncClient) -> None:
    parts = [("album", (None, b"Blue")), ("album", (None, b"Red")), ("file", ("a.png", PNG))]
    refused = (await client.post("/album", files=parts)).json()["error"]
    assert (refused["code"], refused["message"]) == ("invalid", "'album' was sent twice, with different values.")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("album", "The field 'album' was sent as a file; send its value as text, without a file name."),
        ("song", "The form has a file in the field 'song'; send files in the field 'file' or 'files'."),
    ],
)
async def test_a_file_in_another_field_is_refused(client: httpx.AsyncClient, name: str, message: str) -> None:
    refused = await client.post("/album", files={name: ("a.txt", b"hello")})
    assert (refused.status_code, refused.json()["error"]["message"]) == (422, message)


async def test_an_unknown_field_is_refused_before_the_file_behind_it_arrives(tmp_path: Path) -> None:
    field = b'--x\r\nContent-Disposition: form-data; name="title"\r\n\r\nx\r\n'
    file = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    sender = Sender(field + file + PNG, 20 * MEGABYTE)
    with pytest.raises(InvalidRequest, match="no field 'title'"):
        await receive_files(asked(sender, content_type="multipart/form-data; boundary=x"), tmp_path, RULES)
    assert sender.sent < MEGABYTE


async def test_a_body_becomes_an_object_of_its_own_type(client: httpx.AsyncClient, objects: AsyncObjects) -> None:
    assert (await client.put("/object", content=BIG)).json() == [len(BIG), sha(BIG), "image/png"]
    assert await objects.get("in/song") == BIG
    refused = await client.put("/object", content=b"\x89PNG\r\n\x1a\n" + b"x" * 3_000_000)
    assert refused.json()["error"]["code"] == "body-too-large"
    assert (await client.put("/object", content=b"%PDF-")).json()["error"]["code"] == "wrong-content"
    assert await objects.get("in/song") == BIG


@dataclass
class Sender:
    """A body that counts how much of it was asked for."""

    head: bytes
    size: int
    sent: int = 0

    async def pieces(self) -> AsyncIterator[bytes]:
        while self.sent < self.size:
            piece = self.head if self.sent == 0 else b"\0" * 65_536
            self.sent += len(piece)
            yield piece


def asked(sender: Sender, **headers: str) -> Request:
    """A request whose body is read as far as its receiver wants it."""
    pieces = sender.pieces()

    async def receive() -> dict[str, object]:
        piece = await anext(pieces, b"")
        return {"type": "http.request", "body": piece, "more_body": bool(piece)}

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "PUT", "path": "/", "headers": raw, "query_string": b""}, receive)


RULES = UploadRules(30_000_000, types=frozenset({"image/png"}))
MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    ("headers", "before"),
    [
        ({}, b""),
        ({"content_type": "multipart/form-data; boundary=x"}, b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'),
    ],
    ids=["body", "form"],
)
async def test_wrong_content_is_refused_by_its_first_bytes(tmp_path: Path, headers: dict[str, str], before: bytes) -> None:
    sender = Sender(before + b"%PDF-1.7 " + b"x" * 4096, 20 * MEGABYTE)
    with pytest.raises(WrongContent):
        await receive_files(asked(sender, **headers), tmp_path, RULES)
    assert sender.sent < MEGABYTE


@pytest.mark.parametrize("headers", [{}, {"content_type": "multipart/form-data; boundary=x"}], ids=["body", "form"])
async def test_announced_length_is_enough_to_refuse(tmp_path: Path, headers: dict[str, str]) -> None:
    sender = Sender(PNG, 40 * MEGABYTE)
    with pytest.raises(TooLargeBody):
        await receive_files(asked(sender, content_length=str(sender.size), **headers), tmp_path, RULES)
    assert sender.sent == 0


async def test_an_object_is_refused_by_its_announced_length(objects: AsyncObjects) -> None:
    sender = Sender(PNG, 40 * MEGABYTE)
    with pytest.raises(TooLargeBody):
        await receive_object(asked(sender, content_length=str(sender.size)), objects, "in/huge", RULES)
    assert sender.sent == 0


async def test_an_archive_is_told_by_its_end(tmp_path: Path) -> None:
    document = b"PK\x03\x04" + b"\0" * 8_000 + b"[Content_Types].xml word/document.xml"
    taken = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    rules = UploadRules(MEGABYTE, types=frozenset({taken}))
    (found,) = await receive_files(asked(Sender(document, len(document))), tmp_path, rules)
    assert found.content_type == taken


async def test_an_archive_is_refused_at_once_where_no_document_is_taken(tmp_path: Path) -> None:
    sender = Sender(b"PK\x03\x04" + b"\0" * 8_000, 20 * MEGABYTE)
    with pytest.raises(WrongContent):
        await receive_files(asked(sender), tmp_path, RULES)
    assert sender.sent < MEGABYTE
