import logging

import httpx
import pytest
from starlette.datastructures import Headers

from gateleg.web.request_context import request_id_of


async def test_every_answer_has_a_request_id_the_callers_if_it_is_sane(client: httpx.AsyncClient) -> None:
    assert (await client.get("/health", headers={"x-request-id": "abc-123_45.6"})).headers["x-request-id"] == "abc-123_45.6"
    first, second = [(await client.get("/health")).headers["x-request-id"] for _ in range(2)]
    assert first != second


@pytest.mark.parametrize("given", ["", "short", "x" * 65, "has space", 'quote"quote', "línea1234"])
def test_an_id_that_is_not_sane_is_replaced(given: str) -> None:
    assert request_id_of(Headers({"x-request-id": given})) != given


@pytest.mark.parametrize("path", ["/health", "/signin", "/api/jobs", "/api/nothing", "/metrics", "/nothing"])
async def test_every_answer_tells_browsers_what_they_may_do(client: httpx.AsyncClient, path: str) -> None:
    headers = (await client.get(path)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "strict-transport-security" not in headers


async def test_an_api_may_do_nothing_in_a_browser(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/jobs")).headers["content-security-policy"].startswith("default-src 'none'")


async def test_a_request_is_logged_with_who_what_and_how_it_went(client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "gateleg.web"):
        await client.get("/api/jobs?subject=private")
    (record,) = caplog.records
    assert (record.__dict__["status"], record.__dict__["path"], record.__dict__["caller"]) == (200, "/api/jobs", "local")
    assert "private" not in str(record.__dict__)


async def test_a_path_is_logged_as_it_was_sent(client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "gateleg.web"):
        await client.get("/api/x%0a12:00:00%20200%20GET%20/%1b[31m")
    assert caplog.records[-1].__dict__["path"] == "/api/x%0a12:00:00%20200%20GET%20/%1b[31m"
