"""Nothing outside the root is accessed, whatever the key and the content of the folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.model.errors import S3KeyRefused
from gateleg.objects import DirectoryObjects, ObjectMissing, ObjectsError
from gateleg.objects.errors import OutsideRoot
from tests.objects.keys import KEYS, NO_KEYS

_SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "=target").write_bytes(b"not yours")
    return tmp_path / "objects"


@pytest.fixture
def objects(root: Path) -> Iterator[DirectoryObjects]:
    with DirectoryObjects(root, durability="relaxed") as objects:
        yield objects


@given(keys=st.sets(KEYS, max_size=12), prefix=st.sampled_from(["", "a", "x" * 80, "a/"]), limit=st.integers(1, 5))
@_SETTINGS
def test_any_keys_can_be_stored_read_and_listed_in_order(objects: DirectoryObjects, keys: set[str], prefix: str, limit: int) -> None:
    for key in keys:
        objects.put(key, key.encode())
    assert all(objects.get(key) == key.encode() for key in keys)
    expected = sorted((key for key in keys if key.startswith(prefix)), key=str.encode)
    seen: list[str] = []
    cursor = None
    while True:
        page = objects.list(prefix, cursor=cursor, limit=limit)
        seen += [entry.key for entry in page.objects]
        if (cursor := page.cursor) is None:
            break
    assert seen == expected
    objects.delete_many(keys)
    assert list((objects.root / "keys").iterdir()) == []


@given(keys=st.sets(KEYS, max_size=10), delimiter=st.sampled_from(["/", "a", "x0", "é"]), limit=st.integers(1, 4))
@_SETTINGS
def test_prefixes_are_common_to_their_keys(objects: DirectoryObjects, keys: set[str], delimiter: str, limit: int) -> None:
    for key in keys:
        objects.put(key, b"")
    rolled = {head + delimiter for key in keys for head, found, _ in [key.partition(delimiter)] if found}
    seen: list[str] = []
    cursor = None
    while True:
        page = objects.list(delimiter=delimiter, cursor=cursor, limit=limit)
        seen += [*(entry.key for entry in page.objects), *page.prefixes]
        if (cursor := page.cursor) is None:
            break
    assert sorted(seen) == sorted([*rolled, *(key for key in keys if delimiter not in key)])
    objects.delete_many(keys)


@given(text=NO_KEYS)
@_SETTINGS
def test_invalid_keys_access_nothing(objects: DirectoryObjects, tmp_path: Path, text: str) -> None:
    before = snapshot(tmp_path)
    for attempt in (objects.get, objects.head, objects.delete, objects.presign, lambda key: objects.put(key, b"x")):
        with pytest.raises(S3KeyRefused):
            attempt(text)
    assert snapshot(tmp_path) == before


def test_a_linked_folder_is_not_followed(objects: DirectoryObjects, root: Path, tmp_path: Path) -> None:
    (root / "keys" / "+a").symlink_to(tmp_path / "outside", target_is_directory=True)
    before = snapshot(tmp_path / "outside")
    for attempt in (objects.get, objects.head, objects.delete, lambda key: objects.put(key, b"x")):
        with pytest.raises(OutsideRoot):
            attempt("a/target")
    assert objects.list().objects == ()
    assert snapshot(tmp_path / "outside") == before


def test_a_linked_file_is_not_read_and_a_put_replaces_the_link_itself(objects: DirectoryObjects, root: Path, tmp_path: Path) -> None:
    (root / "keys" / "=a").symlink_to(tmp_path / "outside" / "=target")
    with pytest.raises(OutsideRoot):
        objects.get("a")
    assert objects.list().objects == ()
    objects.put("a", b"mine")
    assert objects.get("a") == b"mine"
    assert (tmp_path / "outside" / "=target").read_bytes() == b"not yours"


def test_a_pipe_in_the_folder_does_not_block(objects: DirectoryObjects, root: Path) -> None:
    os.mkfifo(root / "keys" / "=a")
    with pytest.raises(OutsideRoot):
        objects.get("a")


def test_a_file_where_a_folder_should_be_is_refused(objects: DirectoryObjects, root: Path) -> None:
    (root / "keys" / "+a").write_bytes(b"")
    with pytest.raises(OutsideRoot):
        objects.put("a/b", b"x")


def test_a_closed_store_reaches_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = DirectoryObjects(root)
    objects.put("a", b"x")
    objects.close()
    monkeypatch.chdir(root / "keys")
    with pytest.raises(ObjectsError):
        objects.get("a")


def test_a_root_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    with DirectoryObjects(tmp_path / "link") as objects:
        objects.put("a", b"x")
    assert (tmp_path / "real" / "keys" / "=a").exists()


def test_foreign_files_are_kept_and_not_listed(objects: DirectoryObjects, root: Path) -> None:
    (root / "keys" / "README").write_text("hello")
    for name in ("=UPPER", "=%ff", "=.%2e", "=%00", "="):
        (root / "keys" / name).write_text("hello")
    (root / "keys" / "+").mkdir()
    (root / "keys" / "+" / "=etc").write_text("hello")
    assert objects.list().objects == ()
    with pytest.raises(ObjectMissing):
        objects.get("README")
