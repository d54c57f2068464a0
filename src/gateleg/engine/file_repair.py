"""Repair: copy the intact parts of a damaged file to a new one. The damaged file is only read.

Salvage of a damaged file: the records of each SQLite table, and whether their pages are intact.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import apsw
import orjson

from gateleg.engine import changelog, expiry, files, keys, stored_backups, throttle, upgrades
from gateleg.engine.catalog import Catalog
from gateleg.engine.database import Database
from gateleg.engine.definitions import dump, load, recover
from gateleg.engine.errors import EngineError
from gateleg.engine.files import is_writable
from gateleg.engine.integrity import format_key
from gateleg.engine.layout import IndexLayout, Layout
from gateleg.engine.schema import Namespace, Table
from gateleg.engine.sqlite_pages import HEADER, TABLE_LEAF, MalformedPage, Pages, columns
from gateleg.engine.values import item_size

Record = tuple[int | None, tuple[Any, ...]]


@dataclass(slots=True)
class SalvagedTree:
    """A b-tree of SQLite (a table or an index), as far as it can be read."""

    #: rowid (None in an index) and columns of each record on intact pages
    records: list[Record] = field(default_factory=list)
    #: the same for records on damaged pages, which may be wrong
    suspects: list[Record] = field(default_factory=list)
    pages: set[int] = field(default_factory=set)
    #: whether parts of the tree cannot be read
    damaged: bool = False


class Salvage:
    """The b-trees of a file by their names in SQLite's schema."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        schema = _walk(pages, 1, taken=set(), lenient=True)
        self.schema_is_intact = not schema.damaged
        roots = {name: root for name, root in _roots(schema) if 1 < root <= pages.count}
        trunks, listed = pages.free()
        free = trunks | listed if pages.is_intact(1) else set()
        strict = {name: _walk(pages, root, taken=free, lenient=False) for name, root in roots.items()}
        owners: dict[int, str] = {number: name for name, tree in strict.items() for number in tree.pages}
        self.trees: dict[str, SalvagedTree] = {}
        for name, root in roots.items():
            tree = strict[name]
            if tree.damaged:
                others = {number for number, owner in owners.items() if owner != name} | schema.pages | free
                tree = _walk(pages, root, taken=others, lenient=True)
            self.trees[name] = tree
        used = schema.pages.union(free, *(tree.pages for tree in self.trees.values()))
        #: pages in use that no tree refers to
        self._orphans = [number for number in range(2, pages.count + 1) if number not in used]

    def tree(self, name: str) -> SalvagedTree:
        """The tree of that name; a damaged, empty one if it is missing."""
        return self.trees.get(name) or SalvagedTree(damaged=not self.schema_is_intact)

    def orphans(self) -> Iterator[Record]:
        """Intact records of tables that no tree refers to."""
        for number in self._orphans:
            try:
                if self._pages.is_intact(number) and self._pages.kind(number) == TABLE_LEAF:
                    for cell in self._pages.cells(number):
                        if cell.record is not None:
                            yield cell.rowid, columns(cell.record)
            except (MalformedPage, IndexError):
                continue


def _roots(schema: SalvagedTree) -> Iterator[tuple[str, int]]:
    for _, values in schema.suspects + schema.records:
        if len(values) == 5 and isinstance(values[1], str) and isinstance(values[3], int):
            yield values[1], values[3]


def _walk(pages: Pages, root: int, *, taken: set[int], lenient: bool) -> SalvagedTree:
    """Read the tree below a root, except for pages in `taken`.

    With `lenient`, pointers on damaged pages are followed: the pages they lead to have checksums of their own.
    """
    tree = SalvagedTree()
    waiting = [root]
    while waiting:
        number = waiting.pop()
        if number in tree.pages or number in taken or not 1 <= number <= pages.count:
            tree.damaged = True
            continue
        tree.pages.add(number)
        sound = pages.is_intact(number)
        if not sound:
            tree.damaged = True
            if not lenient:
                continue
        try:
            waiting.extend(_take_page(pages, number, tree, sound))
        except (MalformedPage, IndexError):
            tree.damaged = True
    return tree


def _take_page(pages: Pages, number: int, tree: SalvagedTree, sound: bool) -> Iterator[int]:
    """Add the records of a page to its tree; yields the pages below it."""
    for cell in pages.cells(number):
        tree.pages.update(cell.overflow)
        if cell.child is not None:
            yield cell.child
        if cell.payload is None:
            continue
        whole = sound and cell.record is not None
        tree.damaged = tree.damaged or not whole
        try:
            (tree.records if whole else tree.suspects).append((cell.rowid, columns(cell.payload)))
        except MalformedPage:
            tree.damaged = True


#: Size and content of a row.
Row = tuple[int, bytes]
#: The engine's own tables that are copied as they are, and whether their first column is the rowid.
_ENGINE_TABLES = {"logs": True, "streams": False, "transfers": False, "tokens": False}


#: Bytes that are copied at once.
_COPY_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LostItem:
    """An item that could not be saved: table (or backup), key, and the data found in its place, which may be wrong."""

    table: str
    key: str
    found: str | None

    def line(self) -> str:
        """The item as a line of JSON."""
        return orjson.dumps({"table": self.table, "key": self.key, "found": self.found}).decode()


@dataclass(slots=True)
class RepairReport:
    """The result of a repair."""

    #: items saved, by table
    saved: dict[str, int] = field(default_factory=dict)
    #: how many of these came from the change log, an index, or orphaned pages
    recovered: dict[str, int] = field(default_factory=dict)
    lost: list[LostItem] = field(default_factory=list)
    #: items of tables and backups whose definition cannot be read, by name; they are in the file `aside_path`, not in the new database
    aside: dict[str, int] = field(default_factory=dict)
    #: what else is not in the new database, or may not be
    missing: list[str] = field(default_factory=list)
    #: what was done to read the rest
    notes: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether the new database has all that the damaged one had."""
        return not (self.lost or self.aside or self.missing)


def aside_path(target: str | PathLike[str]) -> Path:
    """The file beside a repaired database with the items that were set aside, in lines of JSON."""
    return Path(f"{os.fspath(target)}.aside.jsonl")


def repair(path: str | PathLike[str], target: str | PathLike[str]) -> RepairReport:
    """Write the intact parts of one file to another, which must not exist yet. No process may have the first one open."""
    source, place = Path(path), Path(target)
    if not source.is_file():
        raise EngineError("InternalServerError", f"{path} does not exist: name the file, or the folder, that an engine was opened on")
    if place.exists():
        raise EngineError("InternalServerError", f"{target} exists already: a repair writes a new file")
    if aside_path(place).exists():
        raise EngineError("InternalServerError", f"{aside_path(place)} exists already: move it away, or choose another target")
    files.make_folder(place.parent)
    report = RepairReport()
    with tempfile.TemporaryDirectory(prefix=".repair-", dir=place.parent) as folder:
        copy = _checkpointed_copy(source, Path(folder), report)
        _upgrade_if_intact(copy)
        draft, aside = Path(folder) / "repaired.db", Path(folder) / "aside.jsonl"
        files.make_file(aside)
        pages = Pages(copy, fix_bits=True)
        database = Database(str(draft))
        try:
            with database.write() as connection, aside.open("wb") as aside_file:
                _Repair(Salvage(pages), connection, report, aside_file).run()
            connection = database.connection
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if pages.fixed:
                report.notes.append(f"{len(pages.fixed)} damaged pages had a single wrong bit, which was corrected.")
        finally:
            pages.close()
            database.close()
        if aside.stat().st_size:
            aside.replace(aside_path(place))
        draft.replace(place)
    return report


def _upgrade_if_intact(copy: Path) -> None:
    """Bring a copy whose pages are intact to today's form. Of one with damage, the earlier form is read as far as possible."""
    pages = Pages(copy)
    try:
        intact = not pages.damaged()
    except MalformedPage:
        intact = False
    finally:
        pages.close()
    if intact:
        with suppress(EngineError, apsw.Error):
            database = Database(str(copy))
            try:
                Catalog(database)
            finally:
                database.close()


def _checkpointed_copy(source: Path, folder: Path, report: RepairReport) -> Path:
    """A copy of the file with the log checkpointed and the header restored."""
    copy = folder / "damaged.db"
    _copy_exclusively(source, copy)
    log = Path(f"{source}-wal")
    if log.is_file():
        shutil.copyfile(log, f"{copy}-wal")
    with copy.open("r+b") as file:
        if file.read(20) != HEADER[:20]:
            report.notes.append("The header of the file was damaged and was rewritten.")
            file.seek(0)
            file.write(HEADER)
    if not log.is_file() or log.stat().st_size == 0:
        return copy
    try:
        connection = apsw.Connection(str(copy), vfs=files.vfs())
        try:
            connection.execute("PRAGMA checksum_verification=OFF").fetchall()
            connection.execute("PRAGMA writable_schema=ON")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.close()
    except apsw.Error as error:
        report.missing.append(f"The latest writes, in the write-ahead log, could not be read: {error}.")
    return copy


def _copy_exclusively(source: Path, copy: Path) -> None:
    """Copy a database that nobody has open. Uses SQLite's VFS: closing a descriptor of our own would release this process's locks."""
    flags = apsw.SQLITE_OPEN_MAIN_DB | (apsw.SQLITE_OPEN_READWRITE if is_writable(source) else apsw.SQLITE_OPEN_READONLY)
    file = apsw.VFSFile("unix", str(source.resolve()), [flags, 0])
    try:
        file.xLock(apsw.SQLITE_LOCK_SHARED)
        if flags & apsw.SQLITE_OPEN_READWRITE:
            file.xLock(apsw.SQLITE_LOCK_EXCLUSIVE)
        with copy.open("wb") as new:
            left, at = file.xFileSize(), 0
            while left > 0:
                new.write(file.xRead(min(left, _COPY_CHUNK_BYTES), at))
                left, at = left - _COPY_CHUNK_BYTES, at + _COPY_CHUNK_BYTES
    except apsw.BusyError:
        raise EngineError("InternalServerError", f"{source} is in use: stop the processes that have it open, then repair it") from None
    finally:
        file.xUnlock(apsw.SQLITE_LOCK_NONE)
        file.xClose()


@dataclass(frozen=True, slots=True)
class _UnreadDefinition:
    """A table or backup whose definition cannot be read: its name, why, and what is stored."""

    name: str
    reason: str
    stored: bytes


class _Repair:
    """One repair: reads from a salvage, writes to a new file."""

    def __init__(self, salvage: Salvage, connection: apsw.Connection, report: RepairReport, aside: BinaryIO) -> None:
        self._salvage = salvage
        self._connection = connection
        self._report = report
        self._aside = aside
        self._changes = salvage.tree("changes")
        #: the latest item in the log for each row, if the log is intact
        self._latest: dict[tuple[int, bytes], bytes | None] = {}
        self._orphans: dict[bytes, list[Record]] = {}
        for record in salvage.orphans():
            if len(record[1]) == 3 and isinstance(record[1][0], bytes):
                self._orphans.setdefault(record[1][0], []).append(record)

    def run(self) -> None:
        """Copy everything."""
        if not self._salvage.schema_is_intact:
            self._report.missing.append("The list of SQLite's tables was damaged: compare the tables below with those that you expect.")
        self._copy_change_log()
        for name, numbered in _ENGINE_TABLES.items():
            self._copy_engine_table(name, self._salvage.tree(name), numbered)
        highest = 0
        for table in self._tables():
            highest = max(highest, table.id, *(index.id for index in table.indexes))
            self._copy_table(table)
        self._copy_backups()
        upgrades.complete_tokens(self._connection)
        values = {values[0]: values[1] for _, values in self._salvage.tree("meta").records if len(values) == 2}
        for name, least in (("next_id", highest + 1), ("catalog", 1)):
            known = values.get(name)
            value = max(least, known if isinstance(known, int) else 0)
            self._connection.execute("UPDATE meta SET value = ? WHERE name = ?", (value + (name == "catalog"), name))

    def _copy_engine_table(self, name: str, tree: SalvagedTree, numbered: bool) -> None:
        """Copy one of the engine's own tables."""
        for rowid, values in tree.records:
            row = (rowid, *values[1:]) if numbered else values
            with suppress(apsw.Error):
                self._connection.execute(f"INSERT OR IGNORE INTO {name} VALUES ({', '.join('?' * len(row))})", row)
        if tree.damaged:
            self._report.missing.append(f"Some entries of the engine's table {name} were lost.")

    def _copy_change_log(self) -> None:
        self._copy_engine_table("changes", self._changes, numbered=True)
        numbers = {values[0]: values[1] for _, values in self._salvage.tree("sqlite_sequence").records if len(values) == 2}
        for name in ("changes", "backups"):
            if isinstance(numbers.get(name), int):
                self._connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
                self._connection.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (name, numbers[name]))
        if not self._changes.damaged:
            for _, values in sorted(self._changes.records, key=lambda record: record[0] or 0):
                self._latest[values[1], values[3]] = values[5]

    def _tables(self) -> Iterator[Table]:
        """The tables whose definitions can be read, even from damaged pages. The items of the others are set aside."""
        catalog = self._salvage.tree("catalog")
        if catalog.damaged:
            self._report.missing.append("The catalog was damaged: compare the tables below, and their settings, with what you expect.")
        known: set[int] = set()
        unread: dict[int, _UnreadDefinition] = {}
        for sound, records in ((True, catalog.records), (False, catalog.suspects)):
            for rowid, values in records:
                number = rowid or 0
                table = self._read_definition(number, values, sound)
                if isinstance(table, _UnreadDefinition):
                    unread.setdefault(number, table)
                    continue
                if table.restoring:
                    self._report.missing.append(f"{table.name} was being restored, and is not complete: restore it again.")
                    known.add(table.id)
                    continue
                if table.id in known or (not sound and f"items_{table.id}" not in self._salvage.trees):
                    continue
                known.add(table.id)
                yield table
        dropped = {values[0] for _, values in self._salvage.tree("drops").records}
        trees = self._salvage.trees.keys() - dropped
        stored = {int(name[6:]) for name in trees if name.startswith("items_") and name[6:].isdigit()}
        for number in sorted((stored | unread.keys()) - known):
            lost = _UnreadDefinition(f"table number {number}", "its definition was lost", b"")
            self._set_aside(unread.get(number, lost), f"items_{number}")

    def _read_definition(self, number: int, values: tuple[Any, ...], sound: bool) -> "Table | _UnreadDefinition":
        """The table of an entry of the catalog. One that only another version can read is read as far as its rows confirm it."""
        try:
            table = load(values[4])
            Layout(table)
            return table
        except (EngineError, IndexError, TypeError, ValueError) as error:
            reason = str(error.message) if isinstance(error, EngineError) else repr(error)
        if len(values) != 5 or not all(isinstance(value, str) for value in values[1:4]) or not isinstance(values[4], bytes):
            return _UnreadDefinition(f"table number {number}", reason, b"")
        name = values[3]
        return (
            self._recover(values[4], number, values[1:4], f"items_{number}", reason, name)
            if sound
            else _UnreadDefinition(name, reason, values[4])
        )

    def _recover(
        self, definition: bytes, number: int | None, place: tuple[Any, ...], rows: str, reason: str, name: str
    ) -> "Table | _UnreadDefinition":
        """The table of a definition that `load` refuses, if all rows are where it says."""
        account, region, table_name = place
        try:
            recovered = recover(definition, number, Namespace(account, region), table_name)
            layout = Layout(recovered.table)
        except (EngineError, TypeError, ValueError):
            return _UnreadDefinition(name, reason, definition)
        if not all(_fits(layout, values) for _, values in self._salvage.tree(rows).records):
            return _UnreadDefinition(name, reason, definition)
        if recovered.renamed:
            self._report.notes.append(f"{name}: its definition was written by another version: {', '.join(recovered.renamed)}.")
        if recovered.missing:
            self._report.missing.append(f"{name}: its definition could not be read whole, and lacks {', '.join(recovered.missing)}.")
        return recovered.table

    def _set_aside(self, definition: "_UnreadDefinition", rows: str) -> None:
        """Write the rows of a table or a backup beside the new database, because its definition cannot be read."""
        tree = self._salvage.tree(rows)
        about = {"table": definition.name, "reason": definition.reason, "definition": definition.stored.decode("utf-8", "replace")}
        self._aside.write(orjson.dumps(about) + b"\n")
        taken = 0
        for damaged, records in ((False, tree.records), (True, tree.suspects)):
            for _, values in records:
                if len(values) == 3 and isinstance(values[0], bytes) and isinstance(values[2], bytes):
                    taken += 1
                    row = {"table": definition.name, "key": values[0].hex(), "item": _content(values[2])}
                    self._aside.write(orjson.dumps({**row, "damaged": True} if damaged else row) + b"\n")
        self._report.aside[definition.name] = self._report.aside.get(definition.name, 0) + taken
        self._report.missing.append(f"{definition.name} is not in the new database: {definition.reason}")
        if tree.damaged or rows not in self._salvage.trees:
            self._report.missing.append(f"Items of {definition.name} ({rows}) may be missing besides those that were set aside.")

    def _copy_table(self, table: Table) -> None:
        table = replace(table, indexes=tuple(replace(index, status="ACTIVE") for index in table.indexes), status="ACTIVE", copies=())
        rows, lost, recovered = self._rows(Layout(table), f"items_{table.id}")
        incomplete = bool(lost) or self._changes.damaged
        if incomplete and table.recovery_since is not None:
            table = replace(table, recovery_since=time.time())
            self._report.missing.append(f"{table.name} can be restored only to times after this repair: its change log is incomplete.")
        layout, connection = Layout(table), self._connection
        layout.create(connection)
        connection.executemany(f"INSERT INTO {layout.name} VALUES (?, ?, ?)", ((key, *row) for key, row in rows.items()))
        for index in layout.indexes:
            connection.executemany(index.insert, _entries(index, rows))
        expiry.index(connection, table)
        while expiry.fill(connection, table, throttle.SMALL_TABLE_ROWS):
            pass
        namespace = table.namespace
        connection.execute(
            "INSERT INTO catalog VALUES (?, ?, ?, ?, ?)", (table.id, namespace.account, namespace.region, table.name, dump(table))
        )
        if incomplete or changelog.complete_since(connection, table.id) is None:
            changelog.track(connection, table.id, logged=False)
            changelog.track(connection, table.id, table.logged)
        self._note(table.name, table, rows, lost, recovered)

    def _note(self, name: str, table: Table, rows: dict[bytes, Row], lost: dict[bytes, bytes | None], recovered: int) -> None:
        self._report.saved[name] = len(rows)
        if recovered:
            self._report.recovered[name] = recovered
        for key, found in sorted(lost.items()):
            self._report.lost.append(LostItem(name, format_key(table, key), None if found is None else found.decode("utf-8", "replace")))

    def _rows(self, layout: Layout, name: str) -> tuple[dict[bytes, Row], dict[bytes, bytes | None], int]:
        """The rows that can be saved, the keys of lost rows with the data found in their place, and how many rows came from elsewhere."""
        tree = self._salvage.tree(name)
        order = self._salvage.tree(f"sqlite_autoindex_{name}_1")
        rows: dict[bytes, Row] = {}
        doubtful: dict[bytes, bytes | None] = {}
        for _, values in tree.records:
            if _fits(layout, values):
                rows[values[0]] = values[1], values[2]
            elif isinstance(values[0], bytes):
                doubtful[values[0]] = values[2] if len(values) > 2 and isinstance(values[2], bytes) else None
        for _, values in tree.suspects:
            if len(values) == 3 and isinstance(values[0], bytes) and keys.parse(layout.table.keys.attributes, values[0]):
                doubtful.setdefault(values[0], values[2] if isinstance(values[2], bytes) else None)
        if tree.damaged and (order.damaged or name not in self._salvage.trees or f"sqlite_autoindex_{name}_1" not in self._salvage.trees):
            self._report.missing.append(f"Items of {layout.table.name} ({name}) may be missing besides those that are listed as lost.")
        numbers = {values[0]: values[1] for _, values in order.records if len(values) == 2}
        if numbers and not order.damaged:
            doubtful = {key: found for key, found in doubtful.items() if key in numbers}
        missing = {key: doubtful.get(key) for key in (*numbers, *doubtful) if key not in rows}
        found = {key: row for key in missing if (row := self._find_elsewhere(layout, key, numbers.get(key), missing[key])) is not None}
        rows |= found
        return rows, {key: suspect for key, suspect in missing.items() if key not in found}, len(found)

    def _find_elsewhere(self, layout: Layout, key: bytes, rowid: Any, suspect: bytes | None) -> Row | None:
        """A row from another source: an orphaned page, the change log, or an index that projects everything."""
        lying = {values[1:]: None for number, values in self._orphans.get(key, []) if number == rowid and _fits(layout, values)}
        if len(lying) == 1:
            return next(iter(lying))
        if layout.name == f"items_{layout.table.id}" and layout.table.logged:
            logged = self._latest.get((layout.table.id, key))
            if logged is not None and _fits(layout, (key, item_size(orjson.loads(logged)), logged)):
                return item_size(orjson.loads(logged)), logged
        return self._confirmed(layout, key, suspect)

    def _confirmed(self, layout: Layout, key: bytes, suspect: bytes | None) -> Row | None:
        """The data on a damaged page, if an index holds the same item with all of its attributes."""
        try:
            item = orjson.loads(suspect or b"")
            row = item_size(item), suspect or b""
        except (ValueError, TypeError, AttributeError, EngineError):
            return None
        if not _fits(layout, (key, *row)):
            return None
        for index in layout.indexes:
            if index.projected is not None and index.projected >= item.keys():
                for _, values in self._salvage.tree(index.name).records:
                    if len(values) == 4 and values[1] == key and isinstance(values[3], bytes) and orjson.loads(values[3]) == item:
                        return row
        return None

    def _copy_backups(self) -> None:
        tree = self._salvage.tree("backups")
        if tree.damaged:
            self._report.missing.append("The list of backups was damaged: some may be missing.")
        incomplete: set[str] = {values[0] for _, values in self._salvage.tree("copies").records}
        for rowid, values in tree.records:
            backup = f"backup_{rowid}"
            if backup in incomplete:
                self._report.missing.append(f"The backup {values[5]} of {values[3]} was in progress and is incomplete: create it again.")
                continue
            table = self._read_backup(rowid or 0, values)
            if isinstance(table, _UnreadDefinition):
                self._set_aside(table, backup)
                continue
            rows, lost, recovered = self._rows(Layout(table), f"backup_{rowid}")
            stored_backups.create_rows_table(self._connection, f"backup_{rowid}")
            self._connection.executemany(f"INSERT INTO backup_{rowid} VALUES (?, ?, ?)", ((key, *row) for key, row in rows.items()))
            sums = sum(size for size, _ in rows.values()), len(rows)
            marks = ", ".join("?" * 12)
            self._connection.execute(f"INSERT INTO backups VALUES ({marks})", (rowid, *table.namespace, *values[3:9], *sums, dump(table)))
            self._note(f"backup {values[5]} of {table.name}", table, rows, lost, recovered)
        listed = {f"backup_{rowid}" for rowid, _ in tree.records}
        for name in sorted(self._salvage.trees):
            if name.startswith("backup_") and name[7:].isdigit() and name not in listed | incomplete:
                self._set_aside(_UnreadDefinition(f"backup number {name[7:]}", "its entry in the list of backups was lost", b""), name)

    def _read_backup(self, number: int, values: tuple[Any, ...]) -> "Table | _UnreadDefinition":
        """The table of an entry of the list of backups."""
        try:
            return load(values[11])
        except EngineError as error:
            name = f"backup {values[5]} of {values[3]}"
            return self._recover(values[11], None, values[1:4], f"backup_{number}", str(error.message), name)
        except (IndexError, TypeError):
            return _UnreadDefinition(f"backup number {number}", "its entry in the list of backups is damaged", b"")


def _content(stored: bytes) -> Any:
    """A stored item, or the text in its place."""
    try:
        return orjson.loads(stored)
    except orjson.JSONDecodeError:
        return stored.decode("utf-8", "replace")


def _fits(layout: Layout, values: tuple[Any, ...]) -> bool:
    """Whether a record is a row of the table: an item with its key and its size."""
    try:
        key, size, stored = values
        item = orjson.loads(stored)
        return bool(layout.key(item) == key and item_size(item) == size)
    except (ValueError, TypeError, KeyError, AttributeError, EngineError):
        return False


def _entries(index: IndexLayout, rows: dict[bytes, Row]) -> Iterable[tuple[Any, ...]]:
    for key, (size, stored) in rows.items():
        item = orjson.loads(stored)
        place = index.key(item)
        if place is not None:
            yield place, key, *index.entry(item, size)
