import json
from collections.abc import Iterator

import pytest

from gateleg.endpoint import BadOrigin, EndpointOptions, serve_in_thread
from tests.endpoint.fakes import FakeEngine, Response, Wire

CORS = {"access-control-allow-origin", "access-control-expose-headers", "access-control-max-age", "access-control-allow-methods"}
FOREIGN = ["http://example.com", "https://example.com:8000", "null", "http://localhost.example.com", "http://127.0.0.1.example.com", ""]
FOREIGN += ["file://", "http://example.com/http://localhost", "http://user@example.com", "localhost", "chrome-extension://localhost"]
LOCAL = ["http://localhost", "http://localhost:5173", "https://127.0.0.1:8000", "http://[::1]:3000", "http://app.localhost:80"]


@pytest.fixture
def allowing(fake: FakeEngine) -> Iterator[Wire]:
    options = EndpointOptions(allow_origins=("https://Example.com:443/", "http://tools.test:8080"))
    with serve_in_thread(fake, options) as url, Wire(url) as wire:
        yield wire


@pytest.fixture
def signing(fake: FakeEngine) -> Iterator[Wire]:
    with serve_in_thread(fake, EndpointOptions(credentials={"key": "secret"})) as url, Wire(url) as wire:
        yield wire


def refused(response: Response) -> bool:
    if response.status != 403:
        return False
    assert not CORS & response.headers.keys()
    assert json.loads(response.body)["__type"] == "com.amazon.coral.service#AccessDeniedException"
    return True


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_no_origin_no_cors(wire: Wire, method: str) -> None:
    response = wire.ask(method=method)
    assert response.status in (200, 404)
    assert not CORS & response.headers.keys()


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_a_page_from_elsewhere_is_refused_before_anything_is_done(wire: Wire, fake: FakeEngine, method: str, origin: str) -> None:
    for operation in ("GetItem", "PutItem", "DeleteTable"):
        asked = {"Origin": origin, "X-Amz-Target": f"DynamoDB_20120810.{operation}", "Access-Control-Request-Method": "POST"}
        assert refused(wire.ask(method=method, headers=asked))
    assert fake.calls == []


@pytest.mark.parametrize("origin", LOCAL)
def test_a_page_of_this_machine_may_read_answers(wire: Wire, origin: str) -> None:
    headers = wire.ask(headers={"Origin": origin}).headers
    assert headers["access-control-allow-origin"] == origin
    assert headers["vary"] == "Origin"
    assert "access-control-expose-headers" in headers
    assert not {"access-control-max-age", "access-control-allow-methods"} & headers.keys()


def test_a_preflight_request_gets_all_that_it_requests(wire: Wire) -> None:
    asked = {"Origin": "http://localhost:1", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "a, b"}
    response = wire.ask(b"", asked, method="OPTIONS")
    assert (response.status, response.body) == (200, b"")
    assert response.headers["access-control-allow-methods"] == "POST"
    assert response.headers["access-control-allow-headers"] == "a, b"
    assert response.headers["access-control-max-age"] == "172800"


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000", "tables.localhost", "127.1.2.3"])
def test_local_host_names_are_accepted(wire: Wire, host: str) -> None:
    assert wire.ask(headers={"Host": host}).status == 200


@pytest.mark.parametrize("host", ["example.com", "example.com:8000", "localhost.example.com", "10.0.0.1", "[2001:db8::1]:80", "", "["])
def test_other_host_names_are_refused_because_of_dns_rebinding(wire: Wire, fake: FakeEngine, host: str) -> None:
    assert refused(wire.ask(headers={"Host": host}))
    assert fake.calls == []


def test_origins_are_allowed_by_name(allowing: Wire) -> None:
    assert allowing.ask(headers={"Origin": "https://example.com"}).headers["access-control-allow-origin"] == "https://example.com"
    assert allowing.ask(headers={"Origin": "http://tools.test:8080"}).status == 200
    assert allowing.ask(headers={"Origin": LOCAL[0]}).status == 200
    for near in ("http://example.com", "https://example.com:8443", "http://tools.test", "https://a.example.com"):
        assert refused(allowing.ask(headers={"Origin": near}))


def test_the_host_of_an_allowed_origin_may_be_called(allowing: Wire) -> None:
    assert allowing.ask(headers={"Host": "tools.test:9999"}).status == 200
    assert refused(allowing.ask(headers={"Host": "other.test"}))


def test_with_signatures_any_origin_and_host_is_accepted(signing: Wire) -> None:
    response = signing.ask(headers={"Origin": "http://example.com", "Host": "db.example.com"})
    assert response.status == 400
    assert response.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    "origin", ["example.com", "https://", "https://example.com/path", "*", "http://a:b", "http://\u00e4.de", "http://u@a.de"]
)
def test_an_allowed_origin_must_be_valid(origin: str) -> None:
    with pytest.raises(BadOrigin, match="is not an origin"):
        EndpointOptions(allow_origins=(origin,))
