import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from gateleg.endpoint import EndpointOptions, serve_in_thread
from gateleg.endpoint.http import IncomingRequest
from gateleg.endpoint.signature import Verifier, namespace_of, read_credentials
from gateleg.engine.errors import EngineError
from tests.endpoint.fakes import FakeEngine, Wire

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
MISMATCH = "The request signature we calculated does not match the signature you provided."


def signed(
    body: bytes = b"{}", *, key: str = KEY, secret: str = SECRET, headers: dict[str, str] | None = None, query: bool = False, url: str = "/"
) -> IncomingRequest:
    """A request as botocore signs it."""
    given = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0", **(headers or {})}
    made = AWSRequest("POST", f"http://localhost:8000{url}", given, body)
    auth = SigV4QueryAuth if query else SigV4Auth
    auth(Credentials(key, secret), "dynamodb", "eu-west-1").add_auth(made)
    prepared = made.prepare()
    parts = urlsplit(prepared.url)
    names = {name.lower().encode(): (value if isinstance(value, bytes) else value.encode()) for name, value in prepared.headers.items()}
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    return IncomingRequest(b"POST", target.encode(), {b"host": b"localhost:8000", **names}, body)


def verify(request: IncomingRequest, clock: datetime | None = None) -> None:
    verifier = Verifier({KEY: SECRET, "other": "x"}, (lambda: clock) if clock else lambda: datetime.now(UTC))
    verifier.verify(request, read_credentials(request))


def refusal(request: IncomingRequest, clock: datetime | None = None) -> tuple[str, str]:
    with pytest.raises(EngineError) as caught:
        verify(request, clock)
    return caught.value.code, str(caught.value.message)


@given(st.binary(max_size=200))
def test_a_signature_of_botocores_is_right(body: bytes) -> None:
    verify(signed(body))


def test_a_signature_in_the_query_is_right() -> None:
    # botocore signs no body this way.
    request = signed(b"", query=True)
    verify(request)
    request.target = request.target.replace(b"X-Amz-Expires=3600", b"X-Amz-Expires=9999")
    assert refusal(request)[1].startswith(MISMATCH)


@pytest.mark.parametrize("url", ["/?a=b&A=c&b", "/?x=%20y&z=a%2Fb", "/?k=v&k=u"])
def test_the_query_is_part_of_what_is_signed(url: str) -> None:
    request = signed(url=url)
    verify(request)
    request.target += b"&more=1"
    assert refusal(request)[1].startswith(MISMATCH)


def test_the_body_is_part_of_what_is_signed() -> None:
    request = signed(b'{"a":1}')
    request.body = b'{"a":2}'
    assert refusal(request) == (
        "InvalidSignatureException",
        MISMATCH + " Check your AWS Secret Access Key and signing method. Consult the service documentation for details.",
    )


def test_signed_headers_are_part_of_what_is_signed() -> None:
    request = signed()
    request.headers[b"x-amz-target"] = b"DynamoDB_20120810.DeleteTable"
    assert refusal(request)[1].startswith(MISMATCH)


def test_a_wrong_secret_is_refused() -> None:
    assert refusal(signed(secret="wrong"))[0] == "InvalidSignatureException"
    assert refusal(signed(key="other"))[0] == "InvalidSignatureException"


def test_an_unknown_key_is_refused() -> None:
    assert refusal(signed(key="nobody")) == ("UnrecognizedClientException", "The security token included in the request is invalid.")


def test_the_parts_of_the_header_may_be_separated_by_commas_only() -> None:
    request = signed()
    first, _, rest = request.headers[b"authorization"].partition(b" ")
    request.headers[b"authorization"] = first + b" " + rest.replace(b" ", b"")
    verify(request)


def test_spaces_around_and_inside_a_header_do_not_count() -> None:
    request = signed(headers={"Meerkat": "Hello world"})
    request.headers[b"meerkat"] = b"  Hello    world "
    verify(request)


def test_a_signature_expires() -> None:
    request = signed()
    stamp = request.headers[b"x-amz-date"].decode()
    now = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) + timedelta(minutes=16)
    code, text = refusal(request, now)
    assert code == "InvalidSignatureException"
    assert (
        text
        == f"Signature expired: {stamp} is now earlier than {now - timedelta(minutes=15):%Y%m%dT%H%M%SZ} ({now:%Y%m%dT%H%M%SZ} - 15 min.)"
    )


def test_a_signature_from_the_future_is_refused() -> None:
    request = signed()
    stamp = request.headers[b"x-amz-date"].decode()
    now = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) - timedelta(minutes=16)
    assert refusal(request, now)[1].startswith(f"Signature not yet current: {stamp} is still later than ")


def changed(**claims: str) -> IncomingRequest:
    """A request with a changed part of the `Authorization` header."""
    request = signed()
    header = request.headers[b"authorization"].decode()
    for name, value in claims.items():
        start = header.index(name + "=") + len(name) + 1
        end = header.find(",", start)
        header = header[:start] + value + (header[end:] if end > 0 else "")
    request.headers[b"authorization"] = header.encode()
    return request


def test_the_date_must_be_one() -> None:
    request = signed()
    request.headers[b"x-amz-date"] = b"201"
    text = "Date must be in ISO-8601 'basic format'. Got '201'. See http://en.wikipedia.org/wiki/ISO_8601"
    assert refusal(request) == ("IncompleteSignatureException", text)


def test_the_host_must_be_signed() -> None:
    assert refusal(changed(SignedHeaders="x-amz-date"))[1] == "'Host' must be a 'SignedHeader' in the AWS Authorization."


@pytest.mark.parametrize("name", ["x-amz-target", "x-amz-date", "x-amz-security-token", "x-amz-anything"])
def test_a_header_of_the_protocol_must_be_signed(name: str) -> None:
    request = signed()
    request.headers.setdefault(name.encode(), b"x")
    names = request.headers[b"authorization"].decode().split("SignedHeaders=")[1].split(",")[0].split(";")
    header = request.headers[b"authorization"].decode().replace(";".join(names), ";".join(n for n in names if n != name))
    request.headers[b"authorization"] = header.encode()
    code, text = refusal(request)
    assert code == "InvalidSignatureException"
    assert text == f"'{name.title()}' must be a 'SignedHeader' in the AWS Authorization."


@pytest.mark.parametrize("minutes", [14, 16])
def test_a_signature_in_the_query_is_good_for_fifteen_minutes_whatever_it_asks_for(minutes: int) -> None:
    made = AWSRequest("POST", "http://localhost:8000/", {"X-Amz-Target": "DynamoDB_20120810.ListTables"}, b"")
    SigV4QueryAuth(Credentials(KEY, SECRET), "dynamodb", "eu-west-1", expires=9_999_999).add_auth(made)
    parts = urlsplit(made.prepare().url)
    headers = {b"host": b"localhost:8000", b"x-amz-target": b"DynamoDB_20120810.ListTables"}
    request = IncomingRequest(b"POST", f"/?{parts.query}".encode(), headers, b"")
    now = datetime.now(UTC) + timedelta(minutes=minutes)
    if minutes < 15:
        verify(request, now)
    else:
        assert refusal(request, now)[1].startswith("Signature expired: ")


def test_the_algorithm_must_be_known() -> None:
    request = signed()
    request.headers[b"authorization"] = request.headers[b"authorization"].replace(b"SHA256", b"SHA25", 1)
    text = "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25' (only AWS4-HMAC-SHA256 for now). "
    assert refusal(request) == ("IncompleteSignatureException", text)


def test_the_credential_must_have_five_parts() -> None:
    text = "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got 'a/b/c/d'"
    assert refusal(changed(Credential="a/b/c/d")) == ("IncompleteSignatureException", text)


def test_the_scope_must_fit_the_request() -> None:
    request = changed(Credential=f"{KEY}/b/C/d/e")
    stamp = request.headers[b"x-amz-date"].decode()
    assert refusal(request)[1] == (
        "Credential should be scoped to a valid region, not 'C'. Credential should be scoped to correct service: 'dynamodb'. "
        "Credential should be scoped with a valid terminator: 'aws4_request', not 'e'. "
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
        f"'b' != '{stamp[:8]}', from '{stamp}'."
    )


@given(st.binary(max_size=80), st.binary(max_size=80), st.binary(max_size=80))
def test_no_claim_breaks_the_verifier(header: bytes, query: bytes, date: bytes) -> None:
    for start in (b"", b"AWS4-HMAC-SHA256 Credential=a/b/c/dynamodb/aws4_request, SignedHeaders=host;\xff, Signature="):
        for target in (b"/?" + query, b"/?X-Amz-Algorithm=" + query):
            request = IncomingRequest(b"POST", target, {b"authorization": start + header, b"x-amz-date": date}, b"{}")
            with pytest.raises(EngineError):
                verify(request)


def test_a_realm_is_the_same_for_the_same_key_and_region() -> None:
    assert namespace_of(KEY, "eu-west-1") == namespace_of(KEY, "eu-west-1")
    assert namespace_of(KEY, "eu-west-1").region == "eu-west-1"
    assert namespace_of(KEY, "eu-west-1").account != namespace_of("other", "eu-west-1").account
    assert namespace_of("123456789012", "eu-west-1").account == "123456789012"


@pytest.mark.parametrize("key_id", ["", "AKIA", "ü", "1" * 11])
def test_an_account_has_twelve_digits(key_id: str) -> None:
    account = namespace_of(key_id, "").account
    assert len(account) == 12
    assert account.isdigit()


@pytest.fixture
def guarded(fake: FakeEngine) -> Iterator[Wire]:
    with serve_in_thread(fake, EndpointOptions(credentials={KEY: SECRET}, separate=True)) as url, Wire(url) as wire:
        yield wire


def send(wire: Wire, request: IncomingRequest) -> tuple[int, bytes]:
    headers: dict[str, str | None] = {name.decode(): value.decode() for name, value in request.headers.items()}
    usual = dict.fromkeys(("Host", "Content-Type", "X-Amz-Target", "X-Amz-Date", "Authorization", "Content-Length"))
    headers = {**usual, **headers, "content-length": str(len(request.body))}
    response = wire.ask(request.body, headers, target=request.target.decode())
    return response.status, response.body


def test_a_server_with_credentials_accepts_them(guarded: Wire, fake: FakeEngine) -> None:
    assert send(guarded, signed(b'{"a":1}'))[0] == 200
    assert fake.calls == [("ListTables", b'{"a":1}', namespace_of(KEY, "eu-west-1"))]


def test_a_server_with_credentials_refuses_others(guarded: Wire, fake: FakeEngine) -> None:
    status, body = send(guarded, signed(secret="wrong"))
    assert (status, json.loads(body)["__type"]) == (400, "com.amazon.coral.service#InvalidSignatureException")
    assert fake.calls == []


def test_a_signed_header_may_be_sent_in_two_lines(guarded: Wire) -> None:
    request = signed(headers={"Accept-Encoding": "gzip,identity"})
    del request.headers[b"accept-encoding"]
    lines = b"".join(b"%b: %b\r\n" % line for line in request.headers.items())
    guarded.send(b"POST / HTTP/1.1\r\nAccept-Encoding: gzip\r\nAccept-Encoding: identity\r\n" + lines + b"\r\n{}")
    assert guarded.receive().status == 200
