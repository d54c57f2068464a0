from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI, Request

from gateleg.web.bodies import BodyLimit, body_limit, limit_of
from gateleg.web.settings import Settings


def test_objects_and_uploads_to_the_console_may_be_larger(settings: Settings) -> None:
    assert limit_of("/api/jobs", settings) == settings.body_limit
    for path in ("/objects/a", "/_nicegui/client/x/upload/1"):
        assert limit_of(path, settings) == settings.upload_limit


async def test_a_route_declares_the_limit_of_its_bodies(settings: Settings) -> None:
    app = FastAPI()

    @app.post("/api/sample/{name}/songs")
    @body_limit(20_000)
    async def post(request: Request) -> int:
        return len(await request.body())

    @app.put("/api/sample/{name}/songs")
    @body_limit(lambda found: found.upload_limit)
    async def put(request: Request) -> int:
        return len(await request.body())

    app.add_middleware(BodyLimit, settings=settings, routes=app.router.routes)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        assert (await client.post("/api/sample/a/songs", content=b"x" * 20_000)).json() == 20_000
        assert (await client.post("/api/sample/a/songs", content=b"x" * 20_001)).status_code == 413
        assert (await client.put("/api/sample/a/songs", content=b"x" * 50_000)).json() == 50_000
        assert (await client.post("/api/sample/songs", content=b"x" * 20_000)).status_code == 413


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
