"""The file format: create a new database file, and recognise files of other programs and versions.

SQLite's `user_version` holds the number of the format. Even numbers have page checksums, odd ones are the same without.

- 1 and 2: what has been stored since 15 November 2026. The form changed several times under these numbers, until 16 November; a file that
  is in one of the earlier forms is upgraded to 3 or 4 when it is opened (`catalog.py`).
- 3 and 4: the same form as 1 and 2 have today, in a file that was upgraded. The programs that wrote the earlier forms would take it for
  damaged, so they must see a number that they do not know.

New files get 2, so that the previous release can open them. Every further change of what is stored, including the JSON of definitions,
gets the next two numbers; `tests/engine/formats` fails otherwise.
"""

import re

import apsw

from gateleg.engine.errors import EngineError
from gateleg.engine.files import NeedsUpgrade, has_checksums

#: SQLite's application_id ("Gleg").
APPLICATION_ID = 0x476C6567
#: The format of new files, of files that were upgraded, and the latest that this version knows; without checksums each is one less.
FORMAT = 2
UPGRADED_FORMAT = 4
LATEST_FORMAT = 4

#: Our own tables. Files of earlier versions get those that they lack when they are opened.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT OR IGNORE INTO meta VALUES ('catalog', 0), ('next_id', 1), ('upkeep', NULL);
CREATE TABLE IF NOT EXISTS catalog(
    id INTEGER PRIMARY KEY, account TEXT NOT NULL, region TEXT NOT NULL, name TEXT NOT NULL, definition BLOB NOT NULL,
    UNIQUE(account, region, name)
);
CREATE TABLE IF NOT EXISTS changes(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL, at REAL NOT NULL, k BLOB NOT NULL, old BLOB, new BLOB,
    by_service INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS changes_by_table ON changes(table_id, seq);
CREATE TABLE IF NOT EXISTS logs(table_id INTEGER PRIMARY KEY, first INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS streams(
    account TEXT NOT NULL, region TEXT NOT NULL, name TEXT NOT NULL, label TEXT NOT NULL, table_id INTEGER NOT NULL, view TEXT NOT NULL,
    keys TEXT NOT NULL, created REAL NOT NULL, first INTEGER NOT NULL, ended REAL, last INTEGER, trimmed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY(account, region, name, label)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS backfills(index_id INTEGER PRIMARY KEY, place BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS backups(
    id INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, region TEXT NOT NULL, table_name TEXT NOT NULL, arn TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL, type TEXT NOT NULL, created REAL NOT NULL, expires REAL, size INTEGER NOT NULL, items INTEGER NOT NULL,
    definition BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS transfers(
    arn TEXT PRIMARY KEY, kind TEXT NOT NULL, account TEXT NOT NULL, region TEXT NOT NULL, table_arn TEXT NOT NULL,
    table_uuid TEXT NOT NULL, token TEXT, digest BLOB NOT NULL, started REAL NOT NULL, claimed REAL NOT NULL DEFAULT 0,
    pending INTEGER NOT NULL DEFAULT 1, request BLOB NOT NULL, description BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens(token TEXT PRIMARY KEY, digest BLOB NOT NULL, at REAL NOT NULL, answer BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tokens_by_time ON tokens(at);
CREATE TABLE IF NOT EXISTS copies(
    target TEXT PRIMARY KEY, source TEXT NOT NULL, phase TEXT NOT NULL, table_id INTEGER, place NOT NULL, last INTEGER, cut INTEGER,
    undone INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS drops(name TEXT PRIMARY KEY) WITHOUT ROWID;
"""

_TABLES = frozenset(re.findall(r"CREATE (?:TABLE|INDEX) IF NOT EXISTS (\w+)", _SCHEMA))


def prepare(connection: apsw.Connection, path: str) -> None:
    """Create our tables in an empty file; refuse files of other programs, of later versions, or with a damaged header."""
    if _pragma(connection, "application_id") == APPLICATION_ID:
        if _check_version(connection, path):
            record_checksums(connection)
        if not _lacks_tables(connection):
            return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _pragma(connection, "application_id") != APPLICATION_ID:
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() != (0,):
                raise EngineError("InternalServerError", f"{path} is a SQLite database of another program: choose another path")
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            _set_format(connection, FORMAT)
        connection.execute(_SCHEMA)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def check_readable(connection: apsw.Connection, path: str) -> None:
    """`prepare` for a file that is open for reading only: refuse what cannot be read as it is."""
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
        raise NeedsUpgrade(path)  # creating it was interrupted
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise EngineError("InternalServerError", f"{path} is not a database of Gateleg: choose another path")
    _check_version(connection, path)
    if _lacks_tables(connection):
        raise NeedsUpgrade(path)


def record_upgrade(connection: apsw.Connection) -> None:
    """Give a file the format of upgraded files, within the transaction that upgrades it."""
    if _pragma(connection, "user_version") < UPGRADED_FORMAT - 1:
        _set_format(connection, UPGRADED_FORMAT)


def record_checksums(connection: apsw.Connection) -> None:
    """Give a file whose pages have just got checksums the format that says so."""
    version = _pragma(connection, "user_version")
    if version % 2:
        connection.execute(f"PRAGMA user_version={version + 1}")


def _set_format(connection: apsw.Connection, number: int) -> None:
    connection.execute(f"PRAGMA user_version={number if has_checksums(connection) else number - 1}")


def _lacks_tables(connection: apsw.Connection) -> bool:
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE name NOT GLOB '*_[0-9]*'")}
    return not names >= _TABLES


def _check_version(connection: apsw.Connection, path: str) -> bool:
    """Refuse unknown formats and damaged headers; returns whether compaction was interrupted before it could record that it added
    checksums."""
    version = _pragma(connection, "user_version")
    if version > LATEST_FORMAT:
        raise EngineError(
            "InternalServerError",
            f"{path} has format {version}, and this version of Gateleg reads formats 1 to {LATEST_FORMAT}: a later version wrote it. "
            "Nothing was changed. Install that version, or a later one, to open the file",
        )
    if version % 2 == 0 and not has_checksums(connection):
        raise EngineError("InternalServerError", f"{path} is damaged: its header does not say that its pages have checksums")
    return version % 2 == 1 and has_checksums(connection)


def _pragma(connection: apsw.Connection, name: str) -> int:
    row = connection.execute(f"PRAGMA {name}").fetchone()
    return int(row[0]) if row else 0
