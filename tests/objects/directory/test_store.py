"""The store in a folder: its files, failures and concurrent users."""

import os
import threading
import tracemalloc
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateleg.objects import ByteRange, DirectoryObjects
from gateleg.objects.directory_tree import Folder
from gateleg.objects.errors import Damaged, ObjectsClosed, StorageFailed, StorageFull


@pytest.fixture
def objects(tmp_path: Path) -> DirectoryObjects:
    return DirectoryObjects(tmp_path, durability="relaxed")


def test_a_closed_store_is_named_as_the_reason(objects: DirectoryObjects) -> None:
    objects.put("a.txt", b"content")
    objects.close()
    for use in (
        lambda: objects.get("a.txt"),
        lambda: objects.put("b.txt", b""),
        lambda: objects.head("a.txt"),
        lambda: objects.delete("a.txt"),
    ):
        with pytest.raises(ObjectsClosed, match="the object store is closed"):
            use()


def test_the_content_is_at_the_beginning_of_the_file(objects: DirectoryObjects, tmp_path: Path) -> None:
    objects.put("mv/final.mp4", b"content")
    assert (tmp_path / "keys" / "+mv" / "=final.mp4").read_bytes().startswith(b"content")


@pytest.mark.parametrize(
    "harm",
    [
        lambda raw: b"",
        lambda raw: raw[:-1],
        lambda raw: raw[1:],
        lambda raw: raw + b"x",
        lambda raw: b"x" * len(raw),
        lambda raw: raw[-12:],
    ],
)
def test_a_damaged_file_is_reported_and_still_listed(objects: DirectoryObjects, tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    objects.put("a", b"content")
    file = tmp_path / "keys" / "=a"
    file.write_bytes(harm(file.read_bytes()))
    with pytest.raises(Damaged):
        objects.get("a")
    assert [entry.key for entry in objects.list().objects] == ["a"]
    assert len(list(objects.check())) == 1
    objects.delete("a")
    assert list(objects.check()) == []


def test_a_changed_byte_is_found(objects: DirectoryObjects, tmp_path: Path) -> None:
    objects.put("a", b"content")
    file = tmp_path / "keys" / "=a"
    file.write_bytes(b"C" + file.read_bytes()[1:])
    with pytest.raises(Damaged, match="digest"):
        objects.get("a")
    assert objects.get("a", range=ByteRange(1, 3)) == b"ont"


def test_a_description_of_the_largest_size_is_read(objects: DirectoryObjects) -> None:
    metadata = {"a": "\\" * 2047}
    objects.put("a", b"content", metadata=metadata)
    assert objects.head("a").metadata == metadata


def test_a_download_continues_when_its_object_is_replaced_or_deleted(objects: DirectoryObjects) -> None:
    before = os.urandom(1_000_000)
    objects.put("a", before)
    with objects.stream("a") as download:
        chunks = iter(download)
        first = next(chunks)
        objects.put("a", b"after")
        objects.delete("a")
        assert first + b"".join(chunks) == before


def test_a_closed_download_reads_nothing(objects: DirectoryObjects) -> None:
    objects.put("a", os.urandom(1_000_000))
    with objects.stream("a") as download:
        chunks = iter(download)
        next(chunks)
    with pytest.raises(ValueError, match="closed"):
        next(chunks)


def test_unfinished_uploads_are_swept_after_a_day(tmp_path: Path) -> None:
    now = [datetime.now(UTC).timestamp()]
    objects = DirectoryObjects(tmp_path, clock=lambda: now[0])
    upload = objects.upload("a")
    upload.write(b"half")
    assert objects.sweep() == 0
    now[0] += timedelta(days=1, minutes=1).total_seconds()
    assert objects.sweep() == 1
    assert list((tmp_path / "incoming").iterdir()) == []
    with pytest.raises(StorageFailed):
        upload.finish()
    assert not objects.exists("a")


def test_opening_a_folder_sweeps_it(tmp_path: Path) -> None:
    DirectoryObjects(tmp_path).upload("a").write(b"half")
    later = datetime.now(UTC).timestamp() + timedelta(days=2).total_seconds()
    DirectoryObjects(tmp_path, clock=lambda: later)
    assert list((tmp_path / "incoming").iterdir()) == []


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_any_call_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    objects = DirectoryObjects(tmp_path)
    objects.put("a/b", b"before")
    real = getattr(os, call)
    left = [0]

    def failing(*args: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        return real(*args)

    monkeypatch.setattr(f"os.{call}", failing)
    refused = 0
    for allowed in range(10):
        left[0] = allowed
        try:
            objects.put("a/b", b"x" * 1_000_000)
            break
        except StorageFull:
            refused += 1
        left[0] = 100
        assert objects.get("a/b") == b"before" or call == "fsync"
        assert list((tmp_path / "incoming").iterdir()) == []
        assert list(objects.check()) == []
    assert refused > 1
    left[0] = 100
    assert objects.get("a/b") == b"x" * 1_000_000


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_failed_upload_cannot_continue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    objects = DirectoryObjects(tmp_path / "objects")
    objects.put("a", b"before")
    upload = objects.upload("a")
    upload.write(b"one")

    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(f"os.{call}", full)
        with pytest.raises(StorageFull):
            upload.finish()
    with (tmp_path / "other").open("wb") as other:
        # Its descriptor may be the one that the upload had.
        with pytest.raises(ValueError, match="start another"):
            upload.write(b"two")
        with pytest.raises(ValueError, match="start another"):
            upload.finish()
        assert os.fstat(other.fileno()).st_size == 0
    assert objects.get("a") == b"before"
    assert list((tmp_path / "objects" / "incoming").iterdir()) == []


def test_a_view_of_numbers_is_written_as_its_bytes(objects: DirectoryObjects) -> None:
    numbers = array("I", range(100))
    with objects.upload("a") as upload:
        upload.write(memoryview(numbers))
        upload.finish()
    assert objects.get("a") == numbers.tobytes()


def test_concurrent_writers_and_deleters_see_complete_objects_only(tmp_path: Path) -> None:
    faults: list[BaseException] = []

    def work(number: int) -> None:
        objects = DirectoryObjects(tmp_path, durability="relaxed")
        try:
            for turn in range(40):
                objects.put("a/b/c", bytes([number]) * (turn * 1000 + 1))
                objects.delete("a/b/c")
                objects.put(f"a/b/{number}", b"mine")
                assert objects.get(f"a/b/{number}") == b"mine"
                objects.delete(f"a/b/{number}")
        except BaseException as error:
            faults.append(error)
        finally:
            objects.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    objects = DirectoryObjects(tmp_path)
    assert list(objects.check()) == []
    assert list((tmp_path / "keys").iterdir()) == []


def names_of(folder: Folder) -> list[str]:
    with folder.reopen() as again:
        return again.names()


def test_concurrent_listings_of_a_folder_are_complete(tmp_path: Path) -> None:
    for number in range(5000):
        (tmp_path / f"{number:08d}").touch()
    with Folder(str(tmp_path)) as folder, ThreadPoolExecutor(4) as threads:
        assert {len(names) for names in threads.map(lambda _: names_of(folder), range(16))} == {5000}


def test_content_of_any_size_takes_little_memory(objects: DirectoryObjects) -> None:
    size = 64
    tracemalloc.start()
    try:
        objects.put("a", (bytes(1_000_000) for _ in range(size)))
        with objects.stream("a") as download:
            assert sum(len(chunk) for chunk in download) == size * 1_000_000
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_processes_agree_on_the_secret_of_a_folder(tmp_path: Path) -> None:
    one, other = DirectoryObjects(tmp_path, clock=lambda: 0.0), DirectoryObjects(tmp_path, clock=lambda: 0.0)
    assert one.presign("a") == other.presign("a")
    assert (tmp_path / "secret").stat().st_mode & 0o077 == 0


def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="16"):
        DirectoryObjects(tmp_path, secret="short")
