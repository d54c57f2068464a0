import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.model.errors import S3KeyRefused
from gateleg.model.types import check_s3_key


@pytest.mark.parametrize(
    "key",
    [
        "mv/projects/1/final.mp4",
        "a",
        "a..b/c",
        "ü/ä.png",
        "what?",
        "why?/a=b",
        "x" * 1024,
        "s3.txt",
        "a:b",
        "1:2",
        "a/b:c",
        "a b",
        "a\u200db",
    ],
)
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
        " ",
        "\u3000",
        " a",
        "a ",
        " https://a/b",
        "\u00a0https://a/b",
        "\ufeffhttps://a/b",
        "\u200bs3://a/b",
        "a\u2060",
        "data:image/png;base64,AAAA",
        "javascript:alert(1)",
        "BLOB:abc",
        "mailto:a@b",
        "c:/windows/a",
        "c:\\windows\\a",
        "mv\\..\\x",
        "a.png?GoogleAccessId=1&Expires=2",
        "a.png?sv=2020&sig=1",
        "a.png?OSSAccessKeyId=1",
        "a.png?Policy=1&Key-Pair-Id=2",
        "a.png?q-sign-algorithm=sha1",
        "a.png?x=1",
        "a?b?c=1",
    ],
)
def test_invalid_object_keys_are_refused(value: str) -> None:
    with pytest.raises(S3KeyRefused):
        check_s3_key(value)


#: What remains of a URL's path as a key: names in any script, with marks that keys may contain.
NAMES = st.text(
    st.characters(categories=["L", "N", "M"], include_characters="!-_.*'() ,;@$+=&~%#[]{}^|<>:?"), min_size=1, max_size=20
).filter(lambda name: name.strip(".") and name == name.strip() and ":" not in name and "?" not in name)
KEYS = st.lists(NAMES, min_size=1, max_size=5).map("/".join).filter(lambda key: "&" not in key)
BLANKS = st.text(st.sampled_from(" \t\n\r\u00a0\u2003\u3000\u200b\u200e\ufeff"), max_size=3)
SCHEMES = st.from_regex(r"[a-zA-Z][a-zA-Z0-9+.-]{1,8}", fullmatch=True)
PARAMETERS = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,20}", fullmatch=True)


@given(KEYS)
def test_every_path_of_names_is_a_key(key: str) -> None:
    assert check_s3_key(key) == key


@given(KEYS, SCHEMES, BLANKS, st.sampled_from(["", "/", "//"]))
def test_no_key_begins_with_a_scheme_whatever_stands_before_it(key: str, scheme: str, blanks: str, slashes: str) -> None:
    with pytest.raises(S3KeyRefused):
        check_s3_key(f"{blanks}{scheme}:{slashes}{key}")


@given(KEYS, PARAMETERS, st.text(max_size=20))
def test_no_key_has_a_query_string(key: str, parameter: str, value: str) -> None:
    with pytest.raises(S3KeyRefused):
        check_s3_key(f"{key}?{parameter}={value}")


@given(KEYS, BLANKS.filter(bool), st.booleans())
def test_no_key_begins_or_ends_with_a_blank(key: str, blanks: str, before: bool) -> None:
    with pytest.raises(S3KeyRefused):
        check_s3_key(f"{blanks}{key}" if before else f"{key}{blanks}")


@given(st.text())
def test_what_is_accepted_is_accepted_as_it_is_and_can_be_a_path(text: str) -> None:
    try:
        key = check_s3_key(text)
    except S3KeyRefused:
        return
    assert key == text == text.strip() != ""
    assert not key.startswith("/")
    assert not {".", ".."} & set(key.split("/"))
    assert "\\" not in key


def test_the_refusal_of_a_presigned_url_does_not_show_its_signature() -> None:
    with pytest.raises(S3KeyRefused) as caught:
        check_s3_key("https://bucket.s3.amazonaws.com/a?X-Amz-Signature=secret")
    assert "secret" not in str(caught.value)
