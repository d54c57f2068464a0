import httpx
import pytest

from gateleg.host.host import Host
from tests.web.conftest import Staff


async def test_objects_are_listed_by_prefix_and_paged(client: httpx.AsyncClient, host: Host) -> None:
    for key in ("a/1.txt", "a/2.txt", "a/b/3.txt", "c.txt"):
        await host.objects.put(key, b"x")
    top = (await client.get("/api/objects", params={"delimiter": "/"})).json()
    assert (top["prefixes"], [entry["key"] for entry in top["objects"]]) == (["a/"], ["c.txt"])
    first = (await client.get("/api/objects", params={"prefix": "a/", "limit": 2})).json()
    rest = (await client.get("/api/objects", params={"prefix": "a/", "limit": 2, "cursor": first["next"]})).json()
    assert [entry["key"] for entry in first["objects"] + rest["objects"]] == ["a/1.txt", "a/2.txt", "a/b/3.txt"]
    assert rest["next"] is None
    assert (await client.get("/api/objects", params={"cursor": "a"})).status_code == 400


async def test_an_object_is_described_linked_and_deleted(client: httpx.AsyncClient, host: Host) -> None:
    await host.objects.put("a/1.txt", b"hello", metadata={"by": "ann"})
    known = (await client.get("/api/objects/a/1.txt")).json()
    assert (known["size"], known["content_type"], known["metadata"]) == (5, "text/plain", {"by": "ann"})
    link = (await client.post("/api/objects/links", json={"key": "a/1.txt"})).json()
    assert (await client.get(link["url"])).content == b"hello"
    assert (await client.delete("/api/objects/a/1.txt")).status_code == 204
    assert (await client.get("/api/objects/a/1.txt")).status_code == 404
    assert sorted(entry.action for entry in await host.audit.page()) == ["object.delete", "object.share"]


async def test_a_link_to_write_is_used(client: httpx.AsyncClient, host: Host) -> None:
    wanted = {"key": "new.txt", "method": "PUT", "content_type": "text/plain", "length": 2}
    link = (await client.post("/api/objects/links", json=wanted)).json()
    assert (await client.put(link["url"], content=b"hi", headers={"content-type": "text/plain"})).status_code == 201
    assert await host.objects.get("new.txt") == b"hi"


@pytest.mark.parametrize(
    "wanted",
    [
        {"key": "../x"},
        {"key": "/x"},
        {"key": "https://x/y"},
        {"key": "x", "method": "DELETE"},
        {"key": "x", "expires": 0},
        {"key": "x", "expires": 10**9},
        {"key": "x", "content_type": "text/plain"},
        {"key": "x", "method": "PUT", "download": "y"},
        {"key": "x", "download": "a/b"},
        {"key": "x", "method": "PUT", "content_type": "x\ny"},
    ],
)
async def test_a_link_that_cannot_be_is_refused(client: httpx.AsyncClient, wanted: dict[str, object]) -> None:
    assert (await client.post("/api/objects/links", json=wanted)).status_code == 422


async def test_a_link_to_put_may_have_a_greatest_length(staff: Staff, host: Host) -> None:
    link = (await staff.operator.post("/api/objects/links", json={"key": "in/a.bin", "method": "PUT", "max_bytes": 100})).json()
    assert (link["method"], link["fields"]) == ("PUT", {})
    assert (await staff.nobody.put(link["url"], content=b"x" * 101)).status_code == 403
    assert (await staff.nobody.put(link["url"], content=b"x" * 100)).status_code == 201
    assert (await host.objects.head("in/a.bin")).size == 100
    for wrong in ({"method": "GET"}, {"length": 5}):
        refused = await staff.operator.post("/api/objects/links", json={"key": "a", "method": "PUT", "max_bytes": 1} | wrong)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad-link")
