"""The server, at the level of bytes: requests and responses, and writes that are answered once they are durable."""

import asyncio
import contextlib
import json
import select
import ssl
import subprocess
import threading
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from gateleg.endpoint import EndpointOptions, Limits, OpenToAll, Server, serve_in_thread
from gateleg.engine import Engine, EngineError
from tests.endpoint.fakes import HEADERS, FakeEngine, Wire, message

PUT = {"X-Amz-Target": "DynamoDB_20120810.PutItem"}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_no_credentials(host: str) -> None:
    EndpointOptions(host=host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.1", "example.com"])
def test_other_addresses_need_credentials(host: str) -> None:
    with pytest.raises(OpenToAll):
        EndpointOptions(host=host)
    EndpointOptions(host=host, credentials={"key": "secret"})


async def test_a_server_can_be_used_in_an_existing_loop(fake: FakeEngine) -> None:
    async with Server(fake) as server, httpx.AsyncClient() as client:
        response = await client.post(server.url, content=b"{}", headers=HEADERS)
        assert response.json() == {"Item": {}}


async def test_a_port_that_is_taken_is_an_error(fake: FakeEngine) -> None:
    async with Server(fake) as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(OSError, match="address already in use"):
            await Server(fake, EndpointOptions(port=port)).start()


def test_a_port_that_is_taken_is_an_error_of_the_caller_of_the_thread(fake: FakeEngine, url: str) -> None:
    port = int(url.rpartition(":")[2])
    with pytest.raises(OSError, match="address already in use"), serve_in_thread(fake, EndpointOptions(port=port)):
        pass


def test_stopping_lets_a_write_under_way_finish() -> None:
    fake = FakeEngine(durability="full")
    fake.commit_allowed.clear()
    with serve_in_thread(fake) as url:
        busy, idle = Wire(url), Wire(url)
        busy.send(message(headers=PUT))
        idle.ask()
        threading.Timer(0.05, fake.commit_allowed.set).start()
    with busy, idle:
        assert busy.receive().status == 200
        assert busy.at_end()
        assert idle.at_end()
    assert fake.commits == [1]


def test_stopping_lets_a_request_that_is_being_sent_finish(fake: FakeEngine) -> None:
    async def run() -> bytes:
        async with Server(fake) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
            whole = message(b'{"a":1}')
            writer.write(whole[:-1])
            await writer.drain()
            async with httpx.AsyncClient() as other:
                await other.get(server.url)
            stopping = asyncio.create_task(server.stop())
            await asyncio.sleep(0)
            writer.write(whole[-1:])
            answer = await reader.read()
            await stopping
            writer.close()
            return answer

    answer = asyncio.run(run())
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Connection: close\r\n" in answer


def test_stopping_does_not_wait_for_ever(fake: FakeEngine) -> None:
    with serve_in_thread(fake, EndpointOptions(limits=Limits(drain=0.01))) as url:
        wire = Wire(url)
        wire.send(message()[:-1])
        with Wire(url) as other:
            other.ask()
    with wire:
        assert wire.at_end()


def test_an_error_in_the_context_ends_the_thread(fake: FakeEngine) -> None:
    with pytest.raises(RuntimeError), serve_in_thread(fake):
        raise RuntimeError
    assert "gateleg-endpoint" not in {thread.name for thread in threading.enumerate()}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*command, *names, "-out", str(cert), "-keyout", str(key)], check=True, capture_output=True)
    return cert, key


def test_tls(fake: FakeEngine, certificate: tuple[Path, Path]) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    trust = ssl.create_default_context(cafile=str(certificate[0]))
    with serve_in_thread(fake, EndpointOptions(tls=context)) as url, httpx.Client(verify=trust) as client:
        assert url.startswith("https://")
        assert client.post(url, content=b"{}", headers=HEADERS).json() == {"Item": {}}
        assert client.post(url, content=b"x" * (17 << 20), headers=HEADERS).status_code == 413


MB = 1024 * 1024
CHUNKED: dict[str, str | None] = {"Content-Length": None, "Transfer-Encoding": "chunked"}
CREATE = {"X-Amz-Target": "DynamoDB_20120810.CreateTable"}
TABLE = {
    "TableName": "ServerState",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}


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


def waits(wire: Wire) -> bool:
    return not select.select([wire.socket], [], [], 0)[0]


def test_writes_that_arrive_during_a_commit_share_the_next() -> None:
    fake = FakeEngine(durability="full")
    fake.commit_allowed.clear()
    with serve_in_thread(fake) as url, ExitStack() as stack:
        first, reader, *others = [stack.enter_context(Wire(url)) for _ in range(10)]
        first.send(message(headers=PUT))
        reader.ask()
        for wire in others:
            wire.send(message(headers=PUT))
        assert reader.ask().status == 200
        assert waits(first)
        assert all(waits(wire) for wire in others)
        fake.commit_allowed.set()
        assert all(wire.receive().status == 200 for wire in (first, *others))
    assert sum(fake.commits) == 9
    assert len(fake.commits) < 9


@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_a_failed_commit_fails_all_writes_of_its_group(durability: str) -> None:
    fake = FakeEngine(durability=durability, commit_error=EngineError("InternalServerError", "The disk is full"))
    with serve_in_thread(fake) as url, Wire(url) as wire:
        for body in (b"{}", b'{"refuse":true}'):
            response = wire.ask(body, PUT)
            assert (response.status, json.loads(response.body)["message"]) == (500, "The disk is full")
        fake.commit_error = None
        assert wire.ask(headers=PUT).status == 200


def test_an_internal_error_in_a_commit_reveals_no_details(caplog: pytest.LogCaptureFixture) -> None:
    fake = FakeEngine(commit_error=OSError("a secret detail"))
    with serve_in_thread(fake) as url, Wire(url) as wire:
        assert b"secret" not in wire.ask(headers=PUT).body
    assert "a secret detail" in caplog.text


def test_a_group_that_cannot_begin_fails_its_writes() -> None:
    fake = FakeEngine(begin_error=EngineError("InternalServerError", "Another process held the database for too long"))
    with serve_in_thread(fake) as url, Wire(url) as wire:
        assert wire.ask(headers=PUT).status == 500
        fake.begin_error = None
        assert wire.ask(headers=PUT).status == 200


def test_a_refused_write_does_not_harm_its_group() -> None:
    fake = FakeEngine(durability="full")
    with serve_in_thread(fake) as url, Wire(url) as wire:
        wire.send(message(b'{"refuse":true}', PUT) + message(headers=PUT))
        assert [wire.receive().status, wire.receive().status] == [400, 200]


def test_an_operation_on_tables_waits_for_the_commit_before_it_but_not_reads() -> None:
    fake = FakeEngine(durability="full")
    fake.commit_allowed.clear()
    with serve_in_thread(fake) as url, Wire(url) as writer, Wire(url) as creator, Wire(url) as reader:
        writer.send(message(headers=PUT))
        reader.ask()
        creator.send(message(b'{"create":1}', CREATE))
        assert reader.ask().status == 200
        assert "CreateTable" not in [operation for operation, _, _ in fake.calls]
        fake.commit_allowed.set()
        assert creator.receive().status == 200
        assert writer.receive().status == 200


def test_more_writes_than_fit_in_a_group_are_all_done() -> None:
    fake = FakeEngine()
    with serve_in_thread(fake) as url, ExitStack() as stack:
        wires = [stack.enter_context(Wire(url)) for _ in range(300)]
        for wire in wires:
            wire.send(message(headers=PUT))
        assert all(wire.receive().status == 200 for wire in wires)
    assert sum(fake.commits) == 300


def test_reads_go_on_while_another_process_writes(tmp_path: Path) -> None:
    path = str(tmp_path / "shared.db")
    with Engine(path) as engine, Engine(path) as other, serve_in_thread(engine) as url, Wire(url) as writer, Wire(url) as reader:
        engine.call("CreateTable", TABLE)
        held = other.begin_group()
        writer.send(message(b'{"TableName":"ServerState","Item":{"id":{"S":"a"}}}', PUT))
        assert reader.ask(b'{"TableName":"ServerState","Key":{"id":{"S":"a"}}}').body == b"{}"
        assert waits(writer)
        held.commit()
        assert writer.receive().status == 200
        assert reader.ask(b'{"TableName":"ServerState","Key":{"id":{"S":"a"}}}').body == b'{"Item":{"id":{"S":"a"}}}'


def test_writes_wait_for_another_writer_and_are_then_made() -> None:
    fake = FakeEngine(durability="full", busy=True)
    with serve_in_thread(fake) as url, Wire(url) as wire:
        assert wire.ask(headers=PUT).status == 200
    assert fake.commits == [1]
