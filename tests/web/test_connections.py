import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.web.connections import ConnectionLimits, Connections
from tests.web.served import connected, listening, told

HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /signin HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
UPGRADE = HEAD.replace(b"/health", b"/_nicegui_ws/") + b"Upgrade: websocket\r\nConnection: Upgrade\r\n"


@pytest.mark.parametrize("start", [HEAD, UPGRADE, b"GET /health?"], ids=["header", "websocket", "target"])
async def test_a_head_larger_than_the_limit_is_refused_and_the_connection_closed(host: Host, start: bytes) -> None:
    async with listening(host, head_limit=4_096) as port, connected(port) as line:
        end = b"" if start.endswith(b"?") else b"X-Long: "
        await line.send(start + end + b"a" * 5_000 + (b" HTTP/1.1" if start.endswith(b"?") else b"") + b"\r\n\r\n")
        assert told(await line.rest()) == (431, "head-too-large")


async def test_a_head_of_the_limit_is_taken(host: Host) -> None:
    async with listening(host, head_limit=4_096) as port, connected(port) as line:
        await line.send(HEAD + b"X-Long: " + b"a" * 3_900 + b"\r\n\r\n")
        assert (await line.answer())[0] == 200


@pytest.mark.parametrize("filling", [b"a" * 65_536, b"a: b\r\n" * 10_000], ids=["one header", "many headers"])
async def test_a_head_without_an_end_is_cut_off(host: Host, filling: bytes) -> None:
    async with listening(host, head_limit=4_096) as port, connected(port) as line:
        await line.send(HEAD + b"X-Long: ")
        assert await line.flood(filling) < 50_000_000


@pytest.mark.parametrize("filling", [b"a" * 65_536, b"a: b\r\n" * 10_000], ids=["one trailer", "many trailers"])
@pytest.mark.parametrize("body", [b"0\r\n", b"3\r\nkey\r\n0\r\n"], ids=["no body", "a body"])
async def test_trailers_without_an_end_are_cut_off(host: Host, body: bytes, filling: bytes) -> None:
    async with listening(host, head_limit=4_096) as port, connected(port) as line:
        await line.send(POST + b"Transfer-Encoding: chunked\r\n\r\n" + body + b"X-Long: ")
        assert await line.flood(filling) < 50_000_000


async def test_trailers_are_not_headers_of_the_request(host: Host) -> None:
    seen: list[bytes] = []

    async def echo(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        while (await receive()).get("more_body"):
            pass
        seen.extend(name for name, _ in scope["headers"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async with listening(host, app=echo) as port, connected(port) as line:
        await line.send(POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nkey\r\n0\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n")
        assert (await line.answer())[0] == 200
    assert b"transfer-encoding" in seen
    assert b"x-forwarded-for" not in seen


@pytest.mark.parametrize("start", [b"", b"\r\n", HEAD, UPGRADE], ids=["nothing", "an empty line", "half a head", "half a handshake"])
async def test_a_head_that_is_not_complete_in_time_is_refused(host: Host, start: bytes) -> None:
    async with listening(host, request_seconds=0.2) as port, connected(port) as line:
        await line.send(start)
        assert told(await line.rest()) == (408, "too-slow")


async def test_empty_lines_do_not_keep_an_idle_connection_open(host: Host) -> None:
    async with listening(host, request_seconds=0.2) as port, connected(port) as line:
        await line.send(HEAD + b"\r\n")
        assert (await line.answer())[0] == 200
        await line.send(b"\r\n")
        assert told(await line.rest()) == (408, "too-slow")


async def test_a_body_that_comes_too_slowly_is_refused(host: Host) -> None:
    async with listening(host, request_seconds=0.2, body_pace=100) as port, connected(port) as line:
        await line.send(POST + b"Content-Length: 1000\r\n\r\nkey=")
        assert told(await line.rest()) == (408, "too-slow")


async def test_a_request_that_waits_for_its_answer_may_take_its_time(host: Host) -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for word in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{word}.complete"})
            return
        await asyncio.wait({asyncio.ensure_future(asyncio.Event().wait())}, timeout=0.5)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async with listening(host, app=slow, request_seconds=0.1) as port, connected(port) as line:
        await line.send(HEAD + b"\r\n")
        assert await line.answer() == (200, b"ok")


async def test_a_body_that_goes_on_after_its_answer_is_not_read_for_ever(host: Host) -> None:
    async with listening(host, request_seconds=0.2, body_limit=10) as port, connected(port) as line:
        await line.send(POST + b"Content-Length: 1000\r\n\r\nkey=")
        assert (await line.answer())[0] == 413
        assert await line.rest() == b""


async def test_what_is_not_http_is_told_in_the_envelope(host: Host) -> None:
    async with listening(host) as port, connected(port) as line:
        await line.send(b"\x16\x03\x01 this is TLS\r\n\r\n")
        assert told(await line.rest()) == (400, "bad-request")


@pytest.mark.parametrize("chosen", [{"connections": 2}, {"address_connections": 2}], ids=["in all", "from one address"])
async def test_more_connections_than_the_limit_are_refused_until_one_is_closed(host: Host, chosen: dict[str, Any]) -> None:
    async with listening(host, **chosen) as port, connected(port) as first:
        async with connected(port) as second:
            for line in (first, second):
                await line.send(HEAD + b"\r\n")
                assert (await line.answer())[0] == 200
            async with connected(port) as third:
                assert told(await third.rest()) == (503, "too-many-connections")
            await second.send(HEAD + b"Connection: close\r\n\r\n")
            await second.rest()
        async with connected(port) as third:
            await third.send(HEAD + b"\r\n")
            assert (await third.answer())[0] == 200


@pytest.mark.parametrize("chosen", [{"connections": 3}, {"address_connections": 3}], ids=["in all", "from one address"])
@pytest.mark.parametrize("start", [b"", HEAD, UPGRADE], ids=["nothing", "half a head", "half a handshake"])
async def test_half_heads_give_way_to_others_oldest_first(host: Host, chosen: dict[str, Any], start: bytes) -> None:
    async with AsyncExitStack() as open_lines, listening(host, **chosen) as port:
        used = await open_lines.enter_async_context(connected(port))
        await used.send(HEAD + b"\r\n")
        assert (await used.answer())[0] == 200
        halves = [await open_lines.enter_async_context(connected(port)) for _ in range(2)]
        for half in halves:
            await half.send(start)
        async with connected(port) as other:
            await other.send(HEAD + b"\r\n")
            assert (await other.answer())[0] == 200
            assert told(await halves[0].rest()) == (503, "too-many-connections")
            await halves[1].send((b"" if start else HEAD) + b"Connection: close\r\n\r\n")
            assert b"too-many-connections" not in await halves[1].rest()
            await used.send(HEAD + b"\r\n")
            assert (await used.answer())[0] == 200


async def test_several_names_of_the_host_are_refused(host: Host) -> None:
    async with listening(host) as port, connected(port) as line:
        await line.send(HEAD + b"Host: other.example\r\n\r\n")
        assert told(await line.rest()) == (400, "bad-request")


MALFORMED = [b"zz\r\nabc", b"-1\r\na", b"3\r\nabcdef\r\n", b"1\r\na\r\nffffffffffffffffff\r\n"]


@pytest.mark.parametrize("path", [b"/api/jobs", b"/signin", b"/nowhere"])
@pytest.mark.parametrize("body", MALFORMED)
@pytest.mark.parametrize("pieces", [1, 2])
async def test_a_malformed_body_is_refused_without_a_traceback(
    host: Host, caplog: pytest.LogCaptureFixture, path: bytes, body: bytes, pieces: int
) -> None:
    await host.keys.create("ann", Role.ADMIN)
    head = POST.replace(b"/signin", path) + b"Transfer-Encoding: chunked\r\n\r\n"
    with caplog.at_level("INFO"):
        async with listening(host) as port, connected(port) as line:
            for piece in (head + body,) if pieces == 1 else (head, body):
                await line.send(piece)
            answer = await line.rest()
    assert answer.count(b"HTTP/1.1 ") == 1
    assert [record.message for record in caplog.records if record.exc_info] == []
    assert sum(record.message == "request" for record in caplog.records) <= 1


async def test_a_websocket_that_is_refused_gives_its_place_back(host: Host) -> None:
    key = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    async with listening(host, address_connections=1) as port:
        for _ in range(3):
            async with connected(port) as line:
                await line.send(UPGRADE + key)
                assert b"403 Forbidden" in await line.rest()


def test_addresses_of_proxies_are_only_counted_in_all() -> None:
    connections = Connections(ConnectionLimits(head=1, seconds=1, pace=1, total=3, each=1, proxies=frozenset({"10.0.0.5"})))
    assert [connections.enter(address) for address in ("10.0.0.5", "10.0.0.5", "10.0.0.6", "10.0.0.6")] == [True, True, True, False]
    assert not connections.enter("10.0.0.7")
    connections.leave("10.0.0.5")
    assert connections.enter("10.0.0.7")


async def test_many_endless_heads_are_all_cut_off(host: Host) -> None:
    async with listening(host) as port, AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(connected(port)) for _ in range(40)]
        for line in lines:
            await line.send(HEAD + b"X-Long: ")
        assert len(await asyncio.gather(*(line.flood(b"a" * 65_536) for line in lines))) == 40
