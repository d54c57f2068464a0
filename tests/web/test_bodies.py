from collections.abc import AsyncIterator

import httpx
import pytest

from gateleg.web.bodies import limit_of
from gateleg.web.settings import Settings


def test_a_page_of_the_console_may_upload_more(settings: Settings) -> None:
    assert limit_of("POST", "/api/jobs", settings) == settings.body_limit
    assert limit_of("POST", "/_nicegui/client/x/upload/1", settings) == settings.upload_limit


@pytest.mark.parametrize(
    ("path", "limit"), [("/api/music/recordings", 100_000), ("/api/music/covers/la", 20_000), ("/api/music/songs/files", 10_000)]
)
async def test_a_route_declares_the_limit_of_its_bodies(client: httpx.AsyncClient, path: str, limit: int) -> None:
    assert (await client.post(path, content=b"x" * limit)).status_code == 200
    refused = await client.post(path, content=b"x" * (limit + 1))
    assert (refused.status_code, refused.json()["error"]["details"]["limit"]) == (413, limit)


async def test_a_body_that_announces_too_much_is_refused_before_it_is_read(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/jobs", content=b"x" * 10_001)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body-too-large")
    assert answer.json()["error"]["details"]["limit"] == 10_000


async def test_a_body_that_announces_nothing_is_counted_as_it_comes(client: httpx.AsyncClient) -> None:
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1000
            yield b"x" * 1000

    answer = await client.post("/api/jobs", content=chunks(), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body-too-large")
    assert sent <= 12_000


@pytest.mark.parametrize("length", [b"-1", b"1e3", b"\xb2", b"x"])
async def test_a_length_that_is_no_number_is_refused(client: httpx.AsyncClient, length: bytes) -> None:
    answer = await client.post("/api/jobs", content=b"", headers=[(b"content-length", length)])
    assert answer.status_code == 400
