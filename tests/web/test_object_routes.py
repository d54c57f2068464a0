from collections.abc import AsyncIterator
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.net import Credentials
from gateleg.objects import S3Objects, ThreadedObjects
from gateleg.web.app import create_app
from gateleg.web.object_routes import policy_of, served_type
from tests.objects.s3.bucket import MemoryClient
from tests.web.conftest import client_of

TEXT = b"0123456789"


@pytest.fixture
async def stranger(host: Host, app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody without a key, somewhere else, at a host that has keys."""
    await host.keys.create("ann", Role.ADMIN)
    await host.objects.put("a/b c.txt", TEXT)
    async with client_of(app, peer="10.0.0.9", home="http://gateleg.example") as client:
        yield client


async def test_a_link_lets_its_holder_read_until_it_expires(host: Host, stranger: httpx.AsyncClient) -> None:
    link = await host.objects.presign("a/b c.txt", expires=60)
    answer = await stranger.get(link)
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, TEXT, "text/plain; charset=utf-8")
    assert (await stranger.get("/objects/a/b%20c.txt")).status_code == 401
    for changed in (link.replace("b%20c", "b"), link.replace("expires=", "expires=9"), link + "0", link.partition("&signature")[0]):
        assert (await stranger.get(changed)).status_code in (401, 403)
    assert (await stranger.put(link, content=b"x")).status_code == 403
    assert (await stranger.delete(link)).status_code in (401, 405)


async def test_a_link_that_has_expired_is_refused(host: Host, stranger: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    link = await host.objects.presign("a/b c.txt", expires=60)
    monkeypatch.setattr(host.sync_objects, "_clock", lambda: 4_000_000_000.0)
    assert (await stranger.get(link)).json()["error"]["code"] == "link-expired"


async def test_a_viewer_reads_without_a_link(client: httpx.AsyncClient, host: Host) -> None:
    await host.objects.put("a.txt", TEXT)
    assert (await client.get("/objects/a.txt")).content == TEXT
    assert (await client.get("/objects/none.txt")).json()["error"]["code"] == "object-missing"


@pytest.mark.parametrize(
    ("asked", "status", "content", "range"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=8-", 206, b"89", "bytes 8-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=0-99", 206, TEXT, "bytes 0-9/10"),
        ("bytes=1-2,4-5", 200, TEXT, None),
        ("lines=1-2", 200, TEXT, None),
        ("bytes=5-2", 200, TEXT, None),
    ],
)
async def test_a_range_is_sent(client: httpx.AsyncClient, host: Host, asked: str, status: int, content: bytes, range: str | None) -> None:
    await host.objects.put("a.txt", TEXT)
    answer = await client.get("/objects/a.txt", headers={"range": asked})
    assert (answer.status_code, answer.content, answer.headers.get("content-range")) == (status, content, range)
    assert answer.headers["content-length"] == str(len(content))


async def test_a_range_outside_says_how_large_the_object_is(client: httpx.AsyncClient, host: Host) -> None:
    await host.objects.put("a.txt", TEXT)
    answer = await client.get("/objects/a.txt", headers={"range": "bytes=10-"})
    assert (answer.status_code, answer.headers["content-range"]) == (416, "bytes */10")


async def test_a_range_of_another_copy_is_not_sent(client: httpx.AsyncClient, host: Host) -> None:
    await host.objects.put("a.txt", TEXT)
    whole = await client.get("/objects/a.txt")
    for condition, status in (
        (whole.headers["etag"], 206),
        ('"another"', 200),
        (whole.headers["last-modified"], 206),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 200),
        ("nonsense", 200),
        (f"W/{whole.headers['etag']}", 200),
    ):
        answer = await client.get("/objects/a.txt", headers={"range": "bytes=0-1", "if-range": condition})
        assert answer.status_code == status, condition


async def test_what_the_caller_has_is_not_sent_again(client: httpx.AsyncClient, host: Host) -> None:
    await host.objects.put("a.txt", TEXT)
    etag = (await client.get("/objects/a.txt")).headers["etag"]
    for named in (etag, f'"x", W/{etag}', "*"):
        answer = await client.get("/objects/a.txt", headers={"if-none-match": named})
        assert (answer.status_code, answer.content) == (304, b"")
    assert (await client.get("/objects/a.txt", headers={"if-none-match": '"x"'})).status_code == 200


async def test_head_tells_all_but_the_content(client: httpx.AsyncClient, host: Host) -> None:
    await host.objects.put("a.txt", TEXT)
    got, headed = await client.get("/objects/a.txt"), await client.head("/objects/a.txt")
    assert (headed.status_code, headed.content) == (200, b"")
    for name in ("etag", "content-length", "content-type", "last-modified", "accept-ranges"):
        assert headed.headers[name] == got.headers[name]


@pytest.mark.parametrize("kind", ["text/html", "TEXT/HTML; charset=utf-8", "image/svg+xml", "application/xhtml+xml", "text/xml", "x/y+xml"])
def test_what_browsers_run_is_shown_in_a_room_of_its_own(kind: str) -> None:
    assert policy_of(kind).startswith("sandbox allow-scripts; default-src 'none'")
    assert "allow-same-origin" not in policy_of(kind)


@pytest.mark.parametrize("kind", ["image/png", "video/mp4", "text/plain", "application/json", "application/octet-stream"])
def test_what_browsers_only_show_is_not_sandboxed(kind: str) -> None:
    assert "sandbox" not in policy_of(kind)
    assert "script-src" not in policy_of(kind)


async def test_a_page_in_an_object_cannot_act_as_this_host(client: httpx.AsyncClient, host: Host) -> None:
    await host.objects.put("x.html", b"<script>fetch('/api/keys')</script>", content_type="text/html")
    headers = (await client.get("/objects/x.html")).headers
    assert headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert headers["x-content-type-options"] == "nosniff"


async def test_a_download_is_saved_under_its_name(host: Host, stranger: httpx.AsyncClient) -> None:
    link = await host.objects.presign("a/b c.txt", download="Übersicht.txt")
    disposition = (await stranger.get(link)).headers["content-disposition"]
    assert disposition.startswith("attachment;")
    assert "%C3%9Cbersicht.txt" in disposition


@pytest.mark.parametrize(
    "path",
    [
        "/objects/../secret",
        "/objects/%2e%2e/secret",
        "/objects/a/../../secret",
        "/objects/a/%2e%2e/%2e%2e/secret",
        "/objects/..%2fsecret",
        "/objects/%2fetc%2fpasswd",
        "/objects//etc/passwd",
        "/objects/a%00b",
        "/objects/a%5c..%5c..%5csecret",
        "/objects/https://evil.example/",
        "/objects/" + "x" * 2000,
        "/objects/%ff%fe",
    ],
)
async def test_no_path_leads_out_of_the_objects(app: FastAPI, host: Host, path: str) -> None:
    (host.settings.data / "secret").chmod(0o644)
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, headers={"authorization": f"Bearer {host.local.token}"}) as client:
        for method in ("GET", "HEAD", "PUT"):
            request = client.build_request(method, "http://127.0.0.1:8000/")
            request.url = httpx.URL("http://127.0.0.1:8000").copy_with(raw_path=path.encode())
            answer = await client.send(request)
            assert answer.status_code in (403, 404, 422), (method, path)
            assert host.secret.value.decode() not in answer.text


async def test_a_link_to_put_takes_exactly_what_it_was_made_for(host: Host, stranger: httpx.AsyncClient) -> None:
    link = await host.objects.presign("up/new.txt", method="PUT", content_type="text/plain", length=10)
    kind = {"content-type": "text/plain"}
    for wrong in (
        await stranger.put(link, content=TEXT),
        await stranger.put(link, content=TEXT, headers={"content-type": "text/html"}),
        await stranger.put(link, content=TEXT + b"x", headers=kind),
        await stranger.put(link.replace("new", "old"), content=TEXT, headers=kind),
        await stranger.get(link),
    ):
        assert wrong.status_code == 403
    assert not await host.objects.exists("up/new.txt")
    put = await stranger.put(link, content=TEXT, headers=kind)
    assert (put.status_code, put.json()["size"]) == (201, 10)
    assert await host.objects.get("up/new.txt") == TEXT


async def test_a_form_is_refused_where_the_file_is_the_body(host: Host, stranger: httpx.AsyncClient) -> None:
    link = await host.objects.presign("up/new.txt", method="PUT")
    refused = await stranger.put(link, files={"file": ("a.txt", TEXT)})
    assert (refused.status_code, refused.json()["error"]["code"]) == (415, "form-refused")
    assert not await host.objects.exists("up/new.txt")


async def test_an_upload_that_is_too_large_leaves_nothing(host: Host, stranger: httpx.AsyncClient) -> None:
    link = await host.objects.presign("up/large.bin", method="PUT")

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(1000):
            yield b"x" * 1000

    answer = await stranger.put(link, content=chunks())
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body-too-large")
    assert not await host.objects.exists("up/large.bin")


async def test_a_link_carries_its_own_permission_also_in_a_browser_that_is_signed_in(host: Host, app: FastAPI) -> None:
    session = await host.sessions.begin((await host.keys.create("ann", Role.VIEWER)).token)
    link = await host.objects.presign("up/new.txt", method="PUT")
    async with client_of(app) as client:
        client.cookies.set("gateleg_session", session.cookie)
        assert (await client.put(link, content=TEXT)).status_code == 201
        assert (await client.put(urlsplit(link).path, content=TEXT)).status_code == 403


async def test_objects_of_a_bucket_are_read_through_the_host_and_written_to_the_bucket_itself(host: Host) -> None:
    bucket = S3Objects("bucket", client=MemoryClient(), credentials=Credentials("key", "secret"))
    with_bucket = replace(host, sync_objects=bucket, objects=ThreadedObjects(bucket))
    await with_bucket.objects.put("a.txt", TEXT)
    async with client_of(create_app(with_bucket, console=False), token=host.local.token) as client:
        part = await client.get("/objects/a.txt", headers={"range": "bytes=2-4"})
        assert (part.status_code, part.content) == (206, b"234")
        assert (await client.get("/objects/a.txt?signature=x&expires=9999999999")).content == TEXT
        assert (await client.put("/objects/b.txt?signature=x&expires=9999999999", content=TEXT)).status_code == 404
    async with client_of(create_app(with_bucket, console=False), peer="10.0.0.1") as stranger:
        assert (await stranger.get("/objects/a.txt?signature=x&expires=9999999999")).status_code == 401


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ("text/plain", "text/plain; charset=utf-8"),
        ("Text/Markdown; variant=GFM", "Text/Markdown; variant=GFM; charset=utf-8"),
        ("text/csv; charset=latin-1", "text/csv; charset=latin-1"),
        ("text/html", "text/html"),
        ("image/png", "image/png"),
    ],
)
def test_a_text_is_told_to_be_utf_8_unless_it_says_what_it_is(kept: str, told: str) -> None:
    assert served_type(kept) == told


async def test_a_link_to_put_may_bound_the_length_without_knowing_it(host: Host, stranger: httpx.AsyncClient) -> None:
    form = await host.objects.presign_upload("in/clip.bin", max_bytes=1000)
    assert (form.method, form.fields) == ("PUT", {})

    async def pieces(count: int) -> AsyncIterator[bytes]:
        for _ in range(count):
            yield b"x" * 100

    refused = await stranger.put(form.url, content=pieces(11))
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "body-too-large")
    assert not await host.objects.exists("in/clip.bin")
    assert (await stranger.put(form.url, content=b"x" * 1001)).status_code == 403
    assert (await stranger.put(form.url, content=pieces(10))).status_code == 201
    assert (await host.objects.head("in/clip.bin")).size == 1000
