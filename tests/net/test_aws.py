"""Credentials, and signatures compared with those of botocore and of `hmac`."""

import hashlib
import hmac
import string
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net import LOCAL_CREDENTIALS, Address, Chain, Credentials, JsonRequestSigner, NoCredentials, ServiceClock, aws, region_of_chain


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


class Frozen(NamedTuple):
    access_key: str
    secret_key: str
    token: str | None


class Session:
    """The part of a botocore session that the chain uses."""

    def __init__(self) -> None:
        self.asked = 0
        self.found = 0
        self.key = "first"
        self.lock = threading.Lock()

    def get_component(self, name: str) -> "Session":
        assert name == "credential_provider"
        return self

    def load_credentials(self) -> "Session":
        self.found += 1
        return self

    def get_frozen_credentials(self) -> Frozen:
        with self.lock:
            self.asked += 1
        return Frozen(self.key, "secret", None)


def test_secrets_are_not_printed() -> None:
    assert repr(Credentials("id", "hidden", "hidden")) == "Credentials(key_id='id')"


def test_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    assert Chain().load() == Credentials("id", "secret", "token")


def test_a_profile_is_used(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("[other]\naws_access_key_id = id\naws_secret_access_key = secret\n")
    (tmp_path / "config").write_text("[profile other]\nregion = eu-west-3\n")
    assert Chain(profile="other").load() == Credentials("id", "secret")
    assert region_of_chain("other") == "eu-west-3"


def test_missing_credentials_are_a_clear_error() -> None:
    with pytest.raises(NoCredentials, match="botocore's chain finds none"):
        Chain().load()


def test_a_custom_endpoint_needs_no_credentials() -> None:
    assert Chain(local=True).load() == LOCAL_CREDENTIALS


def test_without_botocore_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(profile: str | None) -> Any:
        raise ImportError("botocore")

    monkeypatch.setattr("gateleg.net.aws._new_session", missing)
    assert Chain(local=True).load() == LOCAL_CREDENTIALS
    with pytest.raises(NoCredentials, match=r"pip install '\.\[aws\]'"):
        Chain().load()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-2")
    assert Chain(local=True).load() == Credentials("id", "secret")
    assert region_of_chain() == "eu-west-2"


def test_the_region_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert region_of_chain() is None
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert region_of_chain() == "eu-west-1"


def test_credentials_are_cached() -> None:
    session, now = Session(), 0.0
    chain = Chain(session, ticks=lambda: now)
    assert chain.current() is None
    first = chain.load()
    now = 9.0
    assert chain.current() is first
    now = 11.0
    assert chain.current() is None
    assert chain.load() is first
    assert (session.asked, session.found) == (2, 1)


def test_new_credentials_are_taken_over() -> None:
    session, now = Session(), 0.0
    chain = Chain(session, ticks=lambda: now)
    chain.load()
    session.key = "second"
    now = 11.0
    assert chain.load() == Credentials("second", "secret")


def test_expired_credentials_are_searched_again() -> None:
    session = Session()
    chain = Chain(session)
    chain.load()
    chain.expire()
    assert chain.current() is None
    chain.load()
    assert session.found == 2


def test_one_thread_loads_for_all() -> None:
    session = Session()
    chain = Chain(session)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: chain.load(), range(8)))
    assert session.asked == 1
    assert all(one is found[0] for one in found)


DAY = 86_400
WORDS = st.text(string.ascii_letters + string.digits + "+/=", min_size=1, max_size=40)
HOSTS = st.from_regex(r"[a-z][a-z0-9-]{0,20}(\.[a-z]{2,6}){0,2}", fullmatch=True)
PATHS = st.sampled_from(["", "/", "/dynamodb", "/dynamodb/", "/a%20b/c~d", "/a.b_c-d"])
SECONDS = st.integers(946_684_800, 4_102_444_800)


def signer_at(address: Address, region: str, clock: ServiceClock) -> JsonRequestSigner:
    return JsonRequestSigner(address, "dynamodb", region, clock, target="DynamoDB_20120810")


def headers_of(head: bytes) -> dict[str, str]:
    lines = head.decode().split("\r\n")[1:-2]
    return dict(line.split(": ", 1) for line in lines)


def botocore_signs(url: str, region: str, headers: dict[str, str], body: bytes, credentials: Credentials, second: int) -> str:
    request = AWSRequest("POST", url, headers={"Content-Type": headers["Content-Type"], "X-Amz-Target": headers["X-Amz-Target"]}, data=body)
    now = datetime.fromtimestamp(second, UTC)
    keys = BotocoreCredentials(credentials.key_id, credentials.secret, credentials.token)
    with patch.object(botocore.auth, "get_current_datetime", lambda: now):
        botocore.auth.SigV4Auth(keys, "dynamodb", region).add_auth(request)
    return str(request.headers["Authorization"])


@given(
    host=HOSTS,
    port=st.none() | st.integers(1, 65_535),
    scheme=st.sampled_from(["http", "https"]),
    path=PATHS,
    region=st.from_regex(r"[a-z]{2}-[a-z]{4,9}-[1-9]", fullmatch=True),
    operation=st.sampled_from(["PutItem", "Query", "DescribeTable"]),
    body=st.binary(max_size=300),
    credentials=st.builds(Credentials, WORDS, WORDS, st.none() | WORDS),
    second=SECONDS,
)
def test_a_signature_is_the_one_that_botocore_makes(
    host: str,
    port: int | None,
    scheme: str,
    path: str,
    region: str,
    operation: str,
    body: bytes,
    credentials: Credentials,
    second: int,
) -> None:
    url = f"{scheme}://{host}{f':{port}' if port else ''}{path}"
    address = Address.parse(url)
    headers = headers_of(signer_at(address, region, ServiceClock(lambda: second)).head(operation, body, credentials))
    assert headers["Authorization"] == botocore_signs(address.url, region, headers, body, credentials, second)
    assert headers["Host"] == address.authority
    assert headers["Content-Length"] == str(len(body))
    assert headers.get("X-Amz-Security-Token") == credentials.token


@given(seconds=st.lists(st.integers(0, 3 * DAY), min_size=2, max_size=6), keys=st.lists(st.sampled_from("ab"), min_size=6, max_size=6))
def test_a_signers_cache_does_not_change_signatures(seconds: list[int], keys: list[str]) -> None:
    address = Address.parse("https://example.com")
    people = {key: Credentials(key, f"secret of {key}") for key in "ab"}
    time = 0
    clock = ServiceClock(lambda: time)
    signer = signer_at(address, "eu-west-1", clock)
    for second, key in zip(seconds, keys, strict=False):
        time = 1_700_000_000 + second
        assert signer.head("PutItem", b"{}", people[key]) == signer_at(address, "eu-west-1", clock).head("PutItem", b"{}", people[key])


SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
STAMP = "20260102T030405Z"


def test_stamp_and_scope_of_a_moment() -> None:
    assert aws.stamp_of(MOMENT.timestamp()) == STAMP
    assert aws.scope_of(STAMP, "eu-west-1", "s3") == "20260102/eu-west-1/s3/aws4_request"


def test_signing_key_matches_the_documentation() -> None:
    """The example "Deriving the signing key" of the reference of Signature Version 4."""
    key = aws.signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20120215/us-east-1/iam/aws4_request")
    assert key.hex() == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d"


@given(secret=st.text(max_size=80), canonical=st.binary(max_size=200))
def test_signature_is_an_hmac(secret: str, canonical: bytes) -> None:
    scope = aws.scope_of(STAMP, "eu-west-1", "dynamodb")
    text = f"{aws.ALGORITHM}\n{STAMP}\n{scope}\n{hashlib.sha256(canonical).hexdigest()}"
    expected = hmac.digest(aws.signing_key(secret, scope), text.encode(), "sha256").hex()
    assert aws.signature(secret, STAMP, scope, canonical) == expected
    assert aws.is_same(expected, expected)
    assert not aws.is_same(expected, expected[:-1] + "é")


@pytest.mark.parametrize("path", ["/", "/dynamodb", "/a%20b/c~d", "/%2F", "/a.b_c-d"])
@pytest.mark.parametrize("query", ["", "b=2&a=1", "a=b%2Bc", "a=%C3%BC&a=1", "empty="])
def test_canonical_request_matches_botocore(path: str, query: str) -> None:
    request = AWSRequest(
        "POST", f"http://localhost:8000{path}{f'?{query}' if query else ''}", headers={"X-Amz-Target": " a   b "}, data=b"{}"
    )
    request.context["timestamp"] = STAMP
    auth = botocore.auth.SigV4Auth(BotocoreCredentials("key", SECRET), "dynamodb", "eu-west-1")
    with patch.object(botocore.auth, "get_current_datetime", lambda: MOMENT):
        auth._modify_request_before_signing(request)
        expected = auth.canonical_request(request)
    ours = aws.canonical_request(
        b"POST",
        aws.canonical_path(path),
        aws.canonical_query(aws.parse_query(query.encode())),
        [(b"host", b"localhost:8000"), (b"x-amz-date", STAMP.encode()), (b"x-amz-target", b" a   b ")],
        aws.payload_digest(b"{}"),
    )
    assert ours.decode() == expected
