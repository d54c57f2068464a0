import pytest

from gateleg.model.attributes.special_types import check_s3_key
from gateleg.model.errors import S3KeyRefused


@pytest.mark.parametrize("key", ["mv/projects/1/final.mp4", "a", "a..b/c", "ü/ä.png", "what?x=1", "x" * 1024, "s3.txt", "a:b"])
def test_object_keys_are_accepted(key: str) -> None:
    assert check_s3_key(key) == key


@pytest.mark.parametrize(
    "value",
    [
        "",
        "http://a/b",
        "HTTPS://a/b",
        "s3://bucket/key",
        "S3://bucket/key",
        "file:///a",
        "//host/a",
        "https:/a",
        "a.mp4?X-Amz-Signature=1",
        "a.mp4?x-amz-signature=1",
        "a.mp4?a=1&AWSAccessKeyId=2",
        "a.mp4?Expires=1&Signature=2",
        "/a",
        "../a",
        "a/../b",
        "a/..",
        "./a",
        "a\nb",
        "a\x7f",
        "a\x85",
        "x" * 1025,
        "ü" * 513,
        "a\ud800",
    ],
)
def test_invalid_object_keys_are_refused(value: str) -> None:
    with pytest.raises(S3KeyRefused):
        check_s3_key(value)


def test_the_refusal_of_a_presigned_url_does_not_show_its_signature() -> None:
    with pytest.raises(S3KeyRefused) as caught:
        check_s3_key("https://bucket.s3.amazonaws.com/a?X-Amz-Signature=secret")
    assert "secret" not in str(caught.value)
