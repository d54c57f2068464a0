import asyncio
import ssl
import subprocess
import threading
from pathlib import Path

import httpx
import pytest

from gateleg.endpoint import EndpointOptions, Limits, OpenToAll, Server, serve_in_thread
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
