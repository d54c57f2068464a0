"""Repair: copy what can be saved of a damaged file to a new one. The damaged file is only read.

SQLite gives up on a table at the first page that it cannot read. Here every page is read by itself (`sqlite_pages`), trees are followed
through damaged pages, and a row that is damaged is looked for where the file holds it again: on pages that no tree refers to any more, in
the change log, in an index with all attributes. Only items whose key and size are right get into the new file.

All else is named: lost items, lists that may be incomplete, and what is set aside because its definition cannot be read.
"""

import math
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import apsw
import orjson

from gateleg.engine import backfill, changelog, expiry, files, keys, long_work, stored_backups
from gateleg.engine.catalog import complete_tokens
from gateleg.engine.database import Database
from gateleg.engine.errors import EngineError
from gateleg.engine.file_format import dump_table, load_table, recover_table
from gateleg.engine.integrity import damaged_pages, format_key, upgrade
from gateleg.engine.layout import Layout
from gateleg.engine.schema import Namespace, Table
from gateleg.engine.sqlite_pages import HEADER, Pages, Record, Trees
from gateleg.engine.values import item_size
from gateleg.private_files import make_file, make_folder

#: What stored data that is wrong can raise.
_CORRUPT = (ValueError, TypeError, LookupError, AttributeError, EngineError)
Row = tuple[int, bytes]  # size and content


@dataclass(frozen=True, slots=True)
class LostItem:
    """An item that could not be saved: table (or backup), key, and the data found in its place, which may be wrong."""

    table: str
    key: str
    found: str | None


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
    source, place, report = Path(path), Path(target), RepairReport()
    if not source.is_file():
        raise EngineError("InternalServerError", f"{path} does not exist: name the file, or the folder, that an engine was opened on")
    for taken, advice in ((place, "a repair writes a new file"), (aside_path(place), "move it away, or choose another target")):
        if taken.exists():
            raise EngineError("InternalServerError", f"{taken} exists already: {advice}")
    make_folder(place.parent)
    with tempfile.TemporaryDirectory(prefix=".repair-", dir=place.parent) as folder:
        copy, draft, aside = (Path(folder) / name for name in ("damaged.db", "repaired.db", "aside.jsonl"))
        _copy_with_log(source, copy, report)
        make_file(aside)
        with closing(Pages(copy, fix_bits=True)) as pages, closing(Database(str(draft))) as database:
            if not pages.count:
                raise EngineError("InternalServerError", f"{source} has no whole page: there is nothing to save. Restore a copy of it")
            with database.write() as connection, aside.open("wb") as aside_file:
                _Repair(Trees(pages), connection, report, aside_file).run()
            database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if pages.fixed:
                report.notes.append(f"{len(pages.fixed)} damaged pages had a single wrong bit, which was corrected.")
        if aside.stat().st_size:
            aside.replace(aside_path(place))
        draft.replace(place)
    return report


def _copy_with_log(source: Path, copy: Path, report: RepairReport) -> None:
    """Copy the file, rewrite a damaged header, and checkpoint the log. A copy without damage is brought to today's form."""
    files.copy_exclusively(source, copy)
    with copy.open("r+b") as file:
        if file.read(20) != HEADER[:20]:
            report.notes.append("The header of the file was damaged and was rewritten.")
            file.seek(0)
            file.write(HEADER)
    log = Path(f"{source}-wal")
    if log.is_file() and log.stat().st_size:
        shutil.copyfile(log, f"{copy}-wal")
        try:
            with closing(apsw.Connection(str(copy), vfs=files.vfs())) as connection:
                connection.execute("PRAGMA checksum_verification=OFF; PRAGMA writable_schema=ON").fetchall()
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except apsw.Error as error:
            report.missing.append(f"The latest writes, in the write-ahead log, could not be read: {error}.")
    if not damaged_pages(str(copy)):
        with suppress(EngineError, apsw.Error):
            upgrade(str(copy))


class _Repair:
    """One repair: reads the trees of the damaged file, writes to a new one."""

    def __init__(self, trees: Trees, connection: apsw.Connection, report: RepairReport, aside: BinaryIO) -> None:
        self._trees = trees
        self._connection = connection
        self._report = report
        self._missing = report.missing.append
        self._aside = aside
        self._changes = trees.tree("changes")
        #: the latest item in the log for each row; none where the log has gaps
        self._latest: dict[tuple[Any, ...], bytes | None] = {}
        starts = {} if self._changes.damaged else {rowid: values[1] for rowid, values in trees.tree("logs").records}
        for number, values in sorted(self._changes.records, key=lambda record: record[0] or 0):
            if len(values) > 5 and (number or 0) >= starts.get(values[1], math.inf):
                self._latest[values[1], values[3]] = values[5]
        #: the SQLite tables of rows that have been dealt with, and those whose definition cannot be read, with what is known of it
        self._known: set[str] = set()
        self._unread: dict[str, dict[str, str]] = {}

    def run(self) -> None:
        """Copy everything."""
        if not self._trees.schema_is_intact:
            self._missing("The list of SQLite's tables was damaged: compare the tables below with those that you expect.")
        for name in ("changes", "logs", "streams", "transfers", "tokens"):
            self._copy_engine_table(name)
        for name, last in self._trees.tree("sqlite_sequence").numbers().items():
            self._connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
            self._connection.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (name, last))
        next_id = self._trees.tree("meta").numbers().get("next_id", 1)
        for table in self._tables():
            next_id = max(next_id, table.id + 1, *(index.id + 1 for index in table.indexes))
            self._copy_table(table)
        self._copy_backups()
        self._set_rows_aside()
        complete_tokens(self._connection)
        self._connection.execute("UPDATE meta SET value = ? WHERE name = 'next_id'", (next_id,))
        self._connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'catalog'")

    def _copy_engine_table(self, name: str) -> None:
        tree = self._trees.tree(name)
        for rowid, values in tree.records:
            row = (rowid, *values[1:]) if values[0] is None else values
            try:
                self._connection.execute(f"INSERT OR IGNORE INTO {name} VALUES ({', '.join('?' * len(row))})", row)
            except apsw.Error:
                tree.damaged = True
        if tree.damaged:
            self._missing(f"Some entries of the engine's table {name} were lost.")

    def _tables(self) -> Iterator[Table]:
        """The tables whose definitions can be read, even from damaged pages."""
        catalog = self._trees.tree("catalog")
        if catalog.damaged:
            self._missing("The catalog was damaged: compare the tables below, and their settings, with what you expect.")
        for sound, records in ((True, catalog.records), (False, catalog.suspects)):
            for number, values in _entries(records, 5):
                table = self._definition(values, f"items_{number}", values[3], number, believe=sound)
                rows = f"items_{table.id}" if table else ""
                if table is None or rows in self._known or (not sound and rows not in self._trees.by_name):
                    continue
                self._known.add(rows)
                if not table.restoring:
                    yield table
                    continue
                self._missing(f"{table.name} was being restored, and is not complete: restore it again.")

    def _definition(self, values: tuple[Any, ...], rows: str, name: str, number: int | None, *, believe: bool = True) -> Table | None:
        """The table of an entry of the catalog or of the list of backups, whose last column is the definition; None if it cannot be read.

        A definition that `load` refuses is read as far as possible, and believed if all rows are where it says.
        """
        stored = values[-1]
        try:
            Layout(table := load_table(stored))
            return table
        except _CORRUPT as error:
            reason = str(error.message) if isinstance(error, EngineError) else repr(error)
        self._unread.setdefault(rows, {"table": name, "reason": reason, "definition": stored.decode("utf-8", "replace")})
        try:
            recovered = recover_table(stored, number, Namespace(*values[1:3]), values[3])
            layout = Layout(recovered.table)
        except _CORRUPT:
            return None
        if not believe or not all(_fits(layout, row) for _, row in self._trees.tree(rows).records):
            return None
        if recovered.renamed:
            self._report.notes.append(f"{name}: its definition was written by another version: {', '.join(recovered.renamed)}.")
        if recovered.missing:
            self._missing(f"{name}: its definition could not be read whole, and lacks {', '.join(recovered.missing)}.")
        return recovered.table

    def _copy_table(self, table: Table) -> None:
        table = replace(table, status="ACTIVE", copies=())
        layout, connection = Layout(table), self._connection
        rows, incomplete = self._rows(layout, layout.name, table.name)
        incomplete = incomplete or self._changes.damaged
        if incomplete and table.recovery_since is not None:
            table = replace(table, recovery_since=time.time())
            self._missing(f"{table.name} can be restored only to times after this repair: its change log is incomplete.")
        layout.create(connection)
        connection.executemany(f"INSERT INTO {layout.name} VALUES (?, ?, ?)", ((key, *row) for key, row in rows.items()))
        table = backfill.rebuild(connection, table)
        expiry.index(connection, table)
        while expiry.fill(connection, table, long_work.SMALL_TABLE_ROWS):
            pass
        connection.execute("INSERT INTO catalog VALUES (?, ?, ?, ?, ?)", (table.id, *table.namespace, table.name, dump_table(table)))
        if incomplete or changelog.complete_since(connection, table.id) is None:
            changelog.track_log(connection, table.id, logged=False)
            changelog.track_log(connection, table.id, table.logged)

    def _copy_backups(self) -> None:
        tree = self._trees.tree("backups")
        if tree.damaged:
            self._missing("The list of backups was damaged: some may be missing.")
        unfinished = {values[0] for _, values in self._trees.tree("copies").records}
        for number, values in _entries(tree.records, 12):
            stored, name = f"backup_{number}", f"backup {values[5]} of {values[3]}"
            if stored in unfinished:
                self._known.add(stored)
                self._missing(f"The {name} was in progress and is incomplete: create it again.")
            elif (table := self._definition(values, stored, name, None)) is not None:
                self._known.add(stored)
                rows, _ = self._rows(Layout(table), stored, name)
                stored_backups.create_rows_table(self._connection, stored)
                self._connection.executemany(f"INSERT INTO {stored} VALUES (?, ?, ?)", ((key, *row) for key, row in rows.items()))
                entry = (number, *table.namespace, *values[3:9], sum(size for size, _ in rows.values()), len(rows), dump_table(table))
                self._connection.execute(f"INSERT INTO backups VALUES ({', '.join('?' * 12)})", entry)

    def _set_rows_aside(self) -> None:
        """Write the rows of tables and backups without a readable definition beside the new database, each after what is known of it."""
        dropped = {values[0] for _, values in self._trees.tree("drops").records}
        stored = {name for name in self._trees.by_name if re.fullmatch(r"(items|backup)_\d+", name)}
        for rows in sorted((stored - dropped | self._unread.keys()) - self._known):
            name = rows.replace("items_", "table number ").replace("backup_", "backup number ")
            lost = {"table": name, "reason": "its definition was lost", "definition": ""}
            tree, about = self._trees.tree(rows), self._unread.get(rows, lost)
            name, lines = about["table"], []
            for mark, records in (({}, tree.records), ({"damaged": True}, tree.suspects)):
                for _, values in records:
                    if len(values) == 3 and isinstance(values[0], bytes) and isinstance(values[2], bytes):
                        lines.append({"table": name, "key": values[0].hex(), "item": _content(values[2]), **mark})
            self._aside.writelines(orjson.dumps(line) + b"\n" for line in (about, *lines))
            self._report.aside[name] = self._report.aside.get(name, 0) + len(lines)
            self._missing(f"{name} is not in the new database: {about['reason']}")
            if tree.damaged or rows not in stored:
                self._missing(f"Items of {name} ({rows}) may be missing besides those that were set aside.")

    def _rows(self, layout: Layout, stored: str, name: str) -> tuple[dict[bytes, Row], bool]:
        """The rows of a table or a backup that can be saved, and whether any is lost; the report names these."""
        tree, order = self._trees.tree(stored), self._trees.tree(f"sqlite_autoindex_{stored}_1")
        rows: dict[bytes, Row] = {}
        suspects: dict[bytes, bytes | None] = {}
        for sound, records in ((True, tree.records), (False, tree.suspects)):
            for _, values in records:
                if sound and _fits(layout, values):
                    rows[values[0]] = values[1], values[2]
                elif isinstance(values[0], bytes) and (sound or keys.parse(layout.table.keys.attributes, values[0])):
                    suspects.setdefault(values[0], values[2] if len(values) == 3 and isinstance(values[2], bytes) else None)
        if tree.damaged and (order.damaged or not order.pages):
            self._missing(f"Items of {name} ({stored}) may be missing besides those that are listed as lost.")
        numbers = order.numbers()
        if numbers and not order.damaged:
            suspects = {key: suspect for key, suspect in suspects.items() if key in numbers}
        missing = sorted({*numbers, *suspects} - rows.keys())
        for key in missing:
            suspect = suspects.get(key)
            if row := self._find_elsewhere(layout, stored, key, numbers.get(key), suspect):
                rows[key] = row
                self._report.recovered[name] = self._report.recovered.get(name, 0) + 1
            else:
                text = None if suspect is None else suspect.decode("utf-8", "replace")
                self._report.lost.append(LostItem(name, format_key(layout.table, key), text))
        self._report.saved[name] = len(rows)
        return rows, not rows.keys() >= {*missing}

    def _find_elsewhere(self, layout: Layout, stored: str, key: bytes, number: int | None, suspect: bytes | None) -> Row | None:
        """A row from an orphaned page, from the change log, or from a damaged page if an index holds the same item whole."""
        orphans = {values[1:] for rowid, values in self._trees.orphans.get(key, []) if rowid == number and _fits(layout, values)}
        if len(orphans) == 1:
            return orphans.pop()
        # The log has the latest items, which are not those of a backup.
        latest = self._latest.get((layout.table.id, key)) if stored == layout.name else None
        if row := _row(layout, key, latest or b""):
            return row
        row = _row(layout, key, suspect or b"")
        item = orjson.loads(row[1]) if row else {}
        for index in layout.indexes if row else ():
            if index.projected is not None and index.projected >= item.keys():
                for _, values in self._trees.tree(index.name).records:
                    if len(values) == 4 and values[1] == key and isinstance(values[3], bytes) and orjson.loads(values[3]) == item:
                        return row
        return None


def _entries(records: Iterable[Record], width: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The entries of the catalog or of the list of backups that are whole: namespace and name of a table, and a definition at the end."""
    for rowid, values in records:
        if len(values) == width and all(isinstance(value, str) for value in values[1:4]) and isinstance(values[-1], bytes):
            yield rowid or 0, values


def _content(stored: bytes) -> Any:
    """A stored item, or the text in its place."""
    try:
        return orjson.loads(stored)
    except orjson.JSONDecodeError:
        return stored.decode("utf-8", "replace")


def _row(layout: Layout, key: Any, stored: bytes) -> Row | None:
    """The row of a stored item; None if it is no item with that key."""
    try:
        item = orjson.loads(stored)
        return (item_size(item), stored) if layout.key(item) == key else None
    except _CORRUPT:
        return None


def _fits(layout: Layout, values: tuple[Any, ...]) -> bool:
    """Whether a record is a row of the table: an item with its key and its size."""
    return len(values) == 3 and _row(layout, values[0], values[2]) == values[1:]
