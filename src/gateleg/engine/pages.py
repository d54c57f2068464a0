"""The pages of a SQLite file, read without SQLite: which are as they were written, and what records they hold.

SQLite gives a table up at the first page that it cannot read. Here every page is looked at by itself, so that all others can be saved.
The layout of pages is that of https://sqlite.org/fileformat2.html.
"""

import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from gateleg.engine import checksums

#: Bytes of a page. Our files have no other.
SIZE = 4096
#: The page that SQLite never writes, because it locks bytes of it.
_LOCKED = 0x40000000 // SIZE + 1
#: Where that says how many bytes of each page are reserved; files without checksums have none.
_FIXED = 20
#: What the beginning of each of our files says: the name of the format, the size of pages, and how they are used.
HEADER = b"SQLite format 3\x00" + SIZE.to_bytes(2, "big") + bytes([2, 2, checksums.RESERVED, 64, 32, 32])

INDEX_INTERIOR, TABLE_INTERIOR, INDEX_LEAF, TABLE_LEAF = 2, 5, 10, 13
#: How often a page is read before its checksum counts as wrong, and the seconds in between: another process may be writing it.
_READINGS = 3
_PAUSE = 0.02


class Malformed(Exception):
    """A page that does not hold what it should."""


class Cell(NamedTuple):
    """An entry of a page: the page below it, the number of its row, its record, and the pages that the record goes on in.

    `payload` is the record as it is found, also where one of these pages is damaged.
    """

    child: int | None = None
    rowid: int | None = None
    record: bytes | None = None
    payload: bytes | None = None
    overflow: tuple[int, ...] = ()


class Pages:
    """The pages of a file, numbered from one. In a file without checksums, each counts as sound.

    With `mend`, a page in which a single bit is wrong is set right, where only one bit makes the checksum fit.

    The file is opened by SQLite's own means: if we closed it, this process would lose the locks that SQLite has on it.
    """

    def __init__(self, path: Path, *, mend: bool = False) -> None:
        self._mend = mend
        #: pages of which one bit was set right
        self.mended: dict[int, bytes] = {}
        system = checksums.vfs()
        flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
        self._file = apsw.VFSFile("unix", str(path.resolve()), [flags, 0])
        self._checker = apsw.Connection(":memory:", vfs=system)
        self._sound: dict[int, bool] = {}
        self.count = self._file.xFileSize() // SIZE
        header = self._file.xRead(100, 0) if self.count else b""
        self.has_checksums = header[:_FIXED] != HEADER[:_FIXED] or header[_FIXED] != 0
        self.header_is_whole = header[: len(HEADER)] == HEADER or not self.has_checksums
        self.usable = SIZE - checksums.RESERVED if self.has_checksums else SIZE
        if self.header_is_whole:
            self.count = min(self.count, int.from_bytes(header[28:32], "big") or self.count)

    def close(self) -> None:
        """Close the file."""
        self._file.xClose()
        self._checker.close()

    def read(self, number: int) -> bytes:
        """The bytes of a page."""
        if not 1 <= number <= self.count:
            raise Malformed(f"there is no page {number}")
        if number in self.mended:
            return self.mended[number]
        page: bytes = self._file.xRead(SIZE, (number - 1) * SIZE)
        return page

    def sound(self, number: int) -> bool:
        """Whether a page is as it was written."""
        found = self._sound.get(number)
        if found is None:
            found = self._sound[number] = self._verify(number)
        return found

    def _verify(self, number: int) -> bool:
        if number == _LOCKED or not self.has_checksums:
            return True
        for attempt in range(_READINGS):
            if attempt:
                time.sleep(_PAUSE)
            if self._fits(self.read(number)):
                return True
        return self._mend and self._set_right(number)

    def _fits(self, page: bytes) -> bool:
        return self._checker.execute("SELECT verify_checksum(?)", (page,)).fetchone() == (1,)

    def _set_right(self, number: int) -> bool:
        """Take the one page that differs in a single bit and has its checksum. Several may: highest bits of words weigh alike."""
        page = bytearray(self.read(number))
        fitting: list[bytes] = []
        for place in range(SIZE):
            was = page[place]
            for bit in range(8):
                page[place] = was ^ 1 << bit
                if self._fits(bytes(page)):
                    fitting.append(bytes(page))
            page[place] = was
        if len(fitting) == 1:
            self.mended[number] = fitting[0]
        return len(fitting) == 1

    def free(self) -> tuple[set[int], set[int]]:
        """The pages that are not in use: those that list others, and those that are listed. The latter may hold anything."""
        trunks: set[int] = set()
        listed: set[int] = set()
        number = int.from_bytes(self.read(1)[32:36], "big")
        while number and number not in trunks and number <= self.count:
            page = self.read(number)
            trunks.add(number)
            length = min(int.from_bytes(page[4:8], "big"), self.usable // 4 - 2)
            listed.update(int.from_bytes(page[8 + 4 * i : 12 + 4 * i], "big") for i in range(length))
            number = int.from_bytes(page[:4], "big")
        return trunks, listed

    def damaged(self) -> list[int]:
        """The pages in use that are not as they were written."""
        _, listed = self.free()
        return [number for number in range(1, self.count + 1) if number not in listed and not self.sound(number)]

    def kind(self, number: int) -> int:
        """What a page of a tree is: a leaf or an inner page, of a table or of an index."""
        return self.read(number)[100 if number == 1 else 0]

    def cells(self, number: int) -> Iterator[Cell]:
        """The entries of a page of a tree. Of a damaged page, those that can be made out."""
        sound = self.sound(number)  # which may set it right
        page = self.read(number)
        start = 100 if number == 1 else 0
        kind = page[start]
        if kind not in (INDEX_INTERIOR, TABLE_INTERIOR, INDEX_LEAF, TABLE_LEAF):
            raise Malformed(f"page {number} is not a page of a tree")
        length = int.from_bytes(page[start + 3 : start + 5], "big")
        interior = kind in (INDEX_INTERIOR, TABLE_INTERIOR)
        at = start + (12 if interior else 8)
        for position in range(min(length, (self.usable - at) // 2)):
            place = int.from_bytes(page[at + 2 * position : at + 2 * position + 2], "big")
            try:
                yield self._cell(page, kind, place)
            except (IndexError, Malformed):
                if sound:
                    raise
        if interior:
            yield Cell(int.from_bytes(page[start + 8 : start + 12], "big"))

    def _cell(self, page: bytes, kind: int, at: int) -> Cell:
        child = None
        if kind in (INDEX_INTERIOR, TABLE_INTERIOR):
            child = int.from_bytes(page[at : at + 4], "big")
            at += 4
        if kind == TABLE_INTERIOR:
            return Cell(child)
        length, at = varint(page, at)
        rowid = None
        if kind == TABLE_LEAF:
            rowid, at = varint(page, at)
        payload, overflow = self._payload(page, kind, at, length)
        whole = len(payload) == length and all(self.sound(number) for number in overflow)
        return Cell(child, rowid, payload if whole else None, payload, overflow)

    def _payload(self, page: bytes, kind: int, at: int, length: int) -> tuple[bytes, tuple[int, ...]]:
        """A record, as much of it as can be found, and the pages that it goes on in."""
        most = self.usable - 35 if kind == TABLE_LEAF else (self.usable - 12) * 64 // 255 - 23
        if length <= most:
            return page[at : at + length], ()
        least = (self.usable - 12) * 32 // 255 - 23
        here = least + (length - least) % (self.usable - 4)
        here = least if here > most else here
        parts, left = [page[at : at + here]], length - here
        chain: dict[int, None] = {}
        number = int.from_bytes(page[at + here : at + here + 4], "big")
        while left > 0 and 1 <= number <= self.count and number not in chain:
            chain[number] = None
            self.sound(number)  # which may set it right
            more = self.read(number)
            parts.append(more[4 : 4 + min(left, self.usable - 4)])
            left -= len(parts[-1])
            number = int.from_bytes(more[:4], "big")
        return b"".join(parts), tuple(chain)


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for position in range(8):
        byte = data[at + position]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + position + 1
    value = value << 8 | data[at + 8]
    return (value - (1 << 64) if value >= 1 << 63 else value), at + 9


_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def columns(record: bytes) -> tuple[Any, ...]:
    """The values of a record; raises `Malformed` if it is none."""
    try:
        return tuple(_columns(record))
    except (IndexError, ValueError) as error:
        raise Malformed(str(error)) from error


def _columns(record: bytes) -> Iterator[Any]:
    end, at = varint(record, 0)
    body = end
    while at < end:
        kind, at = varint(record, at)
        if kind == 0:
            yield None
        elif kind in _INTEGERS:
            width = _INTEGERS[kind]
            yield int.from_bytes(record[body : body + width], "big", signed=True)
            body += width
        elif kind == 7:
            yield struct.unpack(">d", record[body : body + 8])[0]
            body += 8
        elif kind in (8, 9):
            yield kind - 8
        elif kind >= 12:
            width = (kind - 12) // 2
            content = record[body : body + width]
            if len(content) != width:
                raise Malformed("a record is cut short")
            yield content.decode() if kind % 2 else content
            body += width
        else:
            raise Malformed("a record has a value of an unknown type")
