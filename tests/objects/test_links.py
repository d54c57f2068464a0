from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.objects import DirectoryObjects, Grant, LinkRefused, content_disposition
from gateleg.objects.errors import LinkExpired
from gateleg.objects.links import MAX_EXPIRES, LinkSigner, validity
from tests.objects.keys import KEYS

SIGNER = LinkSigner(b"0123456789abcdef")
NAMES = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="/\\"), min_size=1, max_size=20)


def parts(url: str) -> tuple[str, str]:
    split = urlsplit(url)
    return unquote(split.path.removeprefix("/objects/")), split.query


@given(KEYS, st.none() | NAMES)
def test_a_link_to_read_contains_its_grant(key: str, download: str | None) -> None:
    url = SIGNER.sign(Grant(key, download=download), 100)
    assert SIGNER.verify("GET", *parts(url), now=99.9) == Grant(key, download=download)


@given(KEYS, st.none() | st.just("video/mp4"), st.none() | st.integers(0, 10**12))
def test_a_link_to_write_contains_its_grant(key: str, content_type: str | None, length: int | None) -> None:
    grant = Grant(key, "PUT", content_type, length)
    url = SIGNER.sign(grant, 100)
    assert SIGNER.verify("PUT", *parts(url), now=0, content_type=content_type, length=length) == grant


@pytest.mark.parametrize(
    ("grant", "changed"),
    [(Grant("a", sha256="a" * 64), "sha256=" + "b" * 64), (Grant("a", "PUT", once=True), ""), (Grant("a", "PUT"), "once=1")],
)
def test_content_and_single_use_are_signed(grant: Grant, changed: str) -> None:
    key, query = parts(SIGNER.sign(grant, 100))
    assert SIGNER.verify(grant.method, key, query, now=0) == grant
    kept = [pair for pair in query.split("&") if not pair.startswith(("sha256=", "once="))]
    with pytest.raises(LinkRefused):
        SIGNER.verify(grant.method, key, "&".join([*kept, *filter(None, [changed])]), now=0)


def test_a_link_of_the_previous_release_is_still_valid() -> None:
    link = "/objects/a?expires=100&max_bytes=5&signature=VrfmnU8y6Uf7G1rtN4c2BOaInZ-TZllbEF8agp4eUwY"
    assert SIGNER.sign(Grant("a", "PUT", max_bytes=5), 100) == link
    assert SIGNER.verify("PUT", *parts(link), now=0) == Grant("a", "PUT", max_bytes=5)


def test_head_is_allowed_where_get_is() -> None:
    assert SIGNER.verify("HEAD", *parts(SIGNER.sign(Grant("a"), 100)), now=0).key == "a"


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "get", "OPTIONS"])
def test_a_link_to_read_is_for_nothing_else(method: str) -> None:
    with pytest.raises(LinkRefused):
        SIGNER.verify(method, *parts(SIGNER.sign(Grant("a"), 100)), now=0)


def test_a_link_to_write_does_not_read() -> None:
    with pytest.raises(LinkRefused):
        SIGNER.verify("GET", *parts(SIGNER.sign(Grant("a", "PUT"), 100)), now=0)


def test_a_link_expires() -> None:
    with pytest.raises(LinkExpired):
        SIGNER.verify("GET", *parts(SIGNER.sign(Grant("a"), 100)), now=100)


@pytest.mark.parametrize(
    "change",
    [
        lambda key, query: ("b", query),
        lambda key, query: ("../a", query),
        lambda key, query: (key, query.replace("expires=100", "expires=101")),
        lambda key, query: (key, query + "&download=x.html"),
        lambda key, query: (key, query + "&type=text/html"),
        lambda key, query: (key, query + "&other=1"),
        lambda key, query: (key, query + "&expires=100"),
        lambda key, query: (key, query[:-1]),
        lambda key, query: (key, query.partition("&")[0]),
        lambda key, query: (key, ""),
        lambda key, query: (key, "expires=%ff&signature=x"),
        lambda key, query: (key, "expires=1e3&signature=x"),
        lambda key, query: (key, "expires=100&signature=é"),
    ],
)
def test_a_changed_link_is_refused(change: Callable[[str, str], tuple[str, str]]) -> None:
    key, query = parts(SIGNER.sign(Grant("a"), 100))
    with pytest.raises(LinkRefused):
        SIGNER.verify("GET", *change(key, query), now=0)


def test_a_link_of_another_secret_is_refused() -> None:
    with pytest.raises(LinkRefused):
        SIGNER.verify("GET", *parts(LinkSigner(b"another secret..").sign(Grant("a"), 100)), now=0)


@pytest.mark.parametrize(("content_type", "length"), [("text/html", 3), (None, 3), ("video/mp4", 4), ("video/mp4", None)])
def test_a_put_must_match_its_link(content_type: str | None, length: int | None) -> None:
    url = SIGNER.sign(Grant("a", "PUT", "video/mp4", 3), 100)
    with pytest.raises(LinkRefused):
        SIGNER.verify("PUT", *parts(url), now=0, content_type=content_type, length=length)


@pytest.mark.parametrize(
    "arguments",
    [
        {"length": 3},
        {"content_type": "a/b"},
        {"method": "PUT", "download": "x"},
        {"method": "DELETE"},
        {"download": "a/b"},
        {"download": "a\nb"},
    ],
)
def test_invalid_grants_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        Grant("a", **arguments)  # type: ignore[arg-type]


@given(st.floats(0, 4e9), st.floats(1, MAX_EXPIRES), st.floats(0, 1000))
def test_a_link_holds_as_long_as_asked_and_not_for_much_longer(now: float, expires: float, passed: float) -> None:
    valid = validity(now, expires)
    assert valid.begins <= now
    assert valid.ends >= int(now) + int(expires)
    assert valid.ends <= now + 2 * expires
    assert valid.ends - valid.begins <= MAX_EXPIRES
    later = validity(now + passed, expires)
    assert later.begins >= valid.begins


def test_links_are_the_same_within_a_window_and_change_after_it(tmp_path: Path) -> None:
    now = [900_000.0]
    objects = DirectoryObjects(tmp_path, clock=lambda: now[0])
    first = objects.presign("a")
    now[0] += 899
    assert objects.presign("a") == first
    now[0] += 1
    assert objects.presign("a") != first
    assert objects.verify("GET", *parts(first)).key == "a"


def test_a_link_may_lead_to_another_host(tmp_path: Path) -> None:
    objects = DirectoryObjects(tmp_path, url="https://media.example.com/o/")
    assert objects.presign("a b/ü").startswith("https://media.example.com/o/a%20b/%C3%BC?expires=")


def test_the_secret_is_not_shown() -> None:
    assert "0123456789" not in repr(SIGNER)


@given(NAMES)
def test_the_name_of_a_download_is_one_header(name: str) -> None:
    header = content_disposition(name)
    assert header.isascii()
    assert header.isprintable()
    assert unquote(header.rpartition("''")[2]) == name


def test_a_link_may_bound_the_length_without_fixing_it() -> None:
    signer = LinkSigner(b"x" * 32)
    query = signer.sign(Grant("a", "PUT", max_bytes=10), 100).partition("?")[2]
    assert "max_bytes=10" in query
    assert signer.verify("PUT", "a", query, 50, length=10).max_bytes == 10
    assert signer.verify("PUT", "a", query, 50).max_bytes == 10
    for changed, length in ((query, 11), (query.replace("max_bytes=10", "max_bytes=99"), 20), (query.replace("&max_bytes=10", ""), 20)):
        with pytest.raises(LinkRefused):
            signer.verify("PUT", "a", changed, 50, length=length)
