"""The file format: create a new database file, and recognise files of other programs and versions."""

import apsw

from gateleg.engine.checksums import has_checksums
from gateleg.engine.errors import EngineError

#: SQLite's application_id ("Gleg") and the format version. Format 1 is format 2 without page checksums; such files are used as they are
#: until they are compacted. Versions that know only format 1 must not write to format 2, and refuse it.
APPLICATION_ID = 0x476C6567
FORMAT = 2
WITHOUT_CHECKSUMS = 1

_SCHEMA = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('catalog', 0), ('next_id', 1);
CREATE TABLE catalog(
    id INTEGER PRIMARY KEY, account TEXT NOT NULL, region TEXT NOT NULL, name TEXT NOT NULL, definition BLOB NOT NULL,
    UNIQUE(account, region, name)
);
CREATE TABLE changes(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL, at REAL NOT NULL, k BLOB NOT NULL, old BLOB, new BLOB,
    by_service INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX changes_by_table ON changes(table_id, seq);
CREATE TABLE logs(table_id INTEGER PRIMARY KEY, first INTEGER NOT NULL);
CREATE TABLE streams(
    account TEXT NOT NULL, region TEXT NOT NULL, name TEXT NOT NULL, label TEXT NOT NULL, table_id INTEGER NOT NULL, view TEXT NOT NULL,
    keys TEXT NOT NULL, created REAL NOT NULL, first INTEGER NOT NULL, ended REAL, last INTEGER, trimmed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY(account, region, name, label)
) WITHOUT ROWID;
CREATE TABLE backfills(index_id INTEGER PRIMARY KEY, place BLOB NOT NULL);
CREATE TABLE backups(
    id INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, region TEXT NOT NULL, table_name TEXT NOT NULL, arn TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL, type TEXT NOT NULL, created REAL NOT NULL, expires REAL, size INTEGER NOT NULL, items INTEGER NOT NULL,
    definition BLOB NOT NULL
);
CREATE TABLE transfers(
    arn TEXT PRIMARY KEY, kind TEXT NOT NULL, account TEXT NOT NULL, region TEXT NOT NULL, table_arn TEXT NOT NULL,
    table_uuid TEXT NOT NULL, token TEXT, digest BLOB NOT NULL, started REAL NOT NULL, claimed REAL NOT NULL DEFAULT 0,
    pending INTEGER NOT NULL DEFAULT 1, request BLOB NOT NULL, description BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE tokens(token TEXT PRIMARY KEY, digest BLOB NOT NULL, at REAL NOT NULL, answer BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX tokens_by_time ON tokens(at);
"""
#: Tables that files of earlier versions get when they are opened.
_ADDED = """
CREATE TABLE IF NOT EXISTS copies(
    target TEXT PRIMARY KEY, source TEXT NOT NULL, phase TEXT NOT NULL, table_id INTEGER, place NOT NULL, last INTEGER, cut INTEGER,
    undone INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS drops(name TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT OR IGNORE INTO meta VALUES ('upkeep', NULL);
"""


def prepare(connection: apsw.Connection, path: str) -> None:
    """Create our tables in an empty file; refuse files of other programs, of later versions, or with a damaged header."""
    if _pragma(connection, "application_id") == APPLICATION_ID:
        _check_version(connection, path)
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'drops'").fetchone() is not None:
            return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _pragma(connection, "application_id") != APPLICATION_ID:
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() != (0,):
                raise EngineError("InternalServerError", f"{path} is a SQLite database of another program: choose another path")
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={FORMAT if has_checksums(connection) else WITHOUT_CHECKSUMS}")
        connection.execute(_ADDED)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _check_version(connection: apsw.Connection, path: str) -> None:
    version = _pragma(connection, "user_version")
    if version > FORMAT:
        raise EngineError("InternalServerError", f"{path} was written by a later version of Gateleg: upgrade to open it")
    if has_checksums(connection) != (version == FORMAT):
        if version == FORMAT:
            raise EngineError("InternalServerError", f"{path} is damaged: its header does not say that its pages have checksums")
        # Compaction was interrupted before it could record the new format.
        connection.execute(f"PRAGMA user_version={FORMAT}")


def _pragma(connection: apsw.Connection, name: str) -> int:
    row = connection.execute(f"PRAGMA {name}").fetchone()
    return int(row[0]) if row else 0
