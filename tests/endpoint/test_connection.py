"""HTTP/1.1 at the level of bytes: requests and responses."""

import contextlib

import pytest

from gateleg.endpoint import EndpointOptions, Limits, serve_in_thread
from tests.endpoint.fakes import FakeEngine, Wire, message

MB = 1024 * 1024
CHUNKED: dict[str, str | None] = {"Content-Length": None, "Transfer-Encoding": "chunked"}
PUT = {"X-Amz-Target": "DynamoDB_20120810.PutItem"}


def test_a_connection_serves_many_requests(wire: Wire, fake: FakeEngine) -> None:
    assert [wire.ask().status for _ in range(5)] == [200] * 5
    assert len(fake.calls) == 5


def test_a_request_may_come_byte_by_byte(wire: Wire, fake: FakeEngine) -> None:
    for byte in message(b'{"a":1}'):
        wire.send(bytes([byte]))
    assert wire.receive().status == 200
    assert fake.calls[0][1] == b'{"a":1}'


def test_a_chunked_body_is_put_together(wire: Wire, fake: FakeEngine) -> None:
    wire.send(message(b"", CHUNKED) + b'2\r\n{"\r\n5;x=y\r\na":1}\r\n0\r\nTrailer: x\r\n\r\n')
    assert wire.receive().status == 200
    assert fake.calls[0][1] == b'{"a":1}'


def test_a_chunked_body_may_come_in_many_small_pieces(wire: Wire, fake: FakeEngine) -> None:
    wire.send(message(b"", CHUNKED) + b'1\r\n"\r\n' + b"2\r\nxy\r\n" * 100_000 + b'1\r\n"\r\n0\r\n\r\n')
    assert wire.receive().status == 200
    assert fake.calls[0][1] == b'"' + b"xy" * 100_000 + b'"'


def test_answers_keep_the_order_of_pipelined_requests(wire: Wire, fake: FakeEngine) -> None:
    bodies = [b'{"n":%d}' % n for n in range(60)]
    fake.durability = "full"
    wire.send(b"".join(message(body, PUT if n % 3 else None) for n, body in enumerate(bodies)))
    for _ in bodies:
        assert wire.receive().status == 200
    assert [body for _, body, _ in fake.calls] == bodies


def test_a_read_behind_a_write_waits_for_it() -> None:
    fake = FakeEngine(durability="full")
    fake.commit_allowed.clear()
    with serve_in_thread(fake) as url, Wire(url) as wire, Wire(url) as other:
        wire.send(message(b'{"w":1}', PUT) + message(b'{"r":1}'))
        other.send(message(b'{"o":1}'))
        assert other.receive().status == 200
        assert (b'{"r":1}') not in [body for _, body, _ in fake.calls]
        fake.commit_allowed.set()
        assert [wire.receive().status, wire.receive().status] == [200, 200]
        assert fake.calls[-1][1] == b'{"r":1}'


def test_connection_close_is_honoured(wire: Wire) -> None:
    response = wire.ask(headers={"Connection": "close"})
    assert response.headers["connection"] == "close"
    assert wire.at_end()


def test_http_1_0_is_answered_and_closed(wire: Wire) -> None:
    wire.send(message(version="1.0"))
    assert wire.receive().headers["connection"] == "close"
    assert wire.at_end()


def test_http_1_0_may_ask_to_be_kept_alive(wire: Wire) -> None:
    for _ in range(2):
        wire.send(message(headers={"Connection": "keep-alive"}, version="1.0"))
        assert wire.receive().headers["connection"] == "keep-alive"


def test_expect_100_continue_is_answered(wire: Wire, fake: FakeEngine) -> None:
    whole = message(b'{"a":1}', {"Expect": "100-continue"})
    wire.send(whole[:-7])
    assert wire.receive().status == 100
    wire.send(whole[-7:])
    assert wire.receive().status == 200
    assert fake.calls[0][1] == b'{"a":1}'


def test_expect_100_continue_is_refused_for_too_large_a_body(wire: Wire) -> None:
    wire.send(message(b"", {"Expect": "100-continue", "Content-Length": str(17 * MB)}))
    assert wire.receive().status == 413


def test_an_upgrade_that_is_not_offered_is_ignored(wire: Wire, fake: FakeEngine) -> None:
    upgrade = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQCAAAAAAIAAAAA"}
    wire.send(message(b'{"a":1}', upgrade) + message(b'{"a":2}'))
    assert [wire.receive().status, wire.receive().status] == [200, 200]
    assert [body for _, body, _ in fake.calls] == [b'{"a":1}', b'{"a":2}']


def test_many_upgrades_in_a_row_are_ignored(wire: Wire, fake: FakeEngine) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "h2c"}
    wire.send(message(headers=upgrade) * 300)
    assert [wire.receive().status for _ in range(300)] == [200] * 300


def test_an_upgrade_may_ask_to_close_as_well(wire: Wire) -> None:
    assert wire.ask(headers={"Connection": "Upgrade, close", "Upgrade": "h2c"}).status == 200
    assert wire.at_end()


def test_connect_is_refused(wire: Wire) -> None:
    wire.send(b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n")
    assert wire.receive().status in (400, 404)


def test_a_body_of_16_mb_is_read(wire: Wire, fake: FakeEngine) -> None:
    body = b'{"a":"' + b"x" * (16 * MB - 8) + b'"}'
    assert wire.ask(body).status == 200
    assert len(fake.calls[0][1]) == 16 * MB


def test_a_larger_body_is_refused_by_its_announced_length(wire: Wire, fake: FakeEngine) -> None:
    wire.send(message(b"x" * (16 * MB + 1)))
    response = wire.receive()
    assert (response.status, response.body) == (413, b"")
    assert fake.calls == []


def test_a_larger_chunked_body_is_refused_while_it_is_sent(wire: Wire, fake: FakeEngine) -> None:
    wire.send(message(b"", CHUNKED))
    with contextlib.suppress(ConnectionError):
        for _ in range(40):
            wire.send(b"100000\r\n" + b" " * MB + b"\r\n")
    assert wire.receive().status == 413
    assert fake.calls == []


@pytest.mark.parametrize(
    "junk",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"hello\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"POST / HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"POST / HTTP/1.1\r\n folded: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nx: \x00\r\n\r\n",
    ],
)
def test_invalid_http_is_refused_and_the_connection_closed(wire: Wire, junk: bytes) -> None:
    wire.send(junk)
    assert wire.receive().status == 400
    assert wire.at_end()


def test_requests_before_the_malformed_one_are_answered(wire: Wire) -> None:
    wire.send(message(headers=PUT) + b"junk\r\n\r\n")
    assert [wire.receive().status, wire.receive().status] == [200, 400]


@pytest.mark.parametrize("count", [2, 400])
def test_headers_over_16_kb_are_refused(wire: Wire, count: int) -> None:
    headers: dict[str, str | None] = {f"header{n}": "x" * (17_000 // count) for n in range(count)}
    assert wire.ask(headers=headers).status == 400


def test_one_header_many_times_is_refused(wire: Wire) -> None:
    wire.send(b"POST / HTTP/1.1\r\n" + b"a:\r\n" * 50_000 + b"\r\n")
    assert wire.receive().status == 400


def test_headers_under_16_kb_are_fine(wire: Wire) -> None:
    assert wire.ask(headers={"header": "x" * 15_000}).status == 200


def test_a_request_line_over_16_kb_is_refused(wire: Wire) -> None:
    assert wire.ask(target="/" + "x" * 17_000).status == 400


def test_a_header_that_never_ends_is_refused(wire: Wire) -> None:
    with contextlib.suppress(ConnectionError):
        wire.send(b"POST / HTTP/1.1\r\nx: ")
        for _ in range(64):
            wire.send(b"y" * 65_536)
    assert wire.receive().status == 400


def test_a_client_that_closes_its_half_still_gets_its_answer(wire: Wire) -> None:
    wire.send(message(headers=PUT))
    wire.socket.shutdown(1)
    assert wire.receive().status == 200
    assert wire.at_end()


def test_a_write_continues_after_its_client_disconnects() -> None:
    fake = FakeEngine(durability="full")
    fake.commit_allowed.clear()
    with serve_in_thread(fake) as url:
        with Wire(url) as gone, Wire(url) as other:
            gone.send(message(b'{"gone":1}', PUT))
            other.ask()
        fake.commit_allowed.set()
        with Wire(url) as wire:
            assert wire.ask(headers=PUT).status == 200
    assert b'{"gone":1}' in [body for _, body, _ in fake.calls]


def test_a_slow_reader_does_not_fill_the_servers_memory() -> None:
    fake = FakeEngine(answer=b'{"a":"' + b"x" * MB + b'"}')
    with serve_in_thread(fake) as url, Wire(url) as slow, Wire(url) as other:
        slow.send(message() * 64)
        other.ask()
        assert len(fake.calls) < 32
        for _ in range(64):
            assert len(slow.receive().body) == len(fake.answer)


@pytest.mark.parametrize("sent", [b"", b"POST / HT", message()[:-1], message() + b"POST"])
def test_a_client_that_stops_sending_is_disconnected(fake: FakeEngine, sent: bytes) -> None:
    limits = Limits(idle=0.0, head_time=0.0, body_time=0.0)
    with serve_in_thread(fake, EndpointOptions(limits=limits)) as url, Wire(url) as wire:
        wire.send(sent)
        with contextlib.suppress(ConnectionResetError):
            while wire.socket.recv(65_536):
                pass


def test_a_client_that_waits_for_a_commit_is_not_dropped() -> None:
    fake = FakeEngine(durability="full")
    fake.commit_allowed.clear()
    with serve_in_thread(fake, EndpointOptions(limits=Limits(idle=0.0))) as url, Wire(url) as wire, Wire(url) as idle:
        wire.send(message(headers=PUT))
        assert idle.at_end()
        fake.commit_allowed.set()
        assert wire.receive().status == 200
