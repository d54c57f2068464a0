"""Presigned URLs compared with those of botocore for the same time."""

import hmac
import json
from base64 import b64decode
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import botocore.auth
import botocore.session
import pytest
from botocore.config import Config

from gateleg.net import Credentials
from gateleg.net.aws import signing_key
from gateleg.objects import S3Objects
from gateleg.objects.errors import AccessRefused
from gateleg.objects.links import Grant, Validity
from gateleg.objects.s3_account import Bucket, presigned, presigned_form
from tests.objects.s3.bucket import MemoryClient

KEY = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
TEMPORARY = Credentials(KEY.key_id, KEY.secret, "token/+==")
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_the_example_of_the_documentation() -> None:
    """The presigned GET of the chapter "Authenticating Requests: Using Query Parameters" of the S3 reference."""
    begins = int(datetime(2013, 5, 24, tzinfo=UTC).timestamp())
    address = Bucket("examplebucket", "https://examplebucket.s3.amazonaws.com").address("us-east-1")
    host = type(address)(address.host, 443, secure=True, path="/")
    url = presigned(host, "test.txt", Grant("test.txt"), Validity(begins, begins + 86400), KEY, "us-east-1")
    assert url.endswith("X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")


@pytest.mark.parametrize("credentials", [KEY, TEMPORARY])
@pytest.mark.parametrize("endpoint", [None, "http://127.0.0.1:9000", "https://minio.example.com"])
@pytest.mark.parametrize("name", ["bucket", "dotted.bucket"])
@pytest.mark.parametrize(
    "grant",
    [
        Grant("a/b c/ü+%~.mp4"),
        Grant("a", download='Ünïcode "name".mp4'),
        Grant("a", "PUT"),
        Grant("a", "PUT", "video/mp4"),
    ],
)
def test_botocore_signs_alike(
    monkeypatch: pytest.MonkeyPatch, credentials: Credentials, endpoint: str | None, name: str, grant: Grant
) -> None:
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *args, **options: MOMENT.replace(tzinfo=None))
    bucket = Bucket(name, endpoint, "eu-west-1")
    begins = int(MOMENT.timestamp())
    ours = presigned(bucket.address("eu-west-1"), grant.key, grant, Validity(begins, begins + 600), credentials, "eu-west-1")
    assert comparable(ours) == comparable(theirs(bucket, credentials, grant, ours))


@pytest.mark.parametrize("credentials", [KEY, TEMPORARY])
@pytest.mark.parametrize("endpoint", [None, "http://127.0.0.1:9000"])
@pytest.mark.parametrize("content_type", [None, "video/mp4"])
def test_botocore_makes_the_same_form(
    monkeypatch: pytest.MonkeyPatch, credentials: Credentials, endpoint: str | None, content_type: str | None
) -> None:
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *args, **options: MOMENT.replace(tzinfo=None))
    bucket, begins = Bucket("bucket", endpoint, "eu-west-1"), int(MOMENT.timestamp())
    grant = Grant("a/ü.mp4", "PUT", content_type, max_bytes=1000)
    ours = presigned_form(bucket, grant.key, grant, Validity(begins, begins + 600), credentials, "eu-west-1")
    extra = {} if content_type is None else {"Content-Type": content_type}
    form = client_of(bucket, credentials).generate_presigned_post(
        "bucket", grant.key, Fields=dict(extra), Conditions=[["content-length-range", 0, 1000], *([extra] if extra else [])]
    )
    signed = {"policy", "x-amz-signature"}
    assert ours.url.rstrip("/") == form["url"].rstrip("/")
    assert {k: v for k, v in ours.fields.items() if k not in signed} == {k: v for k, v in form["fields"].items() if k not in signed}
    assert conditions(ours.fields["policy"]) == conditions(form["fields"]["policy"])
    scope = ours.fields["x-amz-credential"].partition("/")[2]
    made = hmac.new(signing_key(credentials.secret, scope), ours.fields["policy"].encode(), "sha256").hexdigest()
    assert made == ours.fields["x-amz-signature"]


def conditions(policy: str) -> list[str]:
    return sorted(json.dumps(one) for one in json.loads(b64decode(policy))["conditions"])


@cache
def session() -> botocore.session.Session:
    """One session for all tests, because loading botocore's description of S3 is slow."""
    return botocore.session.Session()


def client_of(bucket: Bucket, credentials: Credentials) -> Any:
    return session().create_client(
        "s3",
        region_name=bucket.region,
        endpoint_url=bucket.endpoint,
        aws_access_key_id=credentials.key_id,
        aws_secret_access_key=credentials.secret,
        aws_session_token=credentials.token,
        config=Config(signature_version="s3v4", s3={"addressing_style": "path" if bucket.endpoint or "." in bucket.name else "virtual"}),
    )


def theirs(bucket: Bucket, credentials: Credentials, grant: Grant, ours: str) -> str:
    client = client_of(bucket, credentials)
    params = {"Bucket": bucket.name, "Key": grant.key}
    if grant.content_type is not None:
        params["ContentType"] = grant.content_type
    if grant.download is not None:
        params["ResponseContentDisposition"] = dict(parse_qsl(urlsplit(ours).query))["response-content-disposition"]
    url: str = client.generate_presigned_url("get_object" if grant.method == "GET" else "put_object", Params=params, ExpiresIn=600)
    client.close()
    return url


def comparable(url: str) -> tuple[str, str, set[tuple[str, str]]]:
    """A URL without the order of its query, and without the signature if that depends on the order."""
    split = urlsplit(url)
    # The signature is over the sorted query, so its order in the URL does not matter.
    return split.netloc, split.path, set(parse_qsl(split.query))


def test_urls_are_the_same_within_a_window() -> None:
    now = [900_000.0]
    objects = S3Objects("bucket", region="eu-west-1", client=MemoryClient(), credentials=KEY, clock=lambda: now[0])
    first = objects.presign("a")
    now[0] += 899
    assert objects.presign("a") == first
    now[0] += 1
    assert objects.presign("a") != first


def test_a_prefix_is_part_of_the_path() -> None:
    objects = S3Objects("bucket", prefix="tenant/1", client=MemoryClient(), credentials=KEY)
    assert urlsplit(objects.presign("a")).path == "/tenant/1/a"


def test_a_client_without_its_credentials_cannot_sign() -> None:
    with pytest.raises(AccessRefused, match="Pass credentials"):
        S3Objects("bucket", client=MemoryClient()).presign("a")
