import string
from datetime import UTC, datetime
from unittest.mock import patch

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from gateleg.store.transports.addresses import Address
from gateleg.store.transports.credentials import Credentials
from gateleg.store.transports.signing import Clock, Signer

DAY = 86_400
WORDS = st.text(string.ascii_letters + string.digits + "+/=", min_size=1, max_size=40)
HOSTS = st.from_regex(r"[a-z][a-z0-9-]{0,20}(\.[a-z]{2,6}){0,2}", fullmatch=True)
PATHS = st.sampled_from(["", "/", "/dynamodb", "/dynamodb/", "/a%20b/c~d", "/a.b_c-d"])
SECONDS = st.integers(946_684_800, 4_102_444_800)


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
    headers = headers_of(Signer(address, region, Clock(lambda: second)).head(operation, body, credentials))
    assert headers["Authorization"] == botocore_signs(address.url, region, headers, body, credentials, second)
    assert headers["Host"] == address.authority
    assert headers["Content-Length"] == str(len(body))
    assert headers.get("X-Amz-Security-Token") == credentials.token


@given(seconds=st.lists(st.integers(0, 3 * DAY), min_size=2, max_size=6), keys=st.lists(st.sampled_from("ab"), min_size=6, max_size=6))
def test_what_a_signer_remembers_does_not_show(seconds: list[int], keys: list[str]) -> None:
    address = Address.parse("https://example.com")
    people = {key: Credentials(key, f"secret of {key}") for key in "ab"}
    time = 0
    clock = Clock(lambda: time)
    signer = Signer(address, "eu-west-1", clock)
    for second, key in zip(seconds, keys, strict=False):
        time = 1_700_000_000 + second
        assert signer.head("PutItem", b"{}", people[key]) == Signer(address, "eu-west-1", clock).head("PutItem", b"{}", people[key])


def test_the_clock_takes_over_the_time_of_the_service() -> None:
    clock = Clock(lambda: 1_000_000.0)
    assert clock.repair("Sat, 17 Jan 1970 13:46:40 GMT")
    assert clock.now() == 1_432_000.0


def test_a_clock_that_is_nearly_right_stays() -> None:
    clock = Clock(lambda: 1_000_000.0)
    assert not clock.repair("Mon, 12 Jan 1970 13:47:10 GMT")
    assert clock.now() == 1_000_000.0


def test_a_clock_that_another_thread_put_right_is_worth_a_second_attempt() -> None:
    clock = Clock(lambda: 1_000_000.0)
    clock.repair("Sat, 17 Jan 1970 13:46:40 GMT")
    assert clock.repair("Sat, 17 Jan 1970 13:46:41 GMT")


def test_a_clock_goes_back_when_the_machine_was_put_right() -> None:
    time = 1_000_000.0
    clock = Clock(lambda: time)
    clock.repair("Sat, 17 Jan 1970 13:46:40 GMT")
    time = 1_432_000.0
    assert clock.repair("Sat, 17 Jan 1970 13:46:40 GMT")
    assert clock.now() == 1_432_000.0


def test_no_time_and_a_strange_time_repair_nothing() -> None:
    assert not Clock().repair(None)
    assert not Clock().repair("yesterday")
