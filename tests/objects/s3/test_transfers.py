"""Failed transfers to and from a bucket, and what they leave behind."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError

from gateleg.net import Credentials
from gateleg.objects import ObjectMissing, ObjectsError, S3Objects
from gateleg.objects.errors import AccessRefused, BucketMissing, ObjectChanged, StorageFailed, StorageFull, StorageThrottled
from gateleg.objects.s3 import MIB, PARTS, copy_object, part_size
from tests.objects.s3.bucket import MemoryClient, refusal

LARGE = bytes(range(256)) * 4096 * 17


@pytest.fixture
def client() -> MemoryClient:
    return MemoryClient()


@pytest.fixture
def objects(client: MemoryClient) -> Iterator[S3Objects]:
    with S3Objects("bucket", client=client, credentials=Credentials("key", "secret"), part_size=5 * MIB) as objects:
        yield objects


def failing(operation: str, error: Exception, times: int = 1) -> Callable[[str, Any], None]:
    left = [times]

    def before(called: str, request: Any) -> None:
        if called == operation and left[0]:
            left[0] -= 1
            raise error

    return before


def test_content_that_fits_into_a_part_is_one_request(objects: S3Objects, client: MemoryClient) -> None:
    objects.put("a", bytes(5 * MIB))
    assert client.calls == ["put_object"]


def test_larger_content_is_sent_in_parts(objects: S3Objects, client: MemoryClient) -> None:
    objects.put("a", LARGE)
    assert client.calls.count("upload_part") == 4
    assert client.objects["a"].content == LARGE


@pytest.mark.parametrize("operation", ["create_multipart_upload", "upload_part", "complete_multipart_upload"])
def test_an_upload_that_fails_leaves_no_parts(objects: S3Objects, client: MemoryClient, operation: str) -> None:
    client.before = failing(operation, refusal("InternalError", 500))
    with pytest.raises(StorageFailed):
        objects.put("a", LARGE)
    assert client.uploads == {}
    assert client.objects == {}


def test_the_first_error_is_raised_even_if_aborting_fails_too(objects: S3Objects, client: MemoryClient) -> None:
    def before(operation: str, request: Any) -> None:
        if operation == "upload_part":
            raise refusal("AccessDenied", 403)
        if operation == "abort_multipart_upload":
            raise refusal("InternalError", 500)

    client.before = before
    with pytest.raises(AccessRefused):
        objects.put("a", LARGE)


def test_an_upload_that_lost_a_part_cannot_continue(objects: S3Objects, client: MemoryClient) -> None:
    client.before = failing("upload_part", refusal("InternalError", 500))
    upload = objects.upload("a")
    with pytest.raises(StorageFailed):
        upload.write(LARGE * 3)
    with pytest.raises(ValueError, match="start another"):
        upload.finish()
    assert client.objects == {}
    assert client.uploads == {}


def test_uploads_that_never_ended_are_swept(client: MemoryClient) -> None:
    now = [0.0]
    objects = S3Objects("bucket", client=client, prefix="mine", clock=lambda: now[0], part_size=5 * MIB)
    objects.upload("a").write(LARGE)
    client.create_multipart_upload(Key="other", ContentType="a/b", Metadata={})
    (mine,) = (upload for upload in client.uploads.values() if upload.key == "mine/a")
    now[0] = mine.begun.timestamp() + timedelta(hours=23).total_seconds()
    assert objects.sweep() == 0
    now[0] += timedelta(hours=2).total_seconds()
    assert objects.sweep() == 1
    assert [upload.key for upload in client.uploads.values()] == ["other"]


@pytest.mark.parametrize("breaks", [1000, 100_000, 300_000])
def test_a_broken_download_is_resumed(objects: S3Objects, client: MemoryClient, breaks: int) -> None:
    content = LARGE[: breaks * 3 + 1]
    objects.put("a", content)
    client.breaks = breaks
    assert objects.get("a") == content
    assert client.calls.count("get_object") == 4


def test_a_download_that_makes_no_progress_ends(objects: S3Objects, client: MemoryClient) -> None:
    objects.put("a", b"content")
    client.breaks = 0
    with pytest.raises(StorageFailed, match="repeatedly"):
        objects.get("a")


def test_a_broken_download_is_not_resumed_with_another_object(objects: S3Objects, client: MemoryClient) -> None:
    objects.put("a", b"x" * 100)
    client.breaks = 50
    with objects.stream("a") as download:
        chunks = iter(download)
        assert next(chunks) == b"x" * 50
        objects.put("a", b"y" * 100)
        with pytest.raises(ObjectChanged):
            next(chunks)


def test_large_objects_are_copied_in_parts(objects: S3Objects, client: MemoryClient) -> None:
    info = objects.put("a", LARGE, metadata={"n": "1"})
    places = ({"Bucket": "bucket", "Key": "a"}, {"Bucket": "bucket", "Key": "b"})
    copied = copy_object(client, *places, info, objects._executor(), max_copy_bytes=MIB, smallest=5 * MIB)
    assert client.objects["b"].content == LARGE
    assert client.calls.count("upload_part_copy") == 4
    assert objects.head("b").metadata == {"n": "1"}
    assert copied.sha256 == info.sha256


def test_a_copy_in_parts_that_fails_leaves_no_parts(objects: S3Objects, client: MemoryClient) -> None:
    info = objects.put("a", LARGE)
    client.before = failing("upload_part_copy", refusal("InternalError", 500))
    places = ({"Bucket": "bucket", "Key": "a"}, {"Bucket": "bucket", "Key": "b"})
    with pytest.raises(StorageFailed):
        copy_object(client, *places, info, objects._executor(), max_copy_bytes=MIB, smallest=5 * MIB)
    assert client.uploads == {}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (refusal("NoSuchBucket", 404), BucketMissing),
        (refusal("404", 404), ObjectMissing),
        (refusal("AccessDenied", 403), AccessRefused),
        (refusal("SlowDown", 503), StorageThrottled),
        (refusal("XMinioStorageFull", 507), StorageFull),
        (NoCredentialsError(), AccessRefused),
        (EndpointConnectionError(endpoint_url="http://x"), StorageFailed),
    ],
)
def test_each_refusal_has_its_error(objects: S3Objects, client: MemoryClient, error: Exception, kind: type[ObjectsError]) -> None:
    client.before = failing("head_object", error)
    with pytest.raises(kind) as caught:
        objects.head("a")
    assert caught.value.__cause__ is error
    assert ".." not in str(caught.value)


def test_failed_deletions_are_reported(objects: S3Objects, client: MemoryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"Errors": [{"Key": "a", "Code": "AccessDenied", "Message": "no"}]}
    monkeypatch.setattr(client, "delete_objects", lambda **request: answer)
    with pytest.raises(StorageFailed, match="'a': no"):
        objects.delete_many(["a", "b"])


def test_a_thousand_and_more_are_deleted_in_several_requests(objects: S3Objects, client: MemoryClient) -> None:
    objects.delete_many(f"{number}" for number in range(2001))
    assert client.calls == ["delete_objects"] * 3


@pytest.mark.parametrize("size", [1, 5 * MIB, 80_000 * MIB, 5 * 1024 * 1024 * MIB, 48 * 1024 * 1024 * MIB])
def test_objects_of_known_size_fit_into_their_parts(size: int) -> None:
    width = part_size(size, 0, 8 * MIB)
    assert width * PARTS >= size
    assert width <= 5 * 1024 * MIB


def test_objects_of_unknown_size_fit_into_their_parts() -> None:
    sizes = [part_size(None, number, 8 * MIB) for number in range(PARTS)]
    assert sum(sizes) >= 5 * 1024 * 1024 * MIB
    assert max(sizes) <= 5 * 1024 * MIB


def test_parts_are_not_smaller_than_s3_takes() -> None:
    with pytest.raises(ValueError, match="5 MiB"):
        S3Objects("bucket", part_size=1)


def test_a_key_and_its_prefix_are_not_longer_than_a_key() -> None:
    objects = S3Objects("bucket", prefix="p" * 500, client=MemoryClient())
    with pytest.raises(ValueError, match="1,024"):
        objects.put("k" * 600, b"")
