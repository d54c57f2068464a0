"""Errors for damaged data that name the table and the key."""

from collections.abc import Iterable, Iterator
from typing import Any

import apsw
import orjson

from gateleg.engine import checksums, keys
from gateleg.engine.errors import EngineError
from gateleg.engine.layout import Layout, key_item
from gateleg.engine.schema import Table

ADVICE = "Run `gateleg engine check` to see what else is damaged, and `gateleg engine repair` to recover the rest"


def is_damage(error: BaseException) -> bool:
    """Whether an error means that the file is corrupt."""
    return checksums.is_damage(error) or isinstance(error, orjson.JSONDecodeError)


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
    for table, wanted in (request.get("RequestItems") or {}).items():
        if isinstance(wanted, dict):
            yield from ((table, key) for key in wanted.get("Keys") or [])
        else:
            for action in wanted:
                yield from ((table, part[name]) for part in action.values() for name in ("Key", "Item") if name in part)
