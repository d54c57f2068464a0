"""The catalog of tables, and the context that every operation handler receives.

Definitions are stored as JSON in SQLite, cached as layouts, and loaded again when another connection has changed them. With a table come
and go its streams, its expiry index and its backups. Item counts and sizes of tables are exact for small tables, and cached for large ones,
as DynamoDB's own counts are.

A file that an earlier version wrote is upgraded when it is opened, in one transaction. The earlier forms, all under formats 1 and 2:

- The namespace of a definition was stored as `realm` (until 16 November 2026).
- Rows were clustered by key, without rowids, and entries of global indexes lacked the hash that orders equal keys (first hours of
  15 November 2026). Rows and indexes of such tables are written again.
- The response of a transaction was stored without sizes (the same hours).

A crash during the upgrade leaves the file as it was. A program of an earlier version that has the file open meanwhile can read items on;
from its next write or look at the tables on it is refused, because it cannot read the definitions, and writes nothing. When it is started
again, the number of the format tells it that a later version wrote the file.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import apsw
import orjson

from gateleg.engine import backfill, changelog, expiry, file_format, long_work, stored_backups
from gateleg.engine.database import Database, DatabaseConnection
from gateleg.engine.errors import not_found
from gateleg.engine.files import NeedsUpgrade
from gateleg.engine.layout import Layout
from gateleg.engine.schema import Index, Namespace, Table
from gateleg.engine.values import Item

_TableName = tuple[Namespace, str]

#: The rows of a small table, which is always counted: a count that takes long was only interrupted.
_SMALL_TABLE_ROWS = 1_000

#: A count of a larger table that took longer than this is cached, for this many times as long as it took.
_FAST_COUNT_SECONDS = 0.002
_CACHE_FACTOR = 200

#: Tables without rowids.
_CLUSTERED_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'items_[0-9]*' AND sql LIKE '%WITHOUT ROWID'"


class Catalog:
    """Finds tables by name and changes their definitions within the caller's transaction."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self.statistics = Statistics(database)
        self._clock = clock
        #: Called after definitions were loaded, which may mean new maintenance work.
        self.on_load: Callable[[], None] = lambda: None
        self._version = -1
        self._layouts: dict[_TableName, Layout] = {}
        #: Tables whose items can be read and written, by namespace and name, as last loaded.
        self.available: dict[_TableName, Layout] = {}
        self._loading = threading.Lock()
        self._upgrade()
        database.on_write = self._refresh_for_write
        database.on_rollback = self._invalidate_after_rollback
        #: whether the current write transaction has changed definitions
        self._definitions_changed = False
        self.refresh()

    def _upgrade(self) -> None:
        """Bring a file that an earlier version wrote to today's form."""
        with self._database.reading() as connection:
            if not needs_upgrade(connection):
                return
        if self._database.is_read_only:
            raise NeedsUpgrade(self._database.path)
        with self._database.write() as connection:
            if needs_upgrade(connection):  # otherwise another process has done it meanwhile
                upgrade_file(connection, self._clock())

    def layout(self, namespace: Namespace, name: str) -> Layout:
        """The layout of a table by name or ARN; raises `ResourceNotFoundException` also while the table is being restored or imported."""
        layout = self._find(namespace, name)
        if layout is not None and layout.table.status == "CREATING" and self.refresh():
            layout = self._find(namespace, name)
        if layout is None or layout.table.status == "CREATING":
            raise not_found()
        return layout

    def cached_layout(self, namespace: Namespace, name: str) -> Layout | None:
        """`layout` from the cache alone; None if it is not there, or if `name` is an ARN."""
        return self.available.get((namespace, name))

    def find_table(self, namespace: Namespace, name: str) -> Table | None:
        """The current definition of a table by name or ARN, or None."""
        self.refresh()
        layout = self._find(namespace, name)
        return layout.table if layout else None

    def _find(self, namespace: Namespace, name: str) -> Layout | None:
        if name.startswith("arn:"):
            name = name.rpartition(":table/")[2].partition("/")[0]
        layout = self._layouts.get((namespace, name))
        if layout is None:
            self.refresh()
            layout = self._layouts.get((namespace, name))
        return layout

    def names(self, namespace: Namespace, after: str | None, limit: int) -> list[str]:
        """Up to `limit` table names in order, after the given one."""
        self.refresh()
        every = sorted(name for where, name in self._layouts if where == namespace and (after is None or name > after))
        return every[:limit]

    def layouts(self) -> list[Layout]:
        """The layouts of all tables in all namespaces."""
        self.refresh()
        return list(self._layouts.values())

    def cached_layouts(self) -> list[Layout]:
        """`layouts` from the cache alone."""
        return list(self._layouts.values())

    def create(self, connection: apsw.Connection, table: Table) -> Table:
        """Store a new table, and assign ids to it and its indexes."""
        table = replace(
            table,
            id=self._next_id(connection),
            indexes=tuple(replace(index, id=self._next_id(connection)) for index in table.indexes),
        )
        Layout(table).create(connection)
        connection.execute(
            "INSERT INTO catalog VALUES (?, ?, ?, ?, ?)",
            (table.id, table.namespace.account, table.namespace.region, table.name, file_format.dump_table(table)),
        )
        _follow_definition(connection, table, self._clock())
        self._bump_version(connection)
        return table

    def replace(self, connection: apsw.Connection, table: Table) -> None:
        """Store a changed definition."""
        connection.execute("UPDATE catalog SET definition = ? WHERE id = ?", (file_format.dump_table(table), table.id))
        _follow_definition(connection, table, self._clock())
        self._bump_version(connection)

    def add_index(self, connection: apsw.Connection, table: Table, index: Index) -> Table:
        """Add an index. Writes maintain it from now on. Existing items are added at once in a small table; in a large one maintenance
        backfills them, and the index is CREATING until then."""
        index = replace(index, id=self._next_id(connection), status="CREATING")
        table = replace(table, indexes=(*table.indexes, index))
        layout = Layout(table)
        layout.create_index(connection, layout.index_by_name[index.name])
        table = backfill.begin(connection, table)
        self.replace(connection, table)
        return table

    def drop_index(self, connection: apsw.Connection, table: Table, name: str) -> Table:
        """Remove an index and its rows."""
        layout = Layout(table).index_by_name[name]
        long_work.drop_rows(connection, layout.name)
        table = replace(table, indexes=tuple(i for i in table.indexes if i.name != name))
        self.replace(connection, table)
        return table

    def drop(self, connection: apsw.Connection, table: Table) -> None:
        """Remove a table and its rows."""
        _clear_before_drop(connection, table, self._clock(), self.statistics.of(f"items_{table.id}"))
        Layout(table).drop(connection)
        connection.execute("DELETE FROM catalog WHERE id = ?", (table.id,))
        self._bump_version(connection)

    def refresh(self) -> bool:
        """Reload the definitions if they have changed; returns whether they had.

        Never goes back to an older version: a thread within a write transaction may have loaded what it is about to commit.
        """
        row = self._database.row("SELECT value FROM meta WHERE name = 'catalog'")
        if row is None or row[0] <= self._version:
            return False
        with self._database.reading() as connection:
            self._load(connection, only_newer=True)
        return True

    def _refresh_for_write(self, connection: DatabaseConnection) -> None:
        """At the start of a write: load what other connections have changed. Costs one comparison if nobody else has written."""
        self._definitions_changed = False
        version = connection.data_version()
        if connection.catalog_data_version == version:
            return
        row = connection.execute("SELECT value FROM meta WHERE name = 'catalog'").fetchone()
        if row is not None and row[0] != self._version:
            self._load(connection)
        connection.catalog_data_version = version

    def _invalidate_after_rollback(self) -> None:
        if self._definitions_changed:
            self._version = -1
            self._database.invalidate_catalog()

    def _load(self, connection: apsw.Connection, only_newer: bool = False) -> None:
        with self._loading:
            rows: list[Any] = connection.execute(
                "SELECT definition, (SELECT value FROM meta WHERE name = 'catalog') FROM catalog UNION ALL "
                "SELECT NULL, (SELECT value FROM meta WHERE name = 'catalog')"
            ).fetchall()
            if only_newer and rows[-1][1] <= self._version:
                return
            tables = [file_format.load_table(row[0]) for row in rows if row[0] is not None]
            self._layouts = {(t.namespace, t.name): Layout(t) for t in tables}
            self.available = {name: layout for name, layout in self._layouts.items() if layout.table.status != "CREATING"}
            self._version = rows[-1][1]
        self.on_load()

    def _bump_version(self, connection: apsw.Connection) -> None:
        """Mark the definitions as changed, for this engine and for every other."""
        self._definitions_changed = True
        connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'catalog'")
        self._load(connection)

    def _next_id(self, connection: apsw.Connection) -> int:
        row = connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'next_id' RETURNING value - 1").fetchone()
        assert row is not None
        return int(row[0])


def _no_maintenance() -> None:
    """Used where the engine has no maintenance thread."""


@dataclass(frozen=True, slots=True)
class Context:
    """The engine's parts, the caller's namespace, and how stored items go into responses.

    With `splice`, stored items go into the response as their JSON text; otherwise as dictionaries.
    """

    database: Database
    catalog: Catalog
    clock: Callable[[], float]
    namespace: Namespace
    splice: bool = False
    #: folder whose subfolders serve as S3 buckets for exports and imports
    exports: Path | None = None
    #: wakes the maintenance thread if it has work
    wake: Callable[[], None] = _no_maintenance
    #: whether to behave as DynamoDB Local where that differs from the service
    like_local: bool = False

    def now(self) -> float:
        """Seconds since the epoch, by the engine's clock."""
        return self.clock()

    def layout(self, name: str) -> Layout:
        """The layout of a table by its name or ARN."""
        layout = self.catalog.available.get((self.namespace, name))
        return self.catalog.layout(self.namespace, name) if layout is None else layout

    def response_item(self, stored: bytes) -> Any:
        """A stored item in the form that responses use."""
        return orjson.Fragment(stored) if self.splice else orjson.loads(stored)

    def response_items(self, stored: Sequence[bytes]) -> Any:
        """A list of stored items in the form that responses use."""
        text = b"[" + b",".join(stored) + b"]"
        return orjson.Fragment(text) if self.splice else orjson.loads(text)

    def statistics(self, table: Table) -> tuple[int, int]:
        """Number and total size in bytes of a table's items."""
        return self.catalog.statistics.of(f"items_{table.id}")

    def index_statistics(self, table: Table, index: Index) -> tuple[int, int]:
        """Number and total size in bytes of an index's entries; with projection ALL, an entry counts with the size of its item."""
        if index.projection == "ALL":
            return self.catalog.statistics.of(f"index_{index.id} i JOIN items_{table.id} t ON t.k = i.b", "t.size")
        return self.catalog.statistics.of(f"index_{index.id}")


class Statistics:
    """Counts rows, and caches counts that are slow."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cached: dict[str, tuple[float, tuple[int, int]]] = {}

    def of(self, rows: str, size: str = "size") -> tuple[int, int]:
        """Number of rows and sum of sizes of a SQLite table, or of a join."""
        began = time.monotonic()
        until, counted = self._cached.get(rows, (0.0, (0, 0)))
        if began < until:
            return counted
        row = self._database.row(f"SELECT count(*), coalesce(sum({size}), 0) FROM {rows}")
        counted = (row[0], row[1]) if row else (0, 0)
        taken = time.monotonic() - began
        if taken > _FAST_COUNT_SECONDS and counted[0] > _SMALL_TABLE_ROWS:
            self._cached[rows] = (began + taken * _CACHE_FACTOR, counted)
        return counted


def parse_item(stored: bytes) -> Item:
    """Parse a stored item."""
    item: Item = orjson.loads(stored)
    return item


def _follow_definition(connection: apsw.Connection, table: Table, now: float) -> None:
    """After a table was created or changed: start or end its stream, and its index of expiry times."""
    changelog.sync_streams(connection, table, now)
    changelog.track_log(connection, table.id, table.logged)
    expiry.index(connection, table)


def _clear_before_drop(connection: apsw.Connection, table: Table, now: float, counted: tuple[int, int]) -> None:
    """Before a table is dropped: remove what depends on it; a table with point-in-time recovery leaves a system backup behind.

    `counted` are the numbers of its items and bytes.
    """
    changelog.end_stream(connection, table, now)
    changelog.track_log(connection, table.id, logged=False)
    backfill.forget(connection, table)
    expiry.remove(connection, table)
    if table.recovery_since is not None:
        stored_backups.keep_dropped_table(connection, table, now, counted)


def needs_upgrade(connection: apsw.Connection) -> bool:
    """Whether a file is in an earlier form."""
    return any(_former_definitions(connection, name) for name in ("catalog", "backups")) or bool(_clustered_tables(connection))


def upgrade_file(connection: apsw.Connection, now: float) -> None:
    """Bring a file to today's form, within the caller's transaction."""
    clustered = _clustered_tables(connection)
    for number, definition in _former_definitions(connection, "backups"):
        backed_up = file_format.load_table(definition)
        stored = *backed_up.namespace, file_format.dump_table(backed_up), number
        connection.execute("UPDATE backups SET account = ?, region = ?, definition = ? WHERE id = ?", stored)
    rows: list[Any] = connection.execute("SELECT id, account, definition FROM catalog").fetchall()
    for number, account, definition in rows:
        table = file_format.load_table(definition)
        if account != table.namespace.account:
            # Also the streams of deleted tables.
            connection.execute("UPDATE OR IGNORE streams SET account = ? WHERE account = ?", (table.namespace.account, account))
            connection.execute(
                "UPDATE OR IGNORE tokens SET token = ?1 || substr(token, length(?2) + 1) WHERE token GLOB ?2 || '/*'",
                (table.namespace.account, account),
            )
        if f"items_{number}" in clustered:
            table = _write_again(connection, table)
        _follow_definition(connection, table, now)
        stored = *table.namespace, file_format.dump_table(table), number
        connection.execute("UPDATE catalog SET account = ?, region = ?, definition = ? WHERE id = ?", stored)
    complete_tokens(connection)
    connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'catalog'")
    file_format.record_upgrade(connection)


def complete_tokens(connection: apsw.Connection) -> None:
    """Complete the stored responses of transactions that have no sizes."""
    rows: list[Any] = connection.execute("SELECT token, answer FROM tokens").fetchall()
    for token, stored in rows:
        answer = orjson.loads(stored)
        if "sizes" not in answer:
            connection.execute("UPDATE tokens SET answer = ? WHERE token = ?", (orjson.dumps({"sizes": [], "answer": answer}), token))


def _former_definitions(connection: apsw.Connection, where: str) -> list[Any]:
    suspects = f"SELECT id, definition FROM {where} WHERE instr(definition, CAST('\"realm\"' AS BLOB))"
    rows: list[Any] = connection.execute(suspects).fetchall()
    return [(number, definition) for number, definition in rows if file_format.is_former_definition(definition)]


def _clustered_tables(connection: apsw.Connection) -> set[str]:
    return {str(name) for (name,) in connection.execute(_CLUSTERED_TABLES)}


def _write_again(connection: apsw.Connection, table: Table) -> Table:
    """Write the rows of a table, and all of its indexes, in today's form."""
    layout = Layout(table)
    former = f"former_{layout.name}"
    connection.execute(f"ALTER TABLE {layout.name} RENAME TO {former}")
    for index in layout.indexes:
        long_work.drop_rows(connection, index.name)
    layout.create(connection)
    connection.execute(f"INSERT INTO {layout.name} SELECT k, size, v FROM {former} ORDER BY k")
    connection.execute(f"DROP TABLE {former}")
    backfill.forget(connection, table)
    return backfill.rebuild(connection, table)
