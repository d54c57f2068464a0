"""Connections: kept alive, found closed, lost, and never reused in the middle of a response."""

import asyncio
import gc
import inspect
import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gateleg.net import Address, Deadline
from gateleg.net.http import (
    AsyncClient,
    AsyncPool,
    AsyncStreamedResponse,
    BadResponse,
    Client,
    ConnectionLost,
    HttpRequest,
    NotConnected,
    Pool,
    ResponseTimedOut,
    StreamedResponse,
    Timeouts,
)
from tests.net.http.faulty import CLOSE, RESET, SILENCE, Act, answer, read_request, service
from tests.net.http.openers import PATIENT, AsyncOpener, Opener, SyncOpener

ASK = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"
HASTY = Timeouts(connect=10, read=0.05)
CHUNKS = (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n", b"2\r\ncd\r\n", b"0\r\n\r\n")
Make = Callable[..., Opener]


@pytest.fixture(params=[SyncOpener, AsyncOpener], ids=["sync", "async"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    made: list[Opener] = []

    def new(url: str, **options: Any) -> Opener:
        opener: Opener = request.param(url, **options)
        made.append(opener)
        return opener

    yield new
    for opener in made:
        opener.close()


def read_all(opener: Opener) -> bytes:
    response, body = opener.open(ASK), b""
    while piece := response.receive():
        body += piece
    return body


def test_whole_and_streamed_responses_share_a_connection(make: Make) -> None:
    with service(answer(b"1"), Act(CHUNKS), answer(b"3"), answer(b"")) as play:
        opener = make(play.url)
        assert opener.exchange(ASK).body == b"1"
        assert read_all(opener) == b"abcd"
        assert opener.exchange(ASK).body == b"3"
        assert read_all(opener) == b""
        assert play.connections == 1


def test_streamed_response_has_its_status_and_its_headers_before_its_body(make: Make) -> None:
    with service(Act((b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\ncontent-length: 4\r\n\r\n", b"body"))) as play:
        response = make(play.url).open(ASK)
        assert (response.status, response.headers["retry-after"]) == (429, "7")
        response.close()


def test_stream_that_is_closed_early_closes_its_connection(make: Make) -> None:
    with service(Act(CHUNKS[:1], "silence")) as play:
        opener = make(play.url)
        response = opener.open(ASK)
        assert response.receive() == b"ab"
        response.close()
        assert response.receive() == b""
        assert play.left.wait(10)
        opener.exchange(ASK)
        assert play.connections == 2


def test_stream_that_breaks_is_lost(make: Make) -> None:
    with service(Act(CHUNKS[:2], "close")) as play:
        response, body = make(play.url).open(ASK), b""
        while len(body) < 4:
            body += response.receive()
        with pytest.raises(ConnectionLost, match="middle") as caught:
            response.receive()
        assert not caught.value.stale
        response.close()


def test_stream_that_stops_times_out(make: Make) -> None:
    with service(Act(CHUNKS[:1], "silence")) as play:
        response = make(play.url).open(ASK)
        response.receive()
        with pytest.raises(ResponseTimedOut):
            response.receive(0.05)
        response.close()
        assert play.left.wait(10)


def test_stream_without_a_length_ends_with_its_connection(make: Make) -> None:
    with service(Act((b"HTTP/1.1 200 OK\r\n\r\n", b"abc"), "close")) as play:
        assert read_all(make(play.url)) == b"abc"


@pytest.mark.parametrize("lost", [RESET, CLOSE])
def test_kept_connection_that_breaks_is_stale_and_a_new_one_is_not(make: Make, lost: Act) -> None:
    with service(lost, answer(), lost) as play:
        opener = make(play.url)
        with pytest.raises(ConnectionLost) as fresh:
            opener.exchange(ASK)
        opener.exchange(ASK)
        with pytest.raises(ConnectionLost) as kept:
            opener.exchange(ASK)
        assert (fresh.value.stale, kept.value.stale) == (False, True)


def test_connection_is_not_kept_longer_than_allowed(make: Make) -> None:
    with service() as play:
        opener = make(play.url)
        for _ in range(2):
            opener.exchange(ASK, Timeouts(idle=0.0))
        assert play.connections == 2


def test_silence_ends_with_the_read_timeout(make: Make) -> None:
    with service(SILENCE) as play:
        with pytest.raises(ResponseTimedOut, match="did not answer in time") as caught:
            make(play.url).exchange(ASK, HASTY)
        assert caught.value.sent
        assert play.left.wait(10)


def test_deadline_bounds_each_step(make: Make) -> None:
    with service(SILENCE) as play:
        with pytest.raises(ResponseTimedOut):
            make(play.url).exchange(ASK, PATIENT, Deadline.after(0.05))
        assert play.left.wait(10)


def test_nothing_is_sent_after_the_deadline(make: Make) -> None:
    with service() as play:
        with pytest.raises(ResponseTimedOut, match="timed out") as caught:
            make(play.url).exchange(ASK, PATIENT, Deadline.after(0))
        assert not caught.value.sent
        assert play.requests == []


def test_service_that_is_not_there(make: Make) -> None:
    with service() as play:
        url = play.url
    with pytest.raises(NotConnected, match="No connection to http://") as caught:
        make(url).exchange(ASK)
    assert not caught.value.sent
    assert not caught.value.permanent


def test_response_larger_than_the_limit_is_an_error(make: Make) -> None:
    with service(answer(b"x" * 1000)) as play, pytest.raises(BadResponse, match="larger"):
        make(play.url, limit=500).exchange(ASK)


def test_large_request_is_sent_whole(make: Make) -> None:
    body = os.urandom(3_000_000)
    with service(answer(b"ok")) as play:
        assert make(play.url).exchange(ASK.replace(b"length: 0", b"length: %d" % len(body)) + body).body == b"ok"
        assert play.requests[0].endswith(body)


def test_more_connections_than_are_kept_are_closed(make: Make) -> None:
    with service(*[Act(CHUNKS)] * 3) as play:
        opener = make(play.url, keep=1)
        streams = [opener.open(ASK) for _ in range(3)]
        for stream in streams:
            while stream.receive():
                pass
        assert play.closed.wait(10)
        opener.exchange(ASK)
        assert play.connections == 3


def test_receiving_stops_while_a_stream_is_not_read() -> None:
    """A stream that is not read must not fill the memory: the connection stops receiving when the buffers are full."""
    total, sent, blocked = 64 * 1024 * 1024, 0, threading.Event()

    def serve(listener: socket.socket) -> None:
        nonlocal sent
        connection, _ = listener.accept()
        with connection:
            read_request(connection)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % total)
            connection.settimeout(0.2)
            chunk = b"x" * 65_536
            while sent < total:
                try:
                    sent += connection.send(chunk[: total - sent])
                except TimeoutError:
                    blocked.set()

    async def main(url: str) -> tuple[int, int]:
        pool = AsyncPool(Address.parse(url), limit=2 * total)
        response, size = await pool.open(ASK, PATIENT), 0
        assert await asyncio.to_thread(blocked.wait, 30)
        ahead = sent
        while piece := await response.receive(10):
            size += len(piece)
        await pool.close()
        return ahead, size

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        ahead, size = asyncio.run(main(f"http://127.0.0.1:{listener.getsockname()[1]}"))
        thread.join(10)
    assert size == total
    assert ahead < total / 2


def test_pool_that_is_not_closed_leaves_no_connection_open() -> None:
    with service() as play:
        pool = Pool(Address.parse(play.url))
        pool.exchange(ASK, PATIENT)
        del pool
        gc.collect()
        assert play.closed.wait(10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_child_does_not_use_the_connections_of_its_parent() -> None:
    with service() as play:
        pool = Pool(Address.parse(play.url))
        pool.exchange(ASK, PATIENT)
        child = os.fork()
        if child == 0:
            try:
                pool.exchange(ASK, PATIENT)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        pool.exchange(ASK, PATIENT)
        pool.close()
        assert (len(play.requests), play.connections) == (3, 2)


def test_client_replaces_a_stale_connection_once() -> None:
    with service(answer(), RESET, answer(b"again")) as play:
        client = Client()
        for expected in (b"{}", b"again"):
            response = client.open(HttpRequest(play.url), PATIENT)
            assert response.receive(10) == expected
            assert response.receive(10) == b""
        client.close()
        assert (play.connections, len(play.requests)) == (2, 3)


def test_client_does_not_follow_redirections() -> None:
    with service(answer(b"", 302, location="http://elsewhere.example/")) as play:
        client = Client()
        response = client.open(HttpRequest(play.url), PATIENT)
        assert response.status == 302
        response.close()
        client.close()
        assert len(play.requests) == 1


@pytest.mark.parametrize(("ours", "theirs"), [(Pool, AsyncPool), (StreamedResponse, AsyncStreamedResponse), (Client, AsyncClient)])
def test_sync_and_async_classes_have_the_same_methods(ours: type, theirs: type) -> None:
    names = [name for name in dir(ours) if not name.startswith("_")]
    assert names == [name for name in dir(theirs) if not name.startswith("_")]
    for name in names:
        assert inspect.signature(getattr(ours, name)).parameters == inspect.signature(getattr(theirs, name)).parameters, name
