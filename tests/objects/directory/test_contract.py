from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg.objects import DirectoryObjects
from tests.objects.contract import ObjectsContract


class TestDirectory(ObjectsContract):
    @pytest.fixture
    def objects(self, tmp_path: Path) -> Iterator[DirectoryObjects]:
        with DirectoryObjects(tmp_path / "objects", durability="relaxed") as objects:
            yield objects


class TestDirectoryByPaths(ObjectsContract):
    """As on systems that cannot resolve names in an open folder."""

    @pytest.fixture
    def objects(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DirectoryObjects]:
        monkeypatch.setattr("gateleg.objects.directory_tree.Folder.__init__.__kwdefaults__", {"by_descriptor": False})
        with DirectoryObjects(tmp_path / "objects", durability="relaxed") as objects:
            yield objects
