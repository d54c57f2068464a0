"""Both HTTP transports with an endpoint that verifies signatures."""

import asyncio
import contextlib
import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gateleg.endpoint import EndpointOptions as EndpointOptions
from gateleg.endpoint import serve_in_thread
from gateleg.engine import Engine
from gateleg.net import Credentials, ServiceClock
from gateleg.net.http import tls_context
from gateleg.store.transports import AsyncTransport, ServiceError, Transport, Unreachable
from gateleg.store.transports.http import AsyncWireTransport, HttpOptions, ProtocolClient, WireTransport
from tests.net.http.faulty import SILENCE, answer, service
from tests.store.transports.callers import KEY, AsyncCaller, Make, options_for

TABLE = {
    "TableName": "Songs",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
}


def put(number: int, **more: Any) -> dict[str, Any]:
    return {"TableName": "Songs", "Item": {"id": {"S": str(number)}, "n": {"N": str(number)}, "b": {"B": "AAEC"}}, **more}


def get(number: int) -> dict[str, Any]:
    return {"TableName": "Songs", "Key": {"id": {"S": str(number)}}, "ConsistentRead": True}


@contextlib.contextmanager
def endpoint(tls: ssl.SSLContext | None = None) -> Iterator[str]:
    options = EndpointOptions(credentials={KEY.key_id: KEY.secret}, tls=tls)
    with Engine(":memory:", durability="relaxed") as engine, serve_in_thread(engine, options) as url:
        engine.call("CreateTable", TABLE)
        yield url


@pytest.fixture
def url() -> Iterator[str]:
    with endpoint() as url:
        yield url


def test_transports_implement_their_protocols() -> None:
    assert isinstance(WireTransport(options_for("http://localhost", None)), Transport)
    assert isinstance(AsyncWireTransport(options_for("http://localhost", None)), AsyncTransport)


def test_written_items_can_be_read(make: Make, url: str) -> None:
    caller = make(url)
    assert caller.call("PutItem", put(1)) == {}
    assert caller.call("GetItem", get(1)) == {"Item": put(1)["Item"]}


def test_streams_use_their_own_target(make: Make, url: str) -> None:
    (stream,) = make(url).call("ListStreams", {"TableName": "Songs"})["Streams"]
    assert stream["TableName"] == "Songs"


def test_text_of_any_script_is_signed_as_it_is_sent(make: Make, url: str) -> None:
    caller = make(url)
    item = {"id": {"S": "日本語 Ω \x00\u2028"}}
    caller.call("PutItem", {"TableName": "Songs", "Item": item})
    assert caller.call("Scan", {"TableName": "Songs"})["Items"] == [item]


def test_a_failed_condition_returns_the_item(make: Make, url: str) -> None:
    caller = make(url)
    caller.call("PutItem", put(1))
    condition = {"ConditionExpression": "attribute_not_exists(id)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    with pytest.raises(ServiceError) as caught:
        caller.call("PutItem", put(1, **condition))
    error = caught.value
    assert (error.code, error.extra, error.attempts) == ("ConditionalCheckFailedException", {"Item": put(1)["Item"]}, 1)


def test_a_wrong_secret_is_refused_once(make: Make, url: str) -> None:
    caller = make(url, HttpOptions(credentials=Credentials(KEY.key_id, "wrong")))
    with pytest.raises(ServiceError) as caught:
        caller.call("GetItem", get(1))
    assert (caught.value.code, caught.value.attempts) == ("InvalidSignatureException", 1)


@pytest.mark.parametrize("seconds", [-86_400, 3_600])
def test_a_machine_with_a_wrong_clock_is_served(make: Make, url: str, seconds: int) -> None:
    import time

    caller = make(url, clock=ServiceClock(lambda: time.time() + seconds))
    assert caller.call("GetItem", get(1)) == {}


def test_a_large_answer_comes_compressed(make: Make, url: str) -> None:
    caller = make(url, HttpOptions(gzip=True))
    item = {"id": {"S": "1"}, "text": {"S": "long " * 50_000}}
    caller.call("PutItem", {"TableName": "Songs", "Item": item})
    assert caller.call("GetItem", get(1))["Item"] == item


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, *names, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    return certificate, key


@pytest.fixture
def secure_url(certificate: tuple[Path, Path]) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with endpoint(context) as url:
        yield url


def test_an_encrypted_connection_is_kept(secure_url: str, make: Make, certificate: tuple[Path, Path]) -> None:
    caller = make(secure_url, HttpOptions(tls=tls_context(certificate[0])))
    for number in range(5):
        caller.call("PutItem", put(number))
    assert caller.call("Scan", {"TableName": "Songs"})["Count"] == 5


def test_an_untrusted_certificate_is_refused_at_once(secure_url: str, make: Make) -> None:
    caller = make(secure_url)
    with pytest.raises(Unreachable, match="certificate verify failed") as caught:
        caller.call("GetItem", get(1))
    assert caught.value.attempts == 1


def test_threads_share_a_transport(url: str) -> None:
    transport = WireTransport(options_for(url, None))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: transport.call("PutItem", put(number)), range(200)))
        found = list(pool.map(lambda number: transport.call("GetItem", get(number))["Item"]["n"]["N"], range(200)))
    transport.close()
    assert found == [str(number) for number in range(200)]


async def test_tasks_share_a_few_connections() -> None:
    with service() as play:
        transport = AsyncWireTransport(options_for(play.url, None), connections=3)
        await asyncio.gather(*(transport.call("GetItem", get(number)) for number in range(50)))
        await transport.close()
        assert (len(play.requests), play.connections) == (50, 3)


async def test_tasks_get_their_own_answers(url: str) -> None:
    transport = AsyncWireTransport(options_for(url, None), connections=5)
    await asyncio.gather(*(transport.call("PutItem", put(number)) for number in range(100)))
    found = await asyncio.gather(*(transport.call("GetItem", get(number)) for number in range(100)))
    await transport.close()
    assert [answer["Item"]["n"]["N"] for answer in found] == [str(number) for number in range(100)]


async def test_a_cancelled_call_closes_its_connection_and_frees_its_place() -> None:
    with service(answer(), SILENCE) as play:
        transport = AsyncWireTransport(options_for(play.url, None), connections=1)
        await transport.call("GetItem", get(1))
        call = asyncio.create_task(transport.call("GetItem", get(2)))
        while len(play.requests) < 2:
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await asyncio.to_thread(play.left.wait, 10)
        assert await transport.call("GetItem", get(3)) == {}
        await transport.close()
        assert play.connections == 2


def test_a_transport_may_go_from_one_event_loop_to_another(url: str) -> None:
    caller = AsyncCaller(url)
    caller.call("PutItem", put(1))
    caller.runner.run(caller.transport.close())
    caller.runner.close()
    caller.runner = asyncio.Runner()
    assert caller.call("GetItem", get(1))["Item"]["n"] == {"N": "1"}
    caller.close()


async def test_credentials_are_loaded_in_a_thread_once_for_all_tasks() -> None:
    class Slow:
        loaded = 0
        known: Credentials | None = None

        def current(self) -> Credentials | None:
            return self.known

        def load(self) -> Credentials:
            with pytest.raises(RuntimeError):
                asyncio.get_running_loop()
            self.loaded += 1
            self.known = KEY
            return KEY

        def expire(self) -> None: ...

    source = Slow()
    with service() as play:
        transport = AsyncWireTransport(options_for(play.url, HttpOptions(credentials=source)))
        await asyncio.gather(*(transport.call("GetItem", get(number)) for number in range(5)))
        await transport.close()
    assert source.loaded == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_does_not_share_the_connections_of_its_parent() -> None:
    with service() as play:
        transport = WireTransport(options_for(play.url, None))
        transport.call("GetItem", get(1))
        child = os.fork()
        if child == 0:
            try:
                transport.call("GetItem", get(2))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        transport.call("GetItem", get(3))
        transport.close()
        assert (len(play.requests), play.connections) == (3, 2)


def test_amazon_is_the_default_service() -> None:
    client = ProtocolClient(HttpOptions(region="eu-west-1", credentials=KEY))
    assert client.address.url == "https://dynamodb.eu-west-1.amazonaws.com/"
    assert client.streams.url == "https://streams.dynamodb.eu-west-1.amazonaws.com/"
    assert client.write("GetItem", b"", KEY).startswith(b"POST / HTTP/1.1\r\nHost: dynamodb.eu-west-1.amazonaws.com\r\n")
    assert client.write("GetRecords", b"", KEY).startswith(b"POST / HTTP/1.1\r\nHost: streams.dynamodb.eu-west-1.amazonaws.com\r\n")


def test_a_service_without_a_region_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.store.transports.http.region_of_chain", lambda profile: None)
    with pytest.raises(ValueError, match="No region was passed"):
        ProtocolClient(HttpOptions())
