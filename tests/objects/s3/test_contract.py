from collections.abc import Iterator

import pytest

from gateleg.net import Credentials
from gateleg.objects import S3Objects
from tests.objects.contract import ObjectsContract
from tests.objects.s3.bucket import MemoryClient


class TestBucketInMemory(ObjectsContract):
    @pytest.fixture
    def objects(self) -> Iterator[S3Objects]:
        with S3Objects("bucket", client=MemoryClient(), credentials=Credentials("key", "secret"), part_size=5 << 20) as objects:
            yield objects


class TestBelowAPrefix(ObjectsContract):
    @pytest.fixture
    def objects(self) -> Iterator[S3Objects]:
        client = MemoryClient()
        described = {"ContentType": "text/plain", "Metadata": {}}
        for key in ("tenant", "tenants/x", "tenant-2/y"):
            client.put_object(Key=key, Body=b"of others", **described)
        with S3Objects("bucket", prefix="tenant", client=client, credentials=Credentials("key", "secret")) as objects:
            yield objects
        assert {key for key in client.objects if not key.startswith("tenant/")} == {"tenant", "tenants/x", "tenant-2/y"}
