"""The one policy on private files: what is created is private, and what exists is named and never changed."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg import private_files
from gateleg.private_files import exposure, make_file, make_folder, warn_of_exposure, write_file


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_created_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "a" / "b"
    make_folder(folder)
    make_file(folder / "empty")
    write_file(folder / "full", b"content")
    assert [mode(path) for path in (folder.parent, folder)] == [0o700] * 2
    assert {path.name: mode(path) for path in folder.iterdir()} == {"empty": 0o600, "full": 0o600}


def test_what_exists_stays_as_it_is(tmp_path: Path) -> None:
    folder, file = tmp_path / "a", tmp_path / "a" / "b"
    folder.mkdir()
    file.write_bytes(b"content")
    folder.chmod(0o755)
    file.chmod(0o664)
    make_folder(folder)
    make_file(file)
    assert (mode(folder), mode(file), file.read_bytes()) == (0o755, 0o664, b"content")
    with pytest.raises(NotADirectoryError):
        make_folder(file)


@pytest.mark.parametrize("rights", [0o755, 0o710, 0o701])
def test_a_folder_that_others_can_enter_is_named_with_the_command_that_ends_it(tmp_path: Path, rights: int) -> None:
    folder = tmp_path / "my data"
    folder.mkdir()
    folder.chmod(rights)
    assert exposure(folder) == (
        f"other users of this machine can enter {folder} (mode {rights:04o}). Unless that is intended, run: chmod 700 '{folder}'"
    )


def test_so_is_a_file_that_others_can_open(tmp_path: Path) -> None:
    file = tmp_path / "data.db"
    file.touch()
    file.chmod(0o640)
    assert (exposure(file) or "").endswith(f"chmod 600 {file}")
    file.chmod(0o600)
    assert exposure(file) is None
    assert exposure(tmp_path / "missing") is None


def test_folders_that_others_have_to_enter_are_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, project = tmp_path / "shared", tmp_path / "project"
    for folder in (shared, project, project / "inner"):
        folder.mkdir()
        folder.chmod(0o755)
    shared.chmod(0o1777)
    monkeypatch.chdir(project / "inner")
    assert [exposure(folder) is None for folder in (shared, project, project / "inner", Path("/"))] == [True, True, False, True]


def test_each_path_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_files, "_warned", set())
    file = tmp_path / "file"
    file.touch()
    file.chmod(0o644)
    for _ in range(2):
        warn_of_exposure(file, tmp_path / "missing")
    assert [record.message for record in caplog.records] == [
        f"Other users of this machine can open {file} (mode 0644). Unless that is intended, run: chmod 600 {file}"
    ]
