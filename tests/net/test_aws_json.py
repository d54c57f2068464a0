import string
from datetime import UTC, datetime
from unittest.mock import patch

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net import Address, Credentials, JsonRequestSigner, ServiceClock

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
