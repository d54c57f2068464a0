"""A disk whose every write can be seen, refused, or undone: SQLite's files on the system's own, with a note of each change.

A power cut is decided on paper: from the notes up to some moment follows what may be on the disk after it. What was synced is there. What
was not may be there, may not, or may be there in part, sector by sector.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import apsw

SECTOR = 512

_names = count()


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes at a place of a file."""

    file: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file cut to a size."""

    file: str
    size: int


@dataclass(frozen=True, slots=True)
class Delete:
    """A file removed; the folder may not know of it after a power cut."""

    file: str


@dataclass(frozen=True, slots=True)
class Sync:
    """Everything that was done to a file is on the disk."""

    file: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Not the disk's: what the test did in between, such as an acknowledged write."""

    number: int


Event = Write | Truncate | Delete | Sync | Mark


class Disk:
    """What happened to the files in a folder, and which writes shall fail."""

    def __init__(self) -> None:
        self.vfs = f"recorded-{next(_names)}"
        self.events: list[Event] = []
        #: writes that still succeed; none if all do
        self.room: int | None = None
        #: syncs that still succeed; none if all do
        self.syncs: int | None = None

    def mark(self, number: int) -> None:
        """Note that something of the test's has happened."""
        self.events.append(Mark(number))

    def before_write(self) -> None:
        """Refuse a write if there is no room left."""
        if self.room is not None:
            if self.room <= 0:
                raise apsw.FullError("no space left")
            self.room -= 1

    def before_sync(self) -> None:
        """Refuse to sync if the disk shall fail."""
        if self.syncs is not None:
            if self.syncs <= 0:
                raise apsw.IOError("the disk does not answer")
            self.syncs -= 1


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = Path(path).name if path else ""
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.before_write()
        super().xWrite(data, offset)
        self._disk.events.append(Write(self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._disk.events.append(Truncate(self._name, newsize))

    def xSync(self, flags: int) -> None:
        self._disk.before_sync()
        super().xSync(flags)
        self._disk.events.append(Sync(self._name))


class _FileSystem(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        super().__init__(disk.vfs, "unix")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(self._disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self._disk.events.append(Delete(Path(filename).name))


@contextmanager
def recorded() -> Iterator[Disk]:
    """A disk for as long as the context lasts; engines on it must be closed by then."""
    disk = Disk()
    system = _FileSystem(disk)
    try:
        yield disk
    finally:
        system.unregister()


class Remains:
    """What may be on a disk if the power goes, followed event by event: the certain part of each file, and what was not synced."""

    def __init__(self) -> None:
        self._certain: dict[str, bytearray] = {}
        self._pending: dict[str, list[Event]] = {}

    def see(self, event: Event) -> None:
        """Take in what happened next."""
        if isinstance(event, Mark):
            return
        self._pending.setdefault(event.file, []).append(event)
        if not isinstance(event, Sync):
            return
        removed = any(isinstance(done, Delete) for done in self._pending[event.file])
        if (removed or event.file not in self._certain) and event.file.endswith(("-wal", "-journal")):
            # The first sync of a new log or journal syncs the folder too, and with it what was removed from there.
            self._settle_deletions()
        for done in self._pending.pop(event.file):
            _apply(self._certain, done)

    def _settle_deletions(self) -> None:
        for name, events in self._pending.items():
            ends = [position for position, event in enumerate(events) if isinstance(event, Delete)]
            if ends:
                self._certain.pop(name, None)
                self._pending[name] = events[ends[-1] + 1 :]

    def cut(self, chance: random.Random, folder: Path) -> None:
        """Write the files as they might be after a power cut now."""
        files = {name: bytearray(content) for name, content in self._certain.items()}
        for events in self._pending.values():
            for event in _survivors(events, chance):
                _apply(files, event)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)


def _apply(files: dict[str, bytearray], event: Event) -> None:
    if isinstance(event, Write):
        content = files.setdefault(event.file, bytearray())
        if len(content) < event.offset:
            content.extend(bytes(event.offset - len(content)))
        content[event.offset : event.offset + len(event.data)] = event.data
    elif isinstance(event, Truncate):
        del files.setdefault(event.file, bytearray())[event.size :]
    elif isinstance(event, Delete):
        files.pop(event.file, None)


def _survivors(events: Sequence[Event], chance: random.Random) -> Iterator[Event]:
    """Some of what was not synced: nothing, everything, or each with a probability, perhaps torn."""
    mood = chance.choice(("none", "all", "some", "torn"))
    if mood == "none":
        return
    for event in events:
        if mood == "all":
            yield event
        elif isinstance(event, Delete):
            if chance.random() < 0.5:
                # What came after was done to a new file of this name, which cannot be there before the old one is gone.
                return
            yield event
        elif mood == "some" or not isinstance(event, Write):
            if chance.random() < 0.5:
                yield event
        else:
            for start in range(0, len(event.data), SECTOR):
                if chance.random() < 0.7:
                    yield Write(event.file, event.offset + start, event.data[start : start + SECTOR])
