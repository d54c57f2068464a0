"""Upgrade of a file that an earlier version wrote, in one transaction, when it is opened.

The earlier forms, all under formats 1 and 2:

- The namespace of a definition was stored as `realm` (until 16 November 2026).
- Rows were clustered by key, without rowids, and entries of global indexes lacked the hash that orders equal keys (first hours of
  15 November 2026). Rows and indexes of such tables are written again.
- The response of a transaction was stored without sizes (the same hours).

A crash during the upgrade leaves the file as it was. A program of an earlier version that has the file open meanwhile can read items on;
from its next write or look at the tables on it is refused, because it cannot read the definitions, and writes nothing. When it is started
again, the number of the format tells it that a later version wrote the file.
"""

from typing import Any

import apsw
import orjson

from gateleg.engine import backfill, chunked_drop, definitions, file_format, lifecycle
from gateleg.engine.layout import Layout
from gateleg.engine.schema import Table

_CLUSTERED_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'items_[0-9]*' AND sql LIKE '%WITHOUT ROWID'"


def is_needed(connection: apsw.Connection) -> bool:
    """Whether a file is in an earlier form."""
    return any(_former_definitions(connection, name) for name in ("catalog", "backups")) or bool(_clustered_tables(connection))


def upgrade(connection: apsw.Connection, now: float) -> None:
    """Bring a file to today's form, within the caller's transaction."""
    clustered = _clustered_tables(connection)
    for number, definition in _former_definitions(connection, "backups"):
        backed_up = definitions.load(definition)
        stored = *backed_up.namespace, definitions.dump(backed_up), number
        connection.execute("UPDATE backups SET account = ?, region = ?, definition = ? WHERE id = ?", stored)
    rows: list[Any] = connection.execute("SELECT id, account, definition FROM catalog").fetchall()
    for number, account, definition in rows:
        table = definitions.load(definition)
        if account != table.namespace.account:
            # Also the streams of deleted tables.
            connection.execute("UPDATE OR IGNORE streams SET account = ? WHERE account = ?", (table.namespace.account, account))
            connection.execute(
                "UPDATE OR IGNORE tokens SET token = ?1 || substr(token, length(?2) + 1) WHERE token GLOB ?2 || '/*'",
                (table.namespace.account, account),
            )
        if f"items_{number}" in clustered:
            table = _write_again(connection, table)
        lifecycle.after_definition_change(connection, table, now)
        stored = *table.namespace, definitions.dump(table), number
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
    return [(number, definition) for number, definition in rows if definitions.is_former(definition)]


def _clustered_tables(connection: apsw.Connection) -> set[str]:
    return {str(name) for (name,) in connection.execute(_CLUSTERED_TABLES)}


def _write_again(connection: apsw.Connection, table: Table) -> Table:
    """Write the rows of a table, and all of its indexes, in today's form."""
    layout = Layout(table)
    former = f"former_{layout.name}"
    connection.execute(f"ALTER TABLE {layout.name} RENAME TO {former}")
    for index in layout.indexes:
        chunked_drop.drop_rows(connection, index.name)
    layout.create(connection)
    connection.execute(f"INSERT INTO {layout.name} SELECT k, size, v FROM {former} ORDER BY k")
    connection.execute(f"DROP TABLE {former}")
    backfill.forget(connection, table)
    return backfill.rebuild(connection, table)
