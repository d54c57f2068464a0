"""Buckets for exports and imports: local folders that keys cannot escape from."""

from collections.abc import Iterator
from pathlib import Path

from gateleg.engine.permissions import make_folder, write_file


class OutsideBucketError(Exception):
    """A key or bucket name that points outside the bucket."""


class BucketFolder:
    """A folder whose files are objects; a file's relative path is the object's key."""

    def __init__(self, exports: Path, name: str) -> None:
        self._root = exports.resolve()
        self._folder = self._root / name
        if self._folder.parent != self._root or self._folder.is_symlink():
            raise OutsideBucketError(name)

    @property
    def exists(self) -> bool:
        """Whether the folder exists."""
        return self._folder.is_dir()

    def write(self, key: str, content: bytes) -> None:
        """Store an object."""
        path = self.path(key)
        make_folder(path.parent)
        write_file(path, content)

    def path(self, key: str) -> Path:
        """The path of an object."""
        parts = [part for part in key.split("/") if part]
        if not parts or any(part in {".", ".."} or "\\" in part or "\0" in part for part in parts):
            raise OutsideBucketError(key)
        path = self._folder.joinpath(*parts)
        if not path.resolve().is_relative_to(self._folder):
            raise OutsideBucketError(key)
        return path

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys with a prefix, in order."""
        found = (path for path in self._folder.rglob("*") if path.is_file() and path.resolve().is_relative_to(self._folder))
        yield from sorted(
            key for key in (path.relative_to(self._folder).as_posix() for path in found) if key.startswith(prefix.lstrip("/"))
        )
