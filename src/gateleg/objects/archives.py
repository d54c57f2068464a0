"""Unpack archives from untrusted sources, within limits and without following the paths of their entries."""

from __future__ import annotations

import stat
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.objects.errors import ArchiveRefused, ArchiveTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["ArchiveBounds", "Unpacked", "plain_name", "unpack"]

_CHUNK = 1 << 20
#: Bytes that an archive may unpack to whatever its compression ratio: short texts compress very well.
_MIN_BUDGET_BYTES = 10_000_000


@dataclass(frozen=True)
class ArchiveBounds:
    """Limits on what an archive may unpack to."""

    #: maximum number of files
    files: int = 1_000
    #: maximum total size in bytes
    size: int = 5_000_000_000
    #: maximum compression ratio of the whole archive, once it is beyond some megabytes
    ratio: int = 100
    #: how many levels of nested archives are unpacked; 0 leaves them packed
    depth: int = 0


@dataclass(frozen=True)
class Unpacked:
    """An unpacked file: its name in the archive, and its path on disk."""

    name: str
    path: Path


def plain_name(name: str) -> str:
    """The last segment of a file name from an untrusted source, safe to use as a file name."""
    last = name.replace("\\", "/").rpartition("/")[2]
    # A leading dot hides a file, and Windows drops a trailing one.
    return "".join(sign if sign.isprintable() and sign not in '<>:"|?*' else "_" for sign in last)[-100:].lstrip(".").rstrip(". ") or "file"


def unpack(
    path: Path,
    folder: Path,
    bounds: ArchiveBounds | None = None,
    *,
    wanted: Callable[[str], bool] | None = None,
    on_chunk: Callable[[Path, bytes], object] | None = None,
) -> list[Unpacked]:
    """Unpack a ZIP archive. Each file is written to a separate folder below `folder`, so that names cannot collide.

    `wanted` selects files by name; by default, all are unpacked. Paths in the archive are ignored, and links are skipped. `on_chunk` is
    called with every unpacked chunk, and may raise to stop. Raises `ArchiveTooLarge` and `ArchiveRefused`; the caller must then remove the
    partially filled folder.
    """
    bounds = bounds or ArchiveBounds()
    budget = _Budget(bounds, max(_MIN_BUDGET_BYTES, path.stat().st_size * bounds.ratio))
    return _Unpacker(folder, budget, wanted or (lambda name: True), on_chunk or (lambda path, chunk: None)).read(path, "", bounds.depth)


class _Budget:
    """The remaining budget of an archive and the archives nested in it."""

    def __init__(self, bounds: ArchiveBounds, most: int) -> None:
        self._bounds = bounds
        self._packed = most
        self._left = min(bounds.size, most)
        self._files = 0

    def take_file(self) -> int:
        self._files += 1
        if self._files > self._bounds.files:
            raise ArchiveTooLarge(f"The archive has more than {self._bounds.files:,} files.")
        return self._files

    def take(self, count: int) -> None:
        self._left -= count
        if self._left >= 0:
            return
        if self._packed < self._bounds.size:
            raise ArchiveTooLarge(f"The archive unpacks to more than {self._bounds.ratio} times its size.")
        raise ArchiveTooLarge(f"The archive unpacks to more than {self._bounds.size:,} bytes.")


@dataclass(frozen=True)
class _Unpacker:
    folder: Path
    budget: _Budget
    wanted: Callable[[str], bool]
    on_chunk: Callable[[Path, bytes], object]

    def read(self, path: Path, prefix: str, depth: int) -> list[Unpacked]:
        unpacked: list[Unpacked] = []
        try:
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist():
                    name = f"{prefix}{entry.filename}"
                    inner = depth > 0 and entry.filename.lower().endswith(".zip")
                    if entry.is_dir() or _is_link(entry) or not (inner or self.wanted(name)):
                        continue
                    file = self._unpack(archive, entry, name)
                    if inner and zipfile.is_zipfile(file.path):
                        unpacked += self.read(file.path, f"{name}/", depth - 1)
                    elif self.wanted(name):
                        unpacked.append(file)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, UnicodeDecodeError) as error:
            raise ArchiveRefused(f"{path.name} cannot be unpacked: {error}.") from None
        return unpacked

    def _unpack(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> Unpacked:
        folder = self.folder / str(self.budget.take_file())
        folder.mkdir(parents=True)
        target = folder / plain_name(entry.filename)
        with archive.open(entry) as source, target.open("wb") as file:
            while chunk := source.read(_CHUNK):
                self.budget.take(len(chunk))
                self.on_chunk(target, chunk)
                file.write(chunk)
        return Unpacked(name, target)


def _is_link(entry: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(entry.external_attr >> 16)
