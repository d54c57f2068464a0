"""Archives that others have sent: unpacked within bounds, wherever their entries claim to lie."""

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
#: Bytes that an archive may unpack to however well they were packed: short texts are packed very well.
_FREE = 10_000_000


@dataclass(frozen=True)
class ArchiveBounds:
    """How much an archive may unpack to."""

    #: files that are unpacked
    files: int = 1_000
    #: bytes of all of them together
    size: int = 5_000_000_000
    #: how many times larger than packed all of them may be, beyond some megabytes
    ratio: int = 100
    #: archives within archives within it; 0 leaves those packed
    depth: int = 0


@dataclass(frozen=True)
class Unpacked:
    """A file of an archive: its name as it was there, and where it lies now."""

    name: str
    path: Path


def plain_name(name: str) -> str:
    """The last part of a name that somebody sent, fit for a file."""
    last = name.replace("\\", "/").rpartition("/")[2]
    # In front is a dot what hides a file, and at the end Windows drops it.
    return "".join(sign if sign.isprintable() and sign not in '<>:"|?*' else "_" for sign in last)[-100:].lstrip(".").rstrip(". ") or "file"


def unpack(
    path: Path,
    folder: Path,
    bounds: ArchiveBounds | None = None,
    *,
    wanted: Callable[[str], bool] | None = None,
    seen: Callable[[Path, bytes], object] | None = None,
) -> list[Unpacked]:
    """The wanted files of an archive, all of them by default, each in a folder of its own below `folder`, so that they keep their names.

    Paths in the archive do not matter, and links in it are left out. `seen` gets every chunk while it is unpacked, and may refuse it.
    Raises `ArchiveTooLarge` and `ArchiveRefused`; what was unpacked by then is left for the caller to remove with the folder.
    """
    bounds = bounds or ArchiveBounds()
    budget = _Budget(bounds, max(_FREE, path.stat().st_size * bounds.ratio))
    return _Unpacking(folder, budget, wanted or (lambda name: True), seen or (lambda path, chunk: None)).read(path, "", bounds.depth)


class _Budget:
    """What is left of the bounds of an archive and of those within it."""

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
            raise ArchiveTooLarge(f"Unpacked, the archive is more than {self._bounds.ratio} times as large as packed.")
        raise ArchiveTooLarge(f"Unpacked, the archive has more than {self._bounds.size:,} bytes.")


@dataclass(frozen=True)
class _Unpacking:
    folder: Path
    budget: _Budget
    wanted: Callable[[str], bool]
    seen: Callable[[Path, bytes], object]

    def read(self, path: Path, prefix: str, depth: int) -> list[Unpacked]:
        found: list[Unpacked] = []
        try:
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist():
                    name = f"{prefix}{entry.filename}"
                    inner = depth > 0 and entry.filename.lower().endswith(".zip")
                    if entry.is_dir() or _is_link(entry) or not (inner or self.wanted(name)):
                        continue
                    made = self._unpack(archive, entry, name)
                    if inner and zipfile.is_zipfile(made.path):
                        found += self.read(made.path, f"{name}/", depth - 1)
                    elif self.wanted(name):
                        found.append(made)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, UnicodeDecodeError) as error:
            raise ArchiveRefused(f"{path.name} cannot be unpacked: {error}.") from None
        return found

    def _unpack(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> Unpacked:
        folder = self.folder / str(self.budget.take_file())
        folder.mkdir(parents=True)
        target = folder / plain_name(entry.filename)
        with archive.open(entry) as source, target.open("wb") as file:
            while chunk := source.read(_CHUNK):
                self.budget.take(len(chunk))
                self.seen(target, chunk)
                file.write(chunk)
        return Unpacked(name, target)


def _is_link(entry: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(entry.external_attr >> 16)
