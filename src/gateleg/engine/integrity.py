"""The integrity of a file: check it as a whole, compact it, and name the table and the key when a request meets damage.

A check finds corrupt pages, and contradictions: keys must match rows, indexes must match tables, and the change log the rows.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import apsw
import orjson

from gateleg.engine import changelog, expiry, files, keys, stored_backups
from gateleg.engine.catalog import Catalog
from gateleg.engine.database import Database
from gateleg.engine.errors import EngineError
from gateleg.engine.file_format import load_table, record_checksums
from gateleg.engine.files import NeedsUpgrade, read_only_access
from gateleg.engine.layout import IndexLayout, Layout, key_item
from gateleg.engine.schema import Table
from gateleg.engine.sqlite_pages import MalformedPage, Pages
from gateleg.engine.values import Item, item_size

#: Damaged pages to list individually.
_MAX_REPORTED_PAGES = 20
ADVICE = "Run `gateleg engine check` to see what else is damaged, and `gateleg engine repair` to recover the rest"


def check_integrity(path: str | PathLike[str]) -> list[str]:
    """The faults of a file, one sentence each; empty if there are none. Reads one snapshot, while others may keep writing.

    Writes nothing, so the file may be on read-only media. Damage is reported like any other fault; the check continues with what can still
    be read. Of a file in an earlier form, an upgraded copy is checked.
    """
    path = os.fspath(path)
    _must_exist(path)
    if not Path(path).stat().st_size:
        return []  # the first process that opens it makes a database of it
    damaged = damaged_pages(path)
    faults = [f"page {number} is corrupt" for number in damaged[:_MAX_REPORTED_PAGES]]
    if len(damaged) > _MAX_REPORTED_PAGES:
        faults.append(f"{len(damaged) - _MAX_REPORTED_PAGES} more pages are corrupt")
    try:
        return faults + _logical_faults(path, bool(damaged))
    except NeedsUpgrade:
        with tempfile.TemporaryDirectory(prefix="gateleg-check-") as folder:
            copy = Path(folder) / "copy.db"
            try:
                _copy(path, copy)
                upgrade(str(copy))
                return faults + _logical_faults(str(copy), bool(damaged))
            except apsw.Error as error:
                return [*faults, f"SQLite: {error}"]
    except EngineError as error:
        if not damaged:
            raise
        return [*faults, str(error.message)]


def _logical_faults(path: str, damaged: bool) -> list[str]:
    """The faults of what the pages of a file hold."""
    faults: list[str] = []
    database = Database(path, read_only=True)
    try:
        with database.snapshot() as connection:
            faults.extend(_until_unreadable("The catalog", _faults(connection, database, damaged)))
    except apsw.Error as error:
        faults.append(f"SQLite: {error}")
    finally:
        database.close()
    return faults


def _faults(connection: apsw.Connection, database: Database, damaged: bool) -> Iterator[str]:
    yield from _until_unreadable("SQLite", _sqlite_faults(connection))
    layouts = Catalog(database).cached_layouts()
    for layout in layouts:
        name = layout.table.name
        if damaged:
            yield from _until_unreadable(name, _unreadable_items(connection, layout))
        yield from _until_unreadable(name, _row_faults(connection, layout))
        for index in layout.indexes:
            if index.index.status != "CREATING":
                yield from _until_unreadable(f"{name}.{index.index.name}", _index_faults(connection, layout, index))
        yield from _until_unreadable(name, _expiry_faults(connection, layout))
        yield from _until_unreadable(name, _log_faults(connection, layout))
    yield from _until_unreadable("backups", _backup_faults(connection))


def _until_unreadable(where: str, faults: Iterator[str]) -> Iterator[str]:
    """Yield faults up to the first thing that cannot be read, and a fault for that."""
    try:
        yield from faults
    except apsw.Error as error:
        yield f"{where}: {'a page is corrupt' if is_damage(error) else error}"
    except NeedsUpgrade:
        raise
    except EngineError as error:
        yield f"{where}: {error.message}"
    except (ValueError, TypeError, KeyError, AttributeError, LookupError) as error:
        # Corrupt data can raise anything.
        yield f"{where}: the stored data cannot be decoded: {error!r}"


def _sqlite_faults(connection: apsw.Connection) -> Iterator[str]:
    for (line,) in connection.execute("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield f"SQLite: {line}"


def _unreadable_items(connection: apsw.Connection, layout: Layout) -> Iterator[str]:
    """The items on damaged pages. Their keys are also in the key index, which is read here."""
    keys: list[Any] = connection.execute(f"SELECT k FROM {layout.name} ORDER BY k").fetchall()
    for (key,) in keys:
        try:
            connection.execute(layout.get, (key,)).fetchone()
        except apsw.Error:
            yield f"{layout.table.name}: the item {format_key(layout.table, key)} cannot be read"


def _row_faults(connection: apsw.Connection, layout: Layout) -> Iterator[str]:
    name = layout.table.name
    for key, size, item in _rows(connection, layout):
        if item is None:
            yield f"{name}: the row {key.hex()} cannot be read"
            continue
        if layout.key(item) != key:
            yield f"{name}: the row of {_format_item_key(layout, item)} is stored under another key"
        if item_size(item) != size:
            yield f"{name}: {_format_item_key(layout, item)} has {item_size(item)} bytes but is recorded with {size}"


def _index_faults(connection: apsw.Connection, layout: Layout, index: IndexLayout) -> Iterator[str]:
    where = f"{layout.table.name}.{index.index.name}"
    expected = 0
    for key, _, item in _rows(connection, layout):
        place = index.key(item) if item is not None else None
        if item is None or place is None:
            continue
        row = connection.execute(f"SELECT size, v FROM {index.name} WHERE k = ? AND b = ?", (place, key)).fetchone()
        if row is None:
            yield f"{where}: {_format_item_key(layout, item)} is missing"
            continue
        expected += 1
        if index.projected is not None:
            entry = index.project(item)
            if orjson.loads(row[1]) != entry:
                yield f"{where}: {_format_item_key(layout, item)} is out of date"
            elif row[0] != item_size(entry):
                yield f"{where}: {_format_item_key(layout, item)} has {item_size(entry)} bytes but is recorded with {row[0]}"
    (entries,) = connection.execute(f"SELECT count(*) FROM {index.name}").fetchone() or (0,)
    if entries > expected:
        yield f"{where}: {entries - expected} entries have no item"


def _expiry_faults(connection: apsw.Connection, layout: Layout) -> Iterator[str]:
    missing, astray = expiry.faults(connection, layout.table)
    if missing:
        yield f"{layout.table.name}: {missing} items would not expire: the expiry index lacks them"
    if astray:
        yield f"{layout.table.name}: {astray} entries of the expiry index have no item"


def _log_faults(connection: apsw.Connection, layout: Layout) -> Iterator[str]:
    """Check that the log replays to the table: each change begins where the one before ended, and the last ends in the row."""
    start = changelog.complete_since(connection, layout.table.id)
    if start is None:
        return
    latest: dict[bytes, bytes | None] = {}
    rows = connection.execute("SELECT seq, k, old, new FROM changes WHERE table_id = ? AND seq >= ? ORDER BY seq", (layout.table.id, start))
    for seq, key, old, new in rows:
        if key in latest and _item(latest[key]) != _item(old):
            yield f"{layout.table.name}: change {seq} does not follow from the one before it"
        latest[key] = new
    for key, stored in latest.items():
        row = connection.execute(layout.get, (key,)).fetchone()
        if _item(stored) != _item(row[1] if row else None):
            yield f"{layout.table.name}: the change log does not end with the current row"


def _backup_faults(connection: apsw.Connection) -> Iterator[str]:
    rows: list[Any] = connection.execute("SELECT id, name, definition FROM backups").fetchall()
    for number, name, definition in rows:
        table = load_table(definition)
        yield from _until_unreadable(f"backup {name} of {table.name}", _backup_row_faults(connection, number, name, Layout(table)))


def _backup_row_faults(connection: apsw.Connection, number: int, name: str, layout: Layout) -> Iterator[str]:
    for key, size, stored in connection.execute(f"SELECT k, size, v FROM backup_{number}"):
        item = orjson.loads(stored)
        if layout.key(item) != key or item_size(item) != size:
            yield f"backup {name} of {layout.table.name}: the item {format_key(layout.table, key)} is corrupt"


def _rows(connection: apsw.Connection, layout: Layout) -> Iterator[tuple[bytes, int, Item | None]]:
    """The rows of a table; no item where the stored value is not one."""
    for key, size, stored in connection.execute(layout.select):
        try:
            item = orjson.loads(stored)
        except orjson.JSONDecodeError:
            item = None
        yield key, size, item


def _item(stored: bytes | None) -> object:
    try:
        return None if stored is None else orjson.loads(stored)
    except orjson.JSONDecodeError:
        return stored


def _format_item_key(layout: Layout, item: dict[str, object]) -> str:
    return orjson.dumps({name: item.get(name) for name in layout.table.keys.names}).decode()


def _copy(path: str, copy: Path) -> None:
    """A copy of a database that others may be writing to."""
    access = read_only_access(path, force=True)
    if access is None:
        return  # an empty file, as an interrupted creation leaves it
    source = access.connect(apsw.Connection, files.vfs())
    target = apsw.Connection(str(copy), vfs=files.vfs())
    try:
        with target.backup("main", source, "main") as backup:
            backup.step()
    finally:
        source.close()
        target.close()


def upgrade(path: str) -> None:
    """Bring a file to today's form."""
    database = Database(path)
    try:
        Catalog(database)
    finally:
        database.close()


def damaged_pages(path: str) -> list[int]:
    """The corrupt pages of a file; none if they cannot even be counted."""
    pages = Pages(Path(path))
    try:
        return pages.damaged()
    except MalformedPage:
        return []
    finally:
        pages.close()


def has_checksums(path: str | PathLike[str]) -> bool:
    """Whether a file has page checksums. Files of earlier versions have none until they are compacted."""
    pages = Pages(Path(path))
    try:
        return pages.has_checksums
    finally:
        pages.close()


def compact(path: str | PathLike[str]) -> tuple[int, int]:
    """Return free pages to the file system, and add checksums to a file without; returns the file's size before and after.

    No other process may have the file open: rewriting takes long, and writers would have to wait.
    """
    path = os.fspath(path)
    _must_exist(path)
    database = Database(path)
    try:
        database.require_writable()
        connection = database.connection
        connection.set_busy_timeout(1000)
        before = _bytes(path)
        try:
            # Only the sole user of a file can leave WAL mode; others then wait to open it until WAL is back.
            connection.execute("PRAGMA journal_mode=DELETE").fetchall()
            try:
                _finish_copies_and_restart_backfills(database)
                _rewrite(connection)
            finally:
                connection.execute("PRAGMA journal_mode=WAL").fetchall()
        except apsw.BusyError:
            raise EngineError("InternalServerError", f"{path} is in use: stop the processes that have it open, then compact it") from None
        except apsw.Error as error:
            raise files.translate(error) from error
        return before, _bytes(path)
    finally:
        database.close()


def _finish_copies_and_restart_backfills(database: Database) -> None:
    """Complete backups and restores and restart backfills: their progress is a rowid, which VACUUM may change."""
    catalog = Catalog(database)
    with database.write() as connection:
        stored_backups.finish_copies(catalog, connection)
        # Deleting the rows would pass for complete indexes of expiries.
        connection.execute("UPDATE backfills SET place = 0")


def _rewrite(connection: apsw.Connection) -> None:
    """Rewrite the file with checksums."""
    if files.has_checksums(connection):
        connection.execute("VACUUM")
        return
    files.reserve(connection)
    connection.execute("VACUUM")
    record_checksums(connection)


def _must_exist(path: str) -> None:
    if not Path(path).is_file():
        raise EngineError("InternalServerError", f"{path} does not exist: name the file, or the folder, that an engine was opened on")


def _bytes(path: str) -> int:
    return sum(p.stat().st_size for p in (Path(path), Path(f"{path}-wal")) if p.exists())


def is_damage(error: BaseException) -> bool:
    """Whether an error means that the file is corrupt."""
    return files.is_damage(error) or isinstance(error, orjson.JSONDecodeError)


def format_key(table: Table, key: bytes) -> str:
    """A row key in readable form: the attributes it encodes."""
    item = keys.parse(table.keys.attributes, key)
    return f"row {key.hex()}" if item is None else orjson.dumps(item).decode()


def damaged_item(table: Table, key: bytes) -> EngineError:
    """The error for an item that cannot be read."""
    return EngineError("InternalServerError", f"Table {table.name}: the item {format_key(table, key)} is damaged on the disk. {ADVICE}")


def damaged_tables(names: Iterable[str]) -> EngineError:
    """The error for damage outside the requested items: in the key index or in a secondary index."""
    listed = ", ".join(sorted(set(names)))
    where = f"of {listed} " if listed else ""
    return EngineError("InternalServerError", f"The database file is damaged: a page {where}is corrupt. {ADVICE}")


def explain(layouts: dict[str, Layout], connection: apsw.Connection, request: Any) -> EngineError:
    """The error for a request that met damage; it tries the requested items one by one to find the damaged one."""
    named = list(_named_items(request, layouts)) if isinstance(request, dict) else []
    for layout, key in named:
        try:
            row = connection.execute(layout.get, (key,)).fetchone()
            orjson.loads(row[1] if row else b"{}")
        except (apsw.Error, orjson.JSONDecodeError) as error:
            if is_damage(error):
                return damaged_item(layout.table, key)
    return damaged_tables(_named_tables(request))


def _named_tables(request: Any) -> Iterator[str]:
    """The values of `TableName`, and the keys of `RequestItems`, anywhere in a request."""
    if isinstance(request, dict):
        for name, value in request.items():
            if name in ("TableName", "SourceTableName") and isinstance(value, str):
                yield value
            elif name == "RequestItems" and isinstance(value, dict):
                yield from value
            elif name == "TransactItems" or name in ("Get", "Put", "Update", "Delete", "ConditionCheck"):
                yield from _named_tables(value)
    elif isinstance(request, list):
        for member in request:
            yield from _named_tables(member)


def _named_items(request: dict[str, Any], layouts: dict[str, Layout]) -> Iterator[tuple[Layout, bytes]]:
    """The items that a request names by key."""
    for table, item in _keys_in(request):
        layout = layouts.get(table.rpartition("/")[2])
        try:
            if layout is not None:
                yield layout, layout.key(key_item(layout.table.keys, item))
        except (KeyError, TypeError, AttributeError, EngineError):
            continue  # not a valid key of this table


def _keys_in(request: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(request.get("TableName"), str):
        yield from ((request["TableName"], request[name]) for name in ("Key", "Item") if name in request)
    for action in request.get("TransactItems") or []:
        for part in action.values():
            yield from _keys_in(part)
    for table, actions in (request.get("RequestItems") or {}).items():
        if isinstance(actions, dict):
            yield from ((table, key) for key in actions.get("Keys") or [])
        else:
            for action in actions:
                yield from ((table, part[name]) for part in action.values() for name in ("Key", "Item") if name in part)
