"""Verify and shrink a file: rows agree with their keys, indexes with their tables, the log of changes with the rows."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import orjson

from gateleg.engine import changelog
from gateleg.engine.catalog import Catalog
from gateleg.engine.database import Database
from gateleg.engine.entries import IndexLayout
from gateleg.engine.errors import EngineError
from gateleg.engine.layout import Layout
from gateleg.engine.values import Item, item_size


def check(path: str) -> list[str]:
    """The faults of a file, in plain words; none if it is whole. Everything is read at one moment, while others may go on writing."""
    _must_exist(path)
    database = Database(path)
    found: list[str] = []
    try:
        with database.snapshot() as connection:
            found.extend(_faults(connection, database))
    except apsw.Error as error:
        found.append(f"SQLite: {error}")
    finally:
        database.close()
    return found


def compact(path: str) -> tuple[int, int]:
    """Give free pages back to the disk; the file's bytes before and after. No other process may be writing."""
    _must_exist(path)
    database = Database(path)
    try:
        connection = database.connection
        connection.set_busy_timeout(1000)
        before = _bytes(path)
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except apsw.BusyError:
            raise EngineError("InternalServerError", f"{path} is in use: stop the processes that have it open, then compact it") from None
        return before, _bytes(path)
    finally:
        database.close()


def _must_exist(path: str) -> None:
    if not Path(path).is_file():
        raise EngineError("InternalServerError", f"{path} does not exist: name the file, or the folder, that an engine was opened on")


def _bytes(path: str) -> int:
    return sum(p.stat().st_size for p in (Path(path), Path(f"{path}-wal")) if p.exists())


def _faults(connection: apsw.Connection, database: Database) -> Iterator[str]:
    for (line,) in connection.execute("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield f"SQLite: {line}"
    for layout in Catalog(database).known():
        yield from _row_faults(connection, layout)
        for index in layout.indexes:
            if index.index.status != "CREATING":
                yield from _index_faults(connection, layout, index)
        yield from _log_faults(connection, layout)


def _row_faults(connection: apsw.Connection, layout: Layout) -> Iterator[str]:
    name = layout.table.name
    for key, size, item in _rows(connection, layout):
        if item is None:
            yield f"{name}: the row {key.hex()} cannot be read"
            continue
        if layout.key(item) != key:
            yield f"{name}: the row of {_spelled(layout, item)} lies under another key"
        if item_size(item) != size:
            yield f"{name}: {_spelled(layout, item)} has {item_size(item)} bytes but is counted with {size}"


def _index_faults(connection: apsw.Connection, layout: Layout, index: IndexLayout) -> Iterator[str]:
    where = f"{layout.table.name}.{index.index.name}"
    expected = 0
    for key, _, item in _rows(connection, layout):
        place = index.key(item) if item is not None else None
        if item is None or place is None:
            continue
        row = connection.execute(f"SELECT size, v FROM {index.name} WHERE k = ? AND b = ?", (place, key)).fetchone()
        if row is None:
            yield f"{where}: {_spelled(layout, item)} is missing"
            continue
        expected += 1
        if index.projected is not None:
            entry = index.project(item)
            if orjson.loads(row[1]) != entry:
                yield f"{where}: {_spelled(layout, item)} is out of date"
            elif row[0] != item_size(entry):
                yield f"{where}: {_spelled(layout, item)} has {item_size(entry)} bytes but is counted with {row[0]}"
    (found,) = connection.execute(f"SELECT count(*) FROM {index.name}").fetchone() or (0,)
    if found > expected:
        yield f"{where}: {found - expected} entries have no item"


def _log_faults(connection: apsw.Connection, layout: Layout) -> Iterator[str]:
    """The log replays to the table: each change begins where the one before it ended, and the last ends in the row."""
    start = changelog.unbroken_since(connection, layout.table.id)
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
            yield f"{layout.table.name}: the log of changes does not end in the row that is there"


def _rows(connection: apsw.Connection, layout: Layout) -> Iterator[tuple[bytes, int, Item | None]]:
    """The rows of a table; no item where what is stored is none."""
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


def _spelled(layout: Layout, item: dict[str, object]) -> str:
    return orjson.dumps({name: item.get(name) for name in layout.table.keys.names}).decode()
