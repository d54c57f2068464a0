import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg.objects import open_objects
from gateleg.objects.links import make_private


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


def test_an_existing_folder_is_made_private(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "data"
    folder.mkdir(0o755)
    make_private(folder)
    assert (mode(folder), len(caplog.records)) == (0o700, 1)
    make_private(folder)
    assert len(caplog.records) == 1


def test_a_shared_folder_is_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, project = tmp_path / "shared", tmp_path / "project"
    for folder in (shared, project, project / "inner"):
        folder.mkdir(0o755)
    shared.chmod(0o1777)
    monkeypatch.chdir(project / "inner")
    for folder in (shared, project, project / "inner", Path()):
        make_private(folder)
    assert [mode(folder) for folder in (shared, project, project / "inner")] == [0o1777, 0o755, 0o755]


def test_files_of_an_earlier_version_are_made_private_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "objects"
    with open_objects(f"dir:{folder}", secret=b"x" * 32) as objects:
        objects.put("a/b.txt", b"hello")
    (folder / "private").unlink()
    link = folder / "keys" / "outside"
    link.symlink_to(tmp_path / "other.txt")
    (tmp_path / "other.txt").write_text("others read this")
    (tmp_path / "other.txt").chmod(0o644)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
    with open_objects(f"dir:{folder}", secret=b"x" * 32) as objects:
        assert objects.get("a/b.txt") == b"hello"
    assert {(path.is_dir(), mode(path)) for path in folder.rglob("*") if not path.is_symlink()} == {(True, 0o700), (False, 0o600)}
    assert mode(tmp_path / "other.txt") == 0o644
    assert sum("Removed the permissions of other users" in record.message for record in caplog.records) == 1
