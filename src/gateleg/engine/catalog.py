"""The catalog of tables: stored as JSON in SQLite, cached as layouts, reloaded when another connection has changed it."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import apsw

from gateleg.engine import backfill, drops, lifecycle, upgrades
from gateleg.engine.database import Database, DatabaseConnection
from gateleg.engine.definitions import dump, load
from gateleg.engine.errors import not_found
from gateleg.engine.layout import Layout
from gateleg.engine.read_only import NeedsUpgrade
from gateleg.engine.schema import Index, Namespace, Table
from gateleg.engine.statistics import Statistics

_TableName = tuple[Namespace, str]


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
            if not upgrades.is_needed(connection):
                return
        if self._database.is_read_only:
            raise NeedsUpgrade(self._database.path)
        with self._database.write() as connection:
            if upgrades.is_needed(connection):  # otherwise another process has done it meanwhile
                upgrades.upgrade(connection, self._clock())

    def layout(self, namespace: Namespace, name: str) -> Layout:
        """The layout of a table by name or ARN; raises `ResourceNotFoundException` also while the table is being restored or imported."""
        found = self.available.get((namespace, name))
        if found is not None:
            return found
        found = self._find(namespace, name)
        if found is not None and found.table.status == "CREATING" and self.refresh():
            found = self._find(namespace, name)
        if found is None or found.table.status == "CREATING":
            raise not_found()
        return found

    def cached_layout(self, namespace: Namespace, name: str) -> Layout | None:
        """`layout` from the cache alone; None if it is not there, or if `name` is an ARN."""
        return self.available.get((namespace, name))

    def table(self, namespace: Namespace, name: str) -> Table:
        """The table by name or ARN; raises the error that item operations answer with."""
        return self.layout(namespace, name).table

    def find_table(self, namespace: Namespace, name: str) -> Table | None:
        """The current definition of a table by name or ARN, or None."""
        self.refresh()
        found = self._find(namespace, name)
        return found.table if found else None

    def _find(self, namespace: Namespace, name: str) -> Layout | None:
        if name.startswith("arn:"):
            name = name.rpartition(":table/")[2].partition("/")[0]
        found = self._layouts.get((namespace, name))
        if found is None:
            self.refresh()
            found = self._layouts.get((namespace, name))
        return found

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
            (table.id, table.namespace.account, table.namespace.region, table.name, dump(table)),
        )
        lifecycle.after_definition_change(connection, table, self._clock())
        self._bump_version(connection)
        return table

    def replace(self, connection: apsw.Connection, table: Table) -> None:
        """Store a changed definition."""
        connection.execute("UPDATE catalog SET definition = ? WHERE id = ?", (dump(table), table.id))
        lifecycle.after_definition_change(connection, table, self._clock())
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
        drops.drop(connection, layout.name)
        table = replace(table, indexes=tuple(i for i in table.indexes if i.name != name))
        self.replace(connection, table)
        return table

    def drop(self, connection: apsw.Connection, table: Table) -> None:
        """Remove a table and its rows."""
        lifecycle.before_drop(connection, table, self._clock(), self.statistics.of(f"items_{table.id}"))
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
            tables = [load(row[0]) for row in rows if row[0] is not None]
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
