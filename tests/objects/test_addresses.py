import subprocess
import sys
from pathlib import Path

import pytest

from gateleg.objects import DirectoryObjects, ObjectsAddress, S3Objects, open_objects, parse_objects_address
from gateleg.objects.errors import BadObjectsAddress


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("dir:./data/objects", ObjectsAddress("dir", "./data/objects")),
        ("dir:/var/objects", ObjectsAddress("dir", "/var/objects")),
        ("dir:C:\\objects", ObjectsAddress("dir", "C:\\objects")),
        ("s3://bucket", ObjectsAddress("s3", "bucket")),
        ("s3://bucket/", ObjectsAddress("s3", "bucket")),
        ("s3://my.bucket-1/a/b/", ObjectsAddress("s3", "my.bucket-1", "a/b")),
    ],
)
def test_addresses_are_parsed(text: str, address: ObjectsAddress) -> None:
    assert parse_objects_address(text) == address
    assert parse_objects_address(str(address)) == address


@pytest.mark.parametrize(
    "text", ["", "dir:", "dir: ", "dir", "s3:", "s3://", "s3:bucket", "s3://B", "s3://b", "s3:///a", "s3://bucket/../a", "http://x"]
)
def test_invalid_addresses_are_refused(text: str) -> None:
    with pytest.raises(BadObjectsAddress):
        parse_objects_address(text)


def test_an_address_opens_its_store(tmp_path: Path) -> None:
    with open_objects(f"dir:{tmp_path}", url="/media") as folder:
        assert isinstance(folder, DirectoryObjects)
        assert folder.presign("a").startswith("/media/a?")
    with open_objects("s3://bucket/a", region="eu-west-1") as bucket:
        assert isinstance(bucket, S3Objects)
        assert (bucket.bucket.name, bucket.prefix) == ("bucket", "a/")


def test_botocore_is_not_imported_before_a_bucket_is_asked() -> None:
    code = "import sys; from gateleg.objects import S3Objects; S3Objects('bucket').close(); sys.exit('botocore' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
