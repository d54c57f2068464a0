"""Objects as folders, previews by type, and files that are not what they are called."""

from datetime import UTC, datetime
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.host.actions.objects import contradiction, new_key
from gateleg.objects import Entry, ObjectPage
from gateleg.web.console.objects.contents import (
    content_address,
    excerpt,
    folder_address,
    folder_entries,
    folder_of,
    how_much,
    icon_of,
    kind_of,
    kind_of_key,
    name_of,
    object_address,
    path_to,
)

NOW = datetime(2026, 11, 15, tzinfo=UTC)
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20


def test_folders_come_first_and_all_are_called_by_their_last_part() -> None:
    page = ObjectPage((Entry("a/b/c.txt", 3, "e", NOW),), ("a/b/d/",))
    shown = folder_entries(page, "a/b/")
    assert [(entry.name, entry.folder, entry.place) for entry in shown] == [("d", True, "a/b/d/"), ("c.txt", False, "a/b/c.txt")]


def test_the_way_to_a_folder_has_every_step() -> None:
    assert [(step.name, step.prefix) for step in path_to("a/b/c/")] == [("a", "a/"), ("b", "a/b/"), ("c", "a/b/c/")]
    assert path_to("") == []


def test_a_prefix_that_ends_inside_a_name_leads_to_the_folder_before_it() -> None:
    assert [step.prefix for step in path_to("a/b")] == ["a/"]


@pytest.mark.parametrize(("key", "folder", "name"), [("a/b/c.txt", "a/b/", "c.txt"), ("c.txt", "", "c.txt"), ("a/", "a/", "a")])
def test_a_key_has_a_folder_and_a_name(key: str, folder: str, name: str) -> None:
    assert (folder_of(key), name_of(key)) == (folder, name)


@given(st.text(min_size=1))
def test_any_key_survives_the_address_of_its_page(key: str) -> None:
    assert parse_qs(urlsplit(object_address(key)).query, keep_blank_values=True)["key"] == [key]


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1))
def test_any_key_survives_the_address_of_its_content(key: str) -> None:
    address = content_address(key)
    assert unquote(address.removeprefix("/objects/")) == key
    assert "?" not in address
    assert "#" not in address


def test_a_folder_has_an_address_with_its_place_in_the_listing() -> None:
    assert folder_address() == "/objects"
    assert folder_address("a b/", "next") == "/objects?prefix=a+b%2F&cursor=next"


@pytest.mark.parametrize("name", ["c.png", "dir/c.png", "C:\\pictures\\c.png"])
def test_only_the_name_of_an_uploaded_file_counts(name: str) -> None:
    assert new_key("covers/", name) == "covers/c.png"


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("image/png", "image"),
        ("image/svg+xml", "image"),
        ("image/tiff", "none"),
        ("video/mp4", "video"),
        ("audio/wav", "audio"),
        ("text/html; charset=utf-8", "html"),
        ("application/json", "json"),
        ("model/gltf+json", "json"),
        ("text/markdown", "text"),
        ("application/yaml", "text"),
        ("application/octet-stream", "none"),
    ],
)
def test_content_is_shown_by_its_type(content_type: str, kind: str) -> None:
    assert kind_of(content_type) == kind
    assert icon_of(kind)


def test_a_listing_guesses_by_the_key() -> None:
    assert kind_of_key("films/One.MP4") == "video"


def test_json_is_laid_out_when_all_of_it_is_there() -> None:
    assert excerpt(b'{"a":[1,2]}', "json", 11).text == '{\n  "a": [\n    1,\n    2\n  ]\n}'


def test_json_that_is_none_is_shown_as_it_is_and_said_so() -> None:
    shown = excerpt(b"{", "json", 1)
    assert shown.text == "{"
    assert "not valid JSON" in shown.note


def test_a_long_text_is_cut_and_said_so() -> None:
    shown = excerpt("aü".encode()[:2], "text", 1000)
    assert shown.text == "a"
    assert shown.note == "The first 2 of 1,000 bytes."
    assert how_much("json") > how_much("text")


def test_bytes_that_are_not_text_are_mentioned() -> None:
    assert "not UTF-8 text" in excerpt(b"a\xff", "text", 2).note


@pytest.mark.parametrize(
    ("content_type", "head"),
    [("image/png", b"<script>"), ("image/jpeg", PNG), ("video/mp4", b"RIFF"), ("text/plain", PNG), ("application/json", b"\x00")],
)
def test_content_that_is_not_what_its_name_says_is_told(content_type: str, head: bytes) -> None:
    assert content_type in contradiction(content_type, head)


@pytest.mark.parametrize(
    ("content_type", "head"),
    [
        ("image/png", PNG),
        ("image/webp", b"RIFF\x00\x00\x00\x00WEBPVP8 "),
        ("video/mp4", b"\x00\x00\x00\x18ftypisom"),
        ("audio/mpeg", b"\xff\xfb\x90"),
        ("text/html", b"<h1>"),
        ("application/octet-stream", b"\x00"),
        ("application/x-unheard-of", b"anything"),
    ],
)
def test_nothing_speaks_against_what_is_right_or_not_known(content_type: str, head: bytes) -> None:
    assert contradiction(content_type, head) == ""
