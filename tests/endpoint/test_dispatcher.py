"""The routing of requests to the engine, and the web pages that may send them."""

import json
import re
import zlib
from collections.abc import Iterator

import pytest

from gateleg.endpoint import BadOrigin, EndpointOptions, serve_in_thread
from gateleg.engine.errors import EngineError, validation
from tests.endpoint.fakes import FakeEngine, Response, Wire

CORAL = "com.amazon.coral.service#"
NOT_FOUND = b"<UnknownOperationException/>\n"


def test_a_request_reaches_the_engine_and_its_answer_comes_back(wire: Wire, fake: FakeEngine) -> None:
    response = wire.ask(b'{"TableName":"t"}')
    assert fake.calls == [("GetItem", b'{"TableName":"t"}', None)]
    assert (response.status, response.body) == (200, fake.answer)
    assert response.headers["content-type"] == "application/x-amz-json-1.0"


def test_every_answer_has_a_request_id_a_date_and_a_checksum(wire: Wire) -> None:
    first, second = wire.ask(), wire.ask()
    assert re.fullmatch("[0-9A-Z]{52}", first.headers["x-amzn-requestid"])
    assert first.headers["x-amzn-requestid"] != second.headers["x-amzn-requestid"]
    assert int(first.headers["x-amz-crc32"]) == zlib.crc32(first.body)
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT", first.headers["date"])


def test_streams_have_a_separate_target(wire: Wire, fake: FakeEngine) -> None:
    assert wire.ask(headers={"X-Amz-Target": "DynamoDBStreams_20120810.GetRecords"}).status == 200
    assert fake.calls[0][0] == "GetRecords"


def test_tagging_is_answered_with_no_body(wire: Wire) -> None:
    response = wire.ask(headers={"X-Amz-Target": "DynamoDB_20120810.TagResource"})
    assert (response.status, response.body) == (200, b"")


@pytest.mark.parametrize(
    "target",
    [
        None,
        "whatever",
        "DynamoDB_20120810.ListTable",
        "DynamoDBStreams_20120810.GetItem",
        "DynamoDB_20120810.GetRecords",
        "GetItem",
        "DynamoDB_20120810.GetItem.x",
        "DynamoDB_20111205.GetItem",
    ],
)
def test_an_unknown_target_is_an_unknown_operation(wire: Wire, target: str | None) -> None:
    response = wire.ask(headers={"X-Amz-Target": target})
    assert (response.status, json.loads(response.body)) == (400, {"__type": CORAL + "UnknownOperationException"})


def test_the_engines_error_is_the_answer(wire: Wire, fake: FakeEngine) -> None:
    fake.error = validation("no such thing")
    response = wire.ask()
    assert response.status == 400
    assert json.loads(response.body) == {"__type": "com.amazon.coral.validate#ValidationException", "message": "no such thing"}
    assert response.headers["content-type"] == "application/x-amz-json-1.0"


def test_a_fault_of_the_engine_is_answered_without_its_traceback(wire: Wire, fake: FakeEngine, caplog: pytest.LogCaptureFixture) -> None:
    fake.error = RuntimeError("a secret detail")
    response = wire.ask()
    assert response.status == 500
    assert json.loads(response.body)["__type"].endswith("#InternalServerError")
    assert b"secret" not in response.body
    assert "a secret detail" in caplog.text


def test_get_is_the_health_check(wire: Wire) -> None:
    response = wire.ask(b"", method="GET")
    assert (response.status, response.body) == (200, b"healthy: dynamodb.us-east-1.amazonaws.com ")
    assert response.headers["x-amz-crc32"] == "3128867991"


def test_head_is_the_health_check_without_its_body(wire: Wire) -> None:
    assert wire.ask(b"", method="HEAD").headers["content-length"] == "42"
    assert wire.ask(b"", method="GET").status == 200


@pytest.mark.parametrize("path", ["/abc", "/-", "/index.htm", "//"])
def test_only_the_root_is_healthy(wire: Wire, path: str) -> None:
    assert wire.ask(b"", method="GET", target=path).status == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_not_found(wire: Wire, method: str) -> None:
    response = wire.ask(b"", method=method)
    assert (response.status, response.body, response.headers["x-amz-crc32"]) == (404, NOT_FOUND, "3552371480")


def test_a_post_elsewhere_is_not_found(wire: Wire, fake: FakeEngine) -> None:
    assert wire.ask(target="/garbage").status == 404
    assert fake.calls == []


@pytest.mark.parametrize("content_type", [None, "whatever", "application/x-amz-json-1.1", "application/jsonasdf"])
def test_a_body_of_another_type_is_not_found(wire: Wire, content_type: str | None) -> None:
    response = wire.ask(b"hi", {"Content-Type": content_type})
    assert (response.status, response.body) == (404, NOT_FOUND)


@pytest.mark.parametrize(
    ("content_type", "answered"),
    [
        ("application/json", "application/json"),
        ("application/json;blahblah", "application/json"),
        ("  application/json  ;   asfd", "application/json"),
        ("application/x-amz-json-1.0;blahblah", "application/x-amz-json-1.0"),
    ],
)
def test_the_answer_has_the_type_of_the_request(wire: Wire, content_type: str, answered: str) -> None:
    assert wire.ask(headers={"Content-Type": content_type}).headers["content-type"] == answered


def test_a_body_that_is_not_json_comes_before_an_unknown_target(wire: Wire) -> None:
    response = wire.ask(b"hi", {"X-Amz-Target": "whatever"})
    assert json.loads(response.body) == {"__type": CORAL + "SerializationException"}
    assert response.headers["x-amz-crc32"] == "3948637019"


def test_a_body_that_is_not_json_comes_before_a_missing_signature(wire: Wire) -> None:
    assert json.loads(wire.ask(b"{", {"Authorization": None}).body) == {"__type": CORAL + "SerializationException"}


def test_an_empty_body_cannot_be_read(wire: Wire, fake: FakeEngine) -> None:
    assert json.loads(wire.ask(b"").body) == {"__type": CORAL + "SerializationException"}
    assert fake.calls == []


def test_an_empty_body_with_an_unknown_target_is_an_unknown_operation(wire: Wire) -> None:
    response = wire.ask(b"", {"X-Amz-Target": None, "Content-Type": None})
    assert json.loads(response.body) == {"__type": CORAL + "UnknownOperationException"}
    assert response.headers["content-type"] == "application/json"


INCOMPLETE = CORAL + "IncompleteSignatureException"
MISSING = CORAL + "MissingAuthenticationTokenException"


@pytest.mark.parametrize(
    ("target", "headers", "kind", "text"),
    [
        ("/", {"Authorization": None}, MISSING, "Request is missing Authentication Token"),
        ("/", {"Authorization": "AWS4"}, MISSING, "Request is missing Authentication Token"),
        ("/?X-Amz-Algorith", {"Authorization": "X"}, MISSING, "Request is missing Authentication Token"),
        (
            "/?X-Amz-Credential=a&X-Amz-Signature=b&X-Amz-SignedHeaders=c&X-Amz-Date=d",
            {"Authorization": None},
            MISSING,
            "Request is missing Authentication Token",
        ),
        (
            "/?X-Amz-Algorithm",
            {"Authorization": "X"},
            CORAL + "InvalidSignatureException",
            "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
        ),
        (
            "/",
            {"Authorization": "AWS4-", "X-Amz-Date": None},
            INCOMPLETE,
            "Authorization header requires 'Credential' parameter. Authorization header requires 'Signature' parameter. "
            "Authorization header requires 'SignedHeaders' parameter. Authorization header requires existence of either a "
            "'X-Amz-Date' or a 'Date' header. Authorization=AWS4-",
        ),
        (
            "/",
            {"Authorization": "AWS4- Signature=b,Credential=a", "X-Amz-Date": None, "Date": "a"},
            INCOMPLETE,
            "Authorization header requires 'SignedHeaders' parameter. Authorization=AWS4- Signature=b,Credential=a",
        ),
        (
            "/?X-Amz-Algorithm",
            {"Authorization": None},
            INCOMPLETE,
            "AWS query-string parameters must include 'X-Amz-Algorithm'. AWS query-string parameters must include 'X-Amz-Credential'. "
            "AWS query-string parameters must include 'X-Amz-Signature'. AWS query-string parameters must include 'X-Amz-SignedHeaders'. "
            "AWS query-string parameters must include 'X-Amz-Date'. Re-examine the query-string parameters.",
        ),
        (
            "/?X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Signature=c&X-Amz-Date=d",
            {"Authorization": None},
            INCOMPLETE,
            "AWS query-string parameters must include 'X-Amz-SignedHeaders'. Re-examine the query-string parameters.",
        ),
    ],
)
def test_a_request_must_be_signed(wire: Wire, fake: FakeEngine, target: str, headers: dict[str, str | None], kind: str, text: str) -> None:
    response = wire.ask(target=target, headers=headers)
    assert (response.status, json.loads(response.body)) == (400, {"__type": kind, "message": text})
    assert fake.calls == []


def test_an_error_of_the_engine_in_a_write_keeps_its_status(wire: Wire, fake: FakeEngine) -> None:
    fake.error = EngineError("InternalServerError", "The disk is full")
    assert wire.ask(headers={"X-Amz-Target": "DynamoDB_20120810.PutItem"}).status == 500


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
