"""The format of a database file: our own tables, the number that recognises a version, and the stored form of table definitions.

SQLite's `user_version` holds the number of the format. Even numbers have page checksums, odd ones are the same without.

- 1 and 2: what has been stored since 15 November 2026. The form changed several times under these numbers, until 16 November; a file that
  is in one of the earlier forms is upgraded to 3 or 4 when it is opened (`catalog.py`).
- 3 and 4: the same form as 1 and 2 have today, in a file that was upgraded. The programs that wrote the earlier forms would take it for
  damaged, so they must see a number that they do not know.

New files get 2, so that the previous release can open them. Every further change of what is stored gets the next two numbers, an upgrade
(`catalog.py`) and a golden file; `tests/engine/formats` fails otherwise. That includes the JSON of definitions. Its field names are written
here, apart from the names of Python attributes: a name in this module is on people's disks, and renaming an attribute of `Table` must not
change it.
"""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import apsw
import orjson

from gateleg.engine.errors import EngineError
from gateleg.engine.files import NeedsUpgrade, has_checksums
from gateleg.engine.schema import Index, KeyAttribute, KeySchema, Namespace, Table

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
_OWN_TABLES = frozenset(re.findall(r"CREATE (?:TABLE|INDEX) IF NOT EXISTS (\w+)", _SCHEMA))

#: The field that held the namespace until 16 November 2026, first as an object and then as a list.
_FORMER_NAMESPACE = "realm"

#: The account that was the default while a namespace was stored as an object, and the one that has been since.
_FORMER_DEFAULT_ACCOUNT, _DEFAULT_ACCOUNT = "000000000000", Namespace().account

_TABLE_FIELDS = frozenset(
    {
        *("id", "uuid", "namespace", "name", "created", "definitions", "keys", "indexes", "status", "stream", "stream_label", "ttl"),
        *("recovery_since", "recovery_days", "restoring", "copies", "tags", "settings"),
    }
)

_INDEX_FIELDS = frozenset({"id", "name", "kind", "keys", "projection", "include", "status", "settings"})
_CORRUPT = (KeyError, TypeError, ValueError, AttributeError)
_REQUIRED: Any = object()


def prepare_tables(connection: apsw.Connection, path: str) -> None:
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
    """`prepare_tables` for a file that is open for reading only: refuse what cannot be read as it is."""
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


def dump_table(table: Table) -> bytes:
    """A table's definition as it is stored."""
    return orjson.dumps(
        {
            "id": table.id,
            "uuid": table.uuid,
            "namespace": [table.namespace.account, table.namespace.region],
            "name": table.name,
            "created": table.created,
            "definitions": table.definitions,
            "keys": _dump_keys(table.keys),
            "indexes": [_dump_index(index) for index in table.indexes],
            "status": table.status,
            "stream": table.stream,
            "stream_label": table.stream_label,
            "ttl": table.ttl,
            "recovery_since": table.recovery_since,
            "recovery_days": table.recovery_days,
            "restoring": table.restoring,
            "copies": list(table.copies),
            "tags": table.tags,
            "settings": table.settings,
        }
    )


def load_table(definition: bytes) -> Table:
    """A table from its stored definition, in today's form or in an earlier one."""
    try:
        return _table(orjson.loads(definition))
    except _UnknownFields as error:
        raise EngineError(
            "InternalServerError",
            f"The definition of a table has fields that this version of Gateleg does not know ({error}): a later version wrote it. "
            "Nothing was changed. Install that version, or a later one, to open the file",
        ) from None
    except _CORRUPT as error:
        raise EngineError(
            "InternalServerError",
            f"The definition of a table cannot be read ({error!r}). Nothing was changed. First try the latest version of Gateleg. Then "
            "`gateleg engine repair` writes the other tables to a new file and the items of this one beside it; keep the original",
        ) from error


def is_former_definition(definition: bytes) -> bool:
    """Whether a definition is in the form of before 16 November 2026, which programs of that time need and later ones rewrite."""
    try:
        return _FORMER_NAMESPACE in orjson.loads(definition)
    except (TypeError, ValueError):
        return False  # damage, which `load_table` reports


@dataclass(frozen=True, slots=True)
class RecoveredDefinition:
    """A table whose definition `load_table` refuses."""

    table: Table
    #: fields that were found under another name
    renamed: tuple[str, ...]
    #: what the table lacks of the definition
    missing: tuple[str, ...]


def recover_table(definition: bytes, table_id: int | None, namespace: Namespace, name: str) -> RecoveredDefinition:
    """A table from a definition that `load_table` refuses, as far as it can be read; raises `EngineError` if its keys cannot.

    The id, the namespace and the name are also stored beside the definition. A field that is missing is looked for among the unknown ones:
    it may have another name in another version.
    """
    try:
        return _Recovery(orjson.loads(definition)).table(table_id, namespace, name)
    except _CORRUPT as error:
        raise EngineError("InternalServerError", f"its keys cannot be read ({error!r})") from error


class _UnknownFields(Exception):
    """A definition has fields that this version does not know."""


def _dump_index(index: Index) -> dict[str, Any]:
    return {
        "id": index.id,
        "name": index.name,
        "kind": index.kind,
        "keys": _dump_keys(index.keys),
        "projection": index.projection,
        "include": list(index.include),
        "status": index.status,
        "settings": index.settings,
    }


def _dump_keys(keys: KeySchema) -> dict[str, Any]:
    def attributes(part: tuple[KeyAttribute, ...]) -> list[dict[str, str]]:
        return [{"name": attribute.name, "type": attribute.type} for attribute in part]

    return {"hash": attributes(keys.hash), "range": attributes(keys.range)}


def _table(stored: dict[str, Any]) -> Table:
    fields = dict(stored)
    if _FORMER_NAMESPACE in fields:
        fields["namespace"] = fields.pop(_FORMER_NAMESPACE)
    if unknown := fields.keys() - _TABLE_FIELDS:
        raise _UnknownFields(", ".join(sorted(unknown)))
    return Table(
        id=fields["id"],
        uuid=fields["uuid"],
        namespace=_load_namespace(fields["namespace"]),
        name=fields["name"],
        created=fields["created"],
        definitions=fields["definitions"],
        keys=_load_keys(fields["keys"]),
        indexes=tuple(_load_index(index) for index in fields["indexes"]),
        status=fields["status"],
        stream=fields["stream"],
        stream_label=fields["stream_label"],
        ttl=fields["ttl"],
        recovery_since=fields["recovery_since"],
        recovery_days=fields["recovery_days"],
        # The first versions had no restores and no copies.
        restoring=fields.get("restoring", False),
        copies=tuple(fields.get("copies", ())),
        tags=fields["tags"],
        settings=fields["settings"],
    )


def _load_namespace(stored: Any) -> Namespace:
    if isinstance(stored, dict):
        account = stored["account"]
        return Namespace(_DEFAULT_ACCOUNT if account == _FORMER_DEFAULT_ACCOUNT else account, stored["region"])
    account, region = stored
    return Namespace(account, region)


def _load_index(stored: dict[str, Any]) -> Index:
    if unknown := stored.keys() - _INDEX_FIELDS:
        raise _UnknownFields(", ".join(f"indexes.{name}" for name in sorted(unknown)))
    return Index(
        id=stored["id"],
        name=stored["name"],
        kind=stored["kind"],
        keys=_load_keys(stored["keys"]),
        projection=stored["projection"],
        include=tuple(stored["include"]),
        status=stored["status"],
        settings=stored["settings"],
    )


def _load_keys(stored: dict[str, Any]) -> KeySchema:
    def attributes(part: list[dict[str, Any]]) -> tuple[KeyAttribute, ...]:
        return tuple(KeyAttribute(attribute["name"], attribute["type"]) for attribute in part)

    return KeySchema(attributes(stored["hash"]), attributes(stored["range"]))


class _Recovery:
    """The fields of one definition that are left to read."""

    def __init__(self, stored: dict[str, Any]) -> None:
        self._fields = {key: stored[key] for key in stored.keys() & _TABLE_FIELDS}
        self._unknown = {key: stored[key] for key in sorted(stored.keys() - _TABLE_FIELDS - {_FORMER_NAMESPACE})}
        self._renamed: list[str] = []
        self._missing: list[str] = []

    def table(self, table_id: int | None, namespace: Namespace, name: str) -> RecoveredDefinition:
        self._fields |= {"namespace": self._fields.get("namespace", namespace), "name": self._fields.get("name", name)}
        for other in [other for other, value in self._unknown.items() if value in ([*namespace], namespace._asdict(), name)]:
            self._renamed.append(f"{other!r} holds what is stored beside it")
            del self._unknown[other]
        keys = self._take("keys", _load_keys)
        indexes = self._take("indexes", self._indexes, ())
        table = Table(
            id=self._take("id", int) if table_id is None else table_id,
            uuid=self._take("uuid", _text_field, str(uuid4())),
            namespace=namespace,
            name=name,
            created=self._take("created", float, time.time()),
            definitions={a.name: a.type for keyed in (keys, *(index.keys for index in indexes)) for a in keyed.attributes},
            keys=keys,
            indexes=indexes,
            stream=self._take("stream", _text_or_none, None),
            stream_label=self._take("stream_label", _text_or_none, None),
            ttl=self._take("ttl", _text_or_none, None),
            recovery_since=self._take("recovery_since", lambda since: None if since is None else float(since), None),
            recovery_days=self._take("recovery_days", int, 35),
            restoring=bool(self._fields.get("restoring", False)),
            tags=self._take("tags", dict, {}),
            settings=self._take("settings", dict, {}),
        )
        if table.stream_label is None:
            table = replace(table, stream=None)
        self._missing.extend(f"the field {other!r}" for other in self._unknown)
        return RecoveredDefinition(table, tuple(self._renamed), tuple(self._missing))

    def _take(self, name: str, read: Callable[[Any], Any], default: Any = _REQUIRED) -> Any:
        """A field, or else an unknown one that can only be it, or else the default."""
        if name in self._fields:
            with suppress(*_CORRUPT):
                return read(self._fields[name])
        if name in ("keys", "indexes"):  # the others have no shape of their own
            for other, value in self._unknown.items():
                with suppress(*_CORRUPT):
                    field = read(value)
                    del self._unknown[other]
                    self._renamed.append(f"{other!r} was read as {name!r}")
                    return field
        if default is _REQUIRED:
            raise KeyError(name)
        self._missing.append(f"the field {name!r}")
        return default

    def _indexes(self, stored: Any) -> tuple[Index, ...]:
        if not isinstance(stored, list):
            raise TypeError("not a list of indexes")
        return tuple(self._index(entry) for entry in stored)

    def _index(self, stored: dict[str, Any]) -> Index:
        known = {key: stored[key] for key in stored.keys() & _INDEX_FIELDS}
        standard = {"kind": "GSI", "projection": "ALL", "include": [], "status": "ACTIVE", "settings": {}}
        index = _load_index(standard | known)
        unread = sorted((standard.keys() - known.keys()) | (stored.keys() - _INDEX_FIELDS))
        self._missing.extend(f"the field {field!r} of the index {index.name}" for field in unread)
        return index


def _set_format(connection: apsw.Connection, number: int) -> None:
    connection.execute(f"PRAGMA user_version={number if has_checksums(connection) else number - 1}")


def _lacks_tables(connection: apsw.Connection) -> bool:
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE name NOT GLOB '*_[0-9]*'")}
    return not names >= _OWN_TABLES


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


def _text_field(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text_field(value)
