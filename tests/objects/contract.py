"""The contract of object stores: the same tests for a folder, for a bucket in memory, and for real servers."""

import hashlib
import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateleg.model.errors import S3KeyRefused
from gateleg.objects import (
    ByteRange,
    ContentDiffers,
    DigestMismatch,
    ObjectExists,
    ObjectMissing,
    Objects,
    RangeOutside,
    References,
    collect_orphans,
)
from gateleg.objects.errors import BadMetadata, NotModified

TEXT = b"The quick brown fox"
LARGE = bytes(range(256)) * 4 * 1024 * 20


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


class ObjectsContract:
    """A subclass has a fixture `objects`, and declares what its server does not support."""

    #: whether "a" and "a/b" can both be keys, and whether segments may be empty
    any_key = True

    def test_a_stored_object_can_be_read(self, objects: Objects) -> None:
        info = objects.put("mv/projects/1/final.mp4", TEXT, metadata={"made-by": "a test"})
        assert (info.key, info.size, info.content_type) == ("mv/projects/1/final.mp4", len(TEXT), "video/mp4")
        assert info.sha256 == hashlib.sha256(TEXT).hexdigest()
        assert objects.get("mv/projects/1/final.mp4") == TEXT

    def test_head_matches_the_result_of_put(self, objects: Objects) -> None:
        info = objects.put("a.txt", TEXT, content_type="text/plain; charset=utf-8", metadata={"one": "1", "two": "x y"})
        head = objects.head("a.txt")
        assert (head.key, head.size, head.etag, head.sha256) == (info.key, info.size, info.etag, info.sha256)
        assert (head.content_type, dict(head.metadata)) == ("text/plain; charset=utf-8", {"one": "1", "two": "x y"})
        assert abs(head.modified - datetime.now(UTC)) < timedelta(minutes=5)

    def test_an_object_may_be_empty(self, objects: Objects) -> None:
        objects.put("empty", b"")
        assert objects.get("empty") == b""
        assert objects.head("empty").size == 0

    def test_content_may_come_as_a_path_a_file_or_chunks(self, objects: Objects, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(TEXT)
        objects.put("path", tmp_path / "file")
        objects.put("file", io.BytesIO(TEXT))
        objects.put("chunks", pieces(TEXT, 5))
        objects.put("view", memoryview(TEXT))
        assert [objects.get(key) for key in ("path", "file", "chunks", "view")] == [TEXT] * 4

    def test_a_str_is_not_accepted_as_content(self, objects: Objects) -> None:
        with pytest.raises(TypeError, match="encode"):
            objects.put("text", "abc")  # type: ignore[arg-type]
        assert not objects.exists("text")

    def test_a_large_object_is_stored_completely(self, objects: Objects) -> None:
        info = objects.put("large", LARGE)
        assert info.size == len(LARGE)
        assert objects.head("large").sha256 == hashlib.sha256(LARGE).hexdigest()
        with objects.stream("large") as download:
            assert hashlib.sha256(b"".join(download)).hexdigest() == info.sha256

    def test_a_large_stream_of_unknown_length_is_stored_completely(self, objects: Objects) -> None:
        info = objects.put("stream", pieces(LARGE, 1_000_003))
        assert info.sha256 == hashlib.sha256(LARGE).hexdigest()
        assert objects.get("stream") == LARGE

    def test_a_second_put_replaces_the_first(self, objects: Objects) -> None:
        first = objects.put("a", b"one", metadata={"n": "1"})
        second = objects.put("a", b"two!")
        assert objects.get("a") == b"two!"
        assert first.etag != second.etag
        assert dict(objects.head("a").metadata) == {}

    @pytest.mark.parametrize(
        ("asked", "content"),
        [
            (ByteRange(4, 8), b"quick"),
            (ByteRange(16), b"fox"),
            (ByteRange(None, 3), b"fox"),
            (ByteRange(16, 900), b"fox"),
            (ByteRange(0, 0), b"T"),
        ],
    )
    def test_a_range_is_read(self, objects: Objects, asked: ByteRange, content: bytes) -> None:
        objects.put("a", TEXT)
        with objects.stream("a", range=asked) as download:
            assert b"".join(download) == content
            assert download.stop - download.start == len(content)
            assert download.info.size == len(TEXT)

    def test_a_range_outside_is_refused(self, objects: Objects) -> None:
        objects.put("a", TEXT)
        with pytest.raises(RangeOutside):
            objects.get("a", range=ByteRange(len(TEXT)))

    def test_a_conditional_read_does_not_send_a_known_object(self, objects: Objects) -> None:
        etag = objects.put("a", TEXT).etag
        with pytest.raises(NotModified):
            objects.get("a", unless_etag=etag)
        assert objects.get("a", unless_etag="another") == TEXT

    def test_if_absent_does_not_replace(self, objects: Objects) -> None:
        objects.put("new.txt", b"first", if_absent=True)
        with pytest.raises(ObjectExists):
            objects.put("new.txt", b"second", if_absent=True)
        large = b"x" * (6 << 20)
        with pytest.raises(ObjectExists):
            objects.put("new.txt", large, if_absent=True)
        assert objects.get("new.txt") == b"first"
        objects.put("new.txt", b"third")
        assert objects.get("new.txt") == b"third"

    def test_of_concurrent_writers_one_creates_the_object(self, objects: Objects) -> None:
        uploads = [objects.upload("one.txt", if_absent=True) for _ in range(3)]
        made = []
        for number, upload in enumerate(uploads):
            upload.write(b"%d" % number)
        for number, upload in enumerate(uploads):
            try:
                upload.finish()
                made.append(number)
            except ObjectExists:
                continue
        assert made == [0]
        assert objects.get("one.txt") == b"0"

    def test_content_with_another_digest_is_refused(self, objects: Objects) -> None:
        with pytest.raises(DigestMismatch):
            objects.put("a", TEXT, sha256=hashlib.sha256(b"else").hexdigest())
        assert not objects.exists("a")

    def test_a_body_that_fails_leaves_nothing(self, objects: Objects) -> None:
        def failing() -> Iterator[bytes]:
            yield from pieces(LARGE, 1_000_000)
            raise RuntimeError("the client went away")

        objects.put("a", b"before")
        with pytest.raises(RuntimeError, match="went away"):
            objects.put("a", failing())
        assert objects.get("a") == b"before"

    def test_an_unfinished_upload_stores_nothing(self, objects: Objects) -> None:
        with objects.upload("a") as upload:
            upload.write(TEXT)
        assert not objects.exists("a")
        with pytest.raises(ValueError, match="has ended"):
            upload.write(TEXT)

    def test_a_missing_object_is_an_error(self, objects: Objects) -> None:
        assert not objects.exists("nothing")
        with pytest.raises(ObjectMissing):
            objects.get("nothing")
        with pytest.raises(ObjectMissing):
            objects.head("nothing")
        with pytest.raises(ObjectMissing):
            objects.copy("nothing", "else")

    def test_deleting_twice_is_not_an_error(self, objects: Objects) -> None:
        objects.put("a/b/c", TEXT)
        objects.delete("a/b/c")
        objects.delete("a/b/c")
        assert not objects.exists("a/b/c")
        assert objects.list().objects == ()

    def test_many_are_deleted_and_the_others_stay(self, objects: Objects) -> None:
        for number in range(5):
            objects.put(f"n/{number}", b"x")
        objects.delete_many([f"n/{number}" for number in range(4)] + ["n/none"])
        assert [entry.key for entry in objects.walk()] == ["n/4"]

    def test_nothing_is_deleted_if_one_key_is_invalid(self, objects: Objects) -> None:
        objects.put("a", TEXT)
        with pytest.raises(S3KeyRefused):
            objects.delete_many(["a", "../b"])
        assert objects.exists("a")

    def test_a_listing_is_in_the_order_of_the_bytes(self, objects: Objects) -> None:
        keys = ["Z", "a", "b-c/x", "b/c", "b0", "é", "\uffee", "\U0001f600"]
        for key in keys:
            objects.put(key, b"x")
        assert [entry.key for entry in objects.walk()] == sorted(keys, key=str.encode)

    def test_a_listing_shows_size_and_etag(self, objects: Objects) -> None:
        info = objects.put("a", TEXT)
        (entry,) = objects.list().objects
        assert (entry.key, entry.size, entry.etag) == ("a", len(TEXT), info.etag)

    def test_a_listing_is_bound_to_its_prefix(self, objects: Objects) -> None:
        for key in ("a/1", "a/2", "ab/1", "b"):
            objects.put(key, b"x")
        assert [entry.key for entry in objects.walk("a/")] == ["a/1", "a/2"]
        assert objects.list("nothing/").objects == ()

    def test_a_delimiter_groups_keys_below_it(self, objects: Objects) -> None:
        for key in ("p/a", "p/b/1", "p/b/2", "p/c/d/e", "p/z", "q/1"):
            objects.put(key, b"x")
        page = objects.list("p/", delimiter="/")
        assert [entry.key for entry in page.objects] == ["p/a", "p/z"]
        assert page.prefixes == ("p/b/", "p/c/")

    @pytest.mark.parametrize("limit", [1, 2, 3, 7])
    def test_pages_add_up(self, objects: Objects, limit: int) -> None:
        for key in ("a", "b/1", "b/2", "c", "d/1", "e"):
            objects.put(key, b"x")
        seen: list[str] = []
        cursor = None
        while True:
            page = objects.list(delimiter="/", cursor=cursor, limit=limit)
            assert len(page.objects) + len(page.prefixes) <= limit
            seen += [*(entry.key for entry in page.objects), *page.prefixes]
            cursor = page.cursor
            if cursor is None:
                break
        assert sorted(seen) == ["a", "b/", "c", "d/", "e"]

    def test_a_page_has_a_sensible_size(self, objects: Objects) -> None:
        with pytest.raises(ValueError, match="1,000"):
            objects.list(limit=1001)

    def test_a_copy_is_another_object(self, objects: Objects) -> None:
        objects.put("a.png", TEXT, metadata={"n": "1"})
        copied = objects.copy("a.png", "b/c.bin")
        objects.delete("a.png")
        assert objects.get("b/c.bin") == TEXT
        head = objects.head("b/c.bin")
        assert (copied.content_type, head.content_type) == ("image/png", "image/png")
        # Servers may add something of their own.
        assert (copied.metadata, head.metadata["n"]) == ({"n": "1"}, "1")
        assert head.sha256 == copied.sha256 == hashlib.sha256(TEXT).hexdigest()

    def test_a_copy_may_be_described_anew(self, objects: Objects) -> None:
        objects.put("a", TEXT, metadata={"n": "1"})
        objects.copy("a", "a", content_type="text/html", metadata={"m": "2"})
        head = objects.head("a")
        assert (head.content_type, dict(head.metadata)) == ("text/html", {"m": "2"})
        assert objects.get("a") == TEXT

    @pytest.mark.parametrize("key", ["../a", "/etc/passwd", "a/../../b", "", "https://x/y", "a\0b", "a" * 1025, "a\ud800"])
    def test_invalid_keys_are_refused_by_every_method(self, objects: Objects, key: str) -> None:
        for verb in (objects.get, objects.head, objects.delete, objects.exists, objects.presign, objects.upload, objects.stream):
            with pytest.raises(S3KeyRefused):
                verb(key)
        with pytest.raises(S3KeyRefused):
            objects.put(key, TEXT)

    @pytest.mark.parametrize(
        "key",
        ["A", "ä ö/ü.png", "a b+c&d=e%20.txt", "con", "nul.txt", "a.", "x" * 300, "it's", "a:b", "back\\slash", "photo:1.jpg", "what?x=1"],
    )
    def test_strange_keys_are_keys(self, objects: Objects, key: str) -> None:
        objects.put(key, key.encode())
        assert objects.get(key) == key.encode()
        assert [entry.key for entry in objects.walk()] == [key]

    def test_keys_with_a_common_beginning_do_not_collide(self, objects: Objects) -> None:
        if not self.any_key:
            pytest.skip("this server keeps folders")
        keys = ["a", "a/", "a//b", "a/b", "a/b/c", "A", "a.d", "=a", "+a"]
        for key in keys:
            objects.put(key, key.encode())
        assert [objects.get(key) for key in keys] == [key.encode() for key in keys]
        assert [entry.key for entry in objects.walk()] == sorted(keys)
        objects.delete("a/b")
        assert objects.get("a/b/c") == b"a/b/c"

    @pytest.mark.parametrize(
        "metadata", [{"Upper": "x"}, {"a b": "x"}, {"a": "ü"}, {"a": "x\n"}, {"a": " x"}, {"gateleg-sha256": "x"}, {"a": "x" * 2048}]
    )
    def test_metadata_that_some_stores_cannot_keep_is_refused(self, objects: Objects, metadata: dict[str, str]) -> None:
        with pytest.raises(BadMetadata):
            objects.put("a", TEXT, metadata=metadata)
        assert not objects.exists("a")

    def test_a_link_stays_the_same_for_a_while(self, objects: Objects) -> None:
        urls = {objects.presign("a", expires=86_400) for _ in range(3)}
        assert len(urls) <= 2
        assert objects.presign("b", expires=86_400) not in urls

    def test_a_link_for_one_content_is_not_made_for_another(self, objects: Objects) -> None:
        digest = objects.put("a", TEXT).sha256
        assert objects.presign("a", sha256=digest)
        with pytest.raises(ContentDiffers):
            objects.presign("a", sha256="0" * 64)
        objects.put("a", TEXT + b"x")
        with pytest.raises(ContentDiffers):
            objects.presign("a", sha256=digest)

    def test_orphans_are_found_and_deleted(self, objects: Objects) -> None:
        for number in range(6):
            objects.put(f"n/{number}", b"x")
        later = datetime.now(UTC) + timedelta(days=2)
        references = References.read((f"n/{number}" for number in (0, 2, 4)), now=lambda: later)
        assert sum(len(page.orphans) for page in collect_orphans(objects, references, page_size=2)) == 3
        assert len(list(objects.walk())) == 6
        for page in collect_orphans(objects, references, page_size=2, dry_run=False):
            assert page.deleted
        assert [entry.key for entry in objects.walk()] == ["n/0", "n/2", "n/4"]
