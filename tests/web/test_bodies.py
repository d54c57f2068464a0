import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.host.settings import Settings
from gateleg.web.bodies import JsonValues, limits_of


def test_a_page_of_the_console_may_upload_more(settings: Settings) -> None:
    assert limits_of("POST", "/api/jobs", settings).size == settings.body_limit
    assert limits_of("POST", "/_nicegui/client/x/upload/1", settings).size == settings.upload_limit


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


def counted(text: bytes, size: int = 7, most: int = 1_000_000) -> JsonValues:
    values = JsonValues(most)
    for start in range(0, len(text), size):
        values.feed(text[start : start + size])
    return values


def brackets_and_commas(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    parts = list(value.values()) if isinstance(value, dict) else value
    return 1 + max(0, len(parts) - 1) + sum(map(brackets_and_commas, parts))


documents = st.recursive(
    st.none() | st.integers() | st.text('a",[{\\é', max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('a",[{\\', max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(value=documents, size=st.integers(1, 9), indent=st.sampled_from([None, 1]))
def test_the_values_of_json_are_counted_outside_of_its_strings(value: Any, size: int, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    assert counted(text, size).count == 1 + brackets_and_commas(value)
    # In other encodings, those in strings may count as well.
    assert counted(json.dumps(value).encode("utf-16"), size).count >= 1 + brackets_and_commas(value)


def test_a_limit_on_values_does_not_count_the_commas_of_a_text() -> None:
    assert not counted(json.dumps(["a,b[{" * 100] * 4).encode(), most=5).too_many
    assert counted(json.dumps([0] * 5).encode(), most=5).too_many
    assert counted(b'"' * 50, most=5).too_many


@pytest.mark.parametrize(("path", "limit"), [("/api/music/lists", 10_000), ("/api/music/pairs", 30)])
async def test_a_body_of_too_many_values_is_refused(client: httpx.AsyncClient, path: str, limit: int) -> None:
    assert (await client.post(path, json=[0] * (limit - 1))).json() == limit - 1
    refused = await client.post(path, json=[0] * limit)
    details = refused.json()["error"]["details"]
    assert (refused.status_code, details["limit"], details["unit"]) == (413, limit, "values")


async def test_a_route_that_reads_its_body_itself_takes_any_values(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/music/recordings", content=b"[" + b"0," * 40_000 + b"0]", headers={"content-type": "application/json"})
    assert answer.status_code == 200
