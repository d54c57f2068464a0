"""Security headers: what pages may reach."""

from dataclasses import replace
from typing import Any

import pytest

from gateleg.host.host import Host
from gateleg.net import Credentials
from gateleg.objects import S3Objects
from gateleg.web.app import create_app
from gateleg.web.headers import console_policy
from tests.objects.s3.bucket import MemoryClient
from tests.web.conftest import client_of


def directives(policy: str) -> dict[str, str]:
    return {part.split()[0]: part.partition(" ")[2] for part in policy.split("; ")}


def test_the_origins_of_object_stores_are_for_files_and_not_for_scripts() -> None:
    policy = directives(console_policy(["http://minio:9000", "https://b.s3.eu-west-1.amazonaws.com", "http://minio:9000"]))
    for name in ("img-src", "media-src", "connect-src", "frame-src"):
        assert policy[name].count("http://minio:9000") == 1
        assert "https://b.s3.eu-west-1.amazonaws.com" in policy[name]
    for name in ("default-src", "script-src", "style-src", "form-action", "worker-src", "frame-ancestors"):
        assert "minio" not in policy[name]
    assert "minio" not in console_policy()


def test_pages_send_nothing_to_other_hosts() -> None:
    """Not by a request, a websocket or the address of a picture."""
    allowed = {"'self'", "'none'", "'unsafe-inline'", "'unsafe-eval'", "data:", "blob:"}
    assert {source for sources in directives(console_policy()).values() for source in sources.split()} <= allowed


@pytest.mark.parametrize(
    ("options", "origin"),
    [
        ({"endpoint": "http://127.0.0.1:9000/s3"}, "http://127.0.0.1:9000"),
        ({"endpoint": "https://minio.example.com"}, "https://minio.example.com"),
        ({"region": "eu-west-1"}, "https://films.s3.eu-west-1.amazonaws.com"),
    ],
)
async def test_a_host_names_its_bucket_in_the_policy_of_its_pages(host: Host, options: dict[str, Any], origin: str) -> None:
    bucket = S3Objects("films", client=MemoryClient(), credentials=Credentials("k", "s"), **options)
    async with client_of(create_app(replace(host, sync_objects=bucket), console=False)) as client:
        policy = directives((await client.get("/signin")).headers["content-security-policy"])
        page = directives((await client.get("/anything")).headers["content-security-policy"])
    assert origin in page["frame-src"].split()
    assert origin not in policy.get("frame-src", "")
