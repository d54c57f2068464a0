"""Signatures compared with those of botocore and of `hmac`."""

import hashlib
import hmac
from datetime import UTC, datetime
from unittest.mock import patch

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net import aws

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
