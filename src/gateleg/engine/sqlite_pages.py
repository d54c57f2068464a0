"""The pages and trees of a SQLite file, read without SQLite: which are intact, and what records they hold.

SQLite gives up on a table at the first page that it cannot read. Here every page is read on its own, so that all others can be saved.
The page format is that of https://sqlite.org/fileformat2.html.
"""

import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from gateleg.engine import files

#: The page size of all our files.
PAGE_SIZE = 4096
#: The page that SQLite never uses, because its locks are on it.
_LOCK_PAGE = 0x40000000 // PAGE_SIZE + 1
#: Offset in the header of the number of reserved bytes per page; 0 in files without checksums.
_RESERVED_BYTE = 20
#: How each of our files begins: format name, page size and page usage.
HEADER = b"SQLite format 3\x00" + PAGE_SIZE.to_bytes(2, "big") + bytes([2, 2, files.RESERVED_BYTES, 64, 32, 32])

INDEX_INTERIOR, TABLE_INTERIOR, INDEX_LEAF, TABLE_LEAF = 2, 5, 10, 13
#: How often to read a page before its checksum counts as wrong, because another process may be writing it.
_MAX_READS = 3
_REREAD_SECONDS = 0.02


class MalformedPage(Exception):
    """A page with invalid content."""


class Cell(NamedTuple):
    """A cell of a b-tree page: child page, rowid, record, and the record's overflow pages.

    `payload` is the record as found, even if one of these pages is damaged; `record` is None then.
    """

    child: int | None = None
    rowid: int | None = None
    record: bytes | None = None
    payload: bytes | None = None
    overflow: tuple[int, ...] = ()


class Pages:
    """The pages of a file, numbered from 1. In a file without checksums, every page counts as intact.

    With `fix_bits`, a page with a single wrong bit is corrected if exactly one flipped bit makes the checksum match.

    The file is opened through SQLite's VFS: closing a descriptor of our own would release SQLite's locks on it in this process.
    """

    def __init__(self, path: Path, *, fix_bits: bool = False) -> None:
        self._fix_bits = fix_bits
        #: corrected pages
        self.fixed: dict[int, bytes] = {}
        system = files.vfs()
        flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
        self._file = apsw.VFSFile("unix", str(path.resolve()), [flags, 0])
        self._checker = apsw.Connection(":memory:", vfs=system)
        self._intact: dict[int, bool] = {}
        self.count = self._file.xFileSize() // PAGE_SIZE
        header = self._file.xRead(100, 0) if self.count else b""
        self.has_checksums = header[:_RESERVED_BYTE] != HEADER[:_RESERVED_BYTE] or header[_RESERVED_BYTE] != 0
        self.header_is_intact = header[: len(HEADER)] == HEADER or not self.has_checksums
        self.usable = PAGE_SIZE - files.RESERVED_BYTES if self.has_checksums else PAGE_SIZE
        if self.header_is_intact:
            self.count = min(self.count, int.from_bytes(header[28:32], "big") or self.count)

    def close(self) -> None:
        self._file.xClose()
        self._checker.close()

    def read(self, number: int) -> bytes:
        """The bytes of a page."""
        if not 1 <= number <= self.count:
            raise MalformedPage(f"there is no page {number}")
        if number in self.fixed:
            return self.fixed[number]
        page: bytes = self._file.xRead(PAGE_SIZE, (number - 1) * PAGE_SIZE)
        return page

    def is_intact(self, number: int) -> bool:
        """Whether a page is intact."""
        intact = self._intact.get(number)
        if intact is None:
            intact = self._intact[number] = self._verify(number)
        return intact

    def _verify(self, number: int) -> bool:
        if number == _LOCK_PAGE or not self.has_checksums:
            return True
        for attempt in range(_MAX_READS):
            if attempt:
                time.sleep(_REREAD_SECONDS)
            if self._checksum_matches(self.read(number)):
                return True
        return self._fix_bits and self._fix_single_bit(number)

    def _checksum_matches(self, page: bytes) -> bool:
        return self._checker.execute("SELECT verify_checksum(?)", (page,)).fetchone() == (1,)

    def _fix_single_bit(self, number: int) -> bool:
        """Correct a single flipped bit, if exactly one page with a matching checksum results; some bits weigh the same in the checksum."""
        page = bytearray(self.read(number))
        fitting: list[bytes] = []
        for place in range(PAGE_SIZE):
            was = page[place]
            for bit in range(8):
                page[place] = was ^ 1 << bit
                if self._checksum_matches(bytes(page)):
                    fitting.append(bytes(page))
            page[place] = was
        if len(fitting) == 1:
            self.fixed[number] = fitting[0]
        return len(fitting) == 1

    def free(self) -> tuple[set[int], set[int]]:
        """The free pages: trunk pages of the freelist, and the pages they list, which may hold anything."""
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
        """The pages in use that are corrupt."""
        _, listed = self.free()
        return [number for number in range(1, self.count + 1) if number not in listed and not self.is_intact(number)]

    def kind(self, number: int) -> int:
        """The type of a b-tree page: leaf or interior, of a table or an index."""
        return self.read(number)[100 if number == 1 else 0]

    def cells(self, number: int) -> Iterator[Cell]:
        """The cells of a b-tree page; of a damaged page, those that can be decoded."""
        sound = self.is_intact(number)  # may correct the page
        page = self.read(number)
        start = 100 if number == 1 else 0
        kind = page[start]
        if kind not in (INDEX_INTERIOR, TABLE_INTERIOR, INDEX_LEAF, TABLE_LEAF):
            raise MalformedPage(f"page {number} is not a page of a tree")
        length = int.from_bytes(page[start + 3 : start + 5], "big")
        interior = kind in (INDEX_INTERIOR, TABLE_INTERIOR)
        at = start + (12 if interior else 8)
        for position in range(min(length, (self.usable - at) // 2)):
            place = int.from_bytes(page[at + 2 * position : at + 2 * position + 2], "big")
            try:
                yield self._cell(page, kind, place)
            except (IndexError, MalformedPage):
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
        whole = len(payload) == length and all(self.is_intact(number) for number in overflow)
        return Cell(child, rowid, payload if whole else None, payload, overflow)

    def _payload(self, page: bytes, kind: int, at: int, length: int) -> tuple[bytes, tuple[int, ...]]:
        """A record, as far as it can be read, and its overflow pages."""
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
            self.is_intact(number)  # may correct the page
            more = self.read(number)
            parts.append(more[4 : 4 + min(left, self.usable - 4)])
            left -= len(parts[-1])
            number = int.from_bytes(more[:4], "big")
        return b"".join(parts), tuple(chain)


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode a varint; returns the value and the position after it."""
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
    """The values of a record; raises `MalformedPage` if it cannot be decoded."""
    try:
        return tuple(_columns(record))
    except (IndexError, ValueError) as error:
        raise MalformedPage(str(error)) from error


def _columns(record: bytes) -> Iterator[Any]:
    end, at = varint(record, 0)
    if at >= end:
        raise MalformedPage("a record has no values")
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
                raise MalformedPage("a record is cut short")
            yield content.decode() if kind % 2 else content
            body += width
        else:
            raise MalformedPage("a record has a value of an unknown type")


#: rowid (None in an index) and columns
Record = tuple[int | None, tuple[Any, ...]]


@dataclass(slots=True)
class Tree:
    """A b-tree of SQLite (a table or an index), as far as it can be read."""

    #: records on intact pages
    records: list[Record] = field(default_factory=list)
    #: records on damaged pages, which may be wrong
    suspects: list[Record] = field(default_factory=list)
    pages: set[int] = field(default_factory=set)
    #: whether parts of the tree cannot be read
    damaged: bool = False

    def numbers(self) -> dict[Any, int]:
        """The second column by the first, of a tree of names, or keys, and numbers."""
        return {values[0]: values[1] for _, values in self.records if len(values) == 2 and isinstance(values[1], int)}


class Trees:
    """The b-trees of a file by their names in SQLite's schema, and the records of tables on intact pages that no tree refers to.

    Pointers on a damaged page are followed too, because the pages they lead to have checksums of their own, but never to a page of a tree
    that could be read without.
    """

    def __init__(self, pages: Pages) -> None:
        schema = _walk(pages, 1, taken=set(), lenient=True)
        self.schema_is_intact = not schema.damaged
        # A root after the end of the file is that of a damaged tree: the file has been cut.
        roots: dict[str, int] = {
            values[1]: values[3]
            for _, values in schema.suspects + schema.records
            if len(values) == 5 and isinstance(values[1], str) and isinstance(values[3], int) and values[3] > 1
        }
        free: set[int] = set().union(*pages.free()) if pages.is_intact(1) else set()
        self.by_name = {name: _walk(pages, root, taken=free, lenient=False) for name, root in roots.items()}
        owners = {number: name for name, tree in self.by_name.items() for number in tree.pages}
        for name in [name for name, tree in self.by_name.items() if tree.damaged]:
            others = {number for number, owner in owners.items() if owner != name}
            self.by_name[name] = _walk(pages, roots[name], taken=others | schema.pages | free, lenient=True)
        used = schema.pages.union(free, *(tree.pages for tree in self.by_name.values()))
        #: by their first column
        self.orphans: dict[Any, list[Record]] = {}
        for number in set(range(2, pages.count + 1)) - used:
            for rowid, values in _orphans(pages, number):
                self.orphans.setdefault(values[0], []).append((rowid, values))

    def tree(self, name: str) -> Tree:
        """The tree of that name; an empty one if it is missing, damaged unless the list of trees is whole."""
        return self.by_name.get(name) or Tree(damaged=not self.schema_is_intact)


def _walk(pages: Pages, root: int, *, taken: set[int], lenient: bool) -> Tree:
    """Read the tree below a root, except for pages in `taken`; below damaged pages only with `lenient`."""
    tree, waiting = Tree(), [root]
    while waiting:
        number = waiting.pop()
        if number in tree.pages or number in taken or not 1 <= number <= pages.count:
            tree.damaged = True
            continue
        tree.pages.add(number)
        intact = pages.is_intact(number)
        tree.damaged = tree.damaged or not intact
        if not (intact or lenient):
            continue
        try:
            for cell in pages.cells(number):
                waiting.extend(() if cell.child is None else (cell.child,))
                _add(tree, cell, intact)
        except (MalformedPage, IndexError):
            tree.damaged = True
    return tree


def _add(tree: Tree, cell: Cell, intact: bool) -> None:
    """Add the record of a cell to its tree."""
    tree.pages.update(cell.overflow)
    if cell.payload is None:
        return
    whole = intact and cell.record is not None
    try:
        (tree.records if whole else tree.suspects).append((cell.rowid, columns(cell.payload)))
    except MalformedPage:
        whole = False
    tree.damaged = tree.damaged or not whole


def _orphans(pages: Pages, number: int) -> Iterator[Record]:
    with suppress(MalformedPage, IndexError):
        if pages.is_intact(number) and pages.kind(number) == TABLE_LEAF:
            for cell in pages.cells(number):
                if cell.record is not None:
                    yield cell.rowid, columns(cell.record)
