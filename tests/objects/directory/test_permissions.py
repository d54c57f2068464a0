"""What the store in a folder creates is private, and what exists is never changed."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg.objects import open_objects


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _open_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_objects_are_accessible_to_their_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "objects"
    with open_objects(f"dir:{folder}", secret=b"x" * 32) as objects:
        objects.put("a/b.txt", b"hello")
        objects.put("a/b.txt", b"again")
    found = [folder, *folder.rglob("*")]
    assert any(path.is_file() for path in found)
    assert {(path.is_dir(), mode(path)) for path in found} == {(True, 0o700), (False, 0o600)}


def test_a_folder_that_others_can_enter_is_named_and_stays_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "objects"
    folder.mkdir()
    folder.chmod(0o755)
    with open_objects(f"dir:{folder}", secret=b"x" * 32) as objects:
        objects.put("a.txt", b"hello")
    assert mode(folder) == 0o755
    assert {mode(path) for path in folder.rglob("*")} == {0o700, 0o600}
    assert [record.message.rpartition(": ")[2] for record in caplog.records] == [f"chmod 700 {folder}"]
