"""Backups of tables before a migration, and restoring their items from a backup or a point in time.

DynamoDB restores into a new table. Its items are then copied back: different ones are written, additional ones deleted.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gateleg.migrate.errors import NoBackup
from gateleg.migrate.execution import create_backup, until_settled
from gateleg.migrate.moves.items import canonical
from gateleg.migrate.shapes import offered
from gateleg.store.flow import Request
from gateleg.store.operations.operation import GET_LIMIT, batch_write_flow, item_key, rounds
from gateleg.store.operations.tables import describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.model import Item, Table
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

_BATCH = 100


def back_up(table: Table, label: str, setup: Setup) -> Flow[str | None]:
    """Create a backup of a table; returns its ARN, or None if the table does not exist or the service offers no backups."""
    name = setup.name_of(table)
    if (yield from describe(name)) is None:
        return None
    moment = setup.now().strftime("%Y%m%dT%H%M%SZ")
    return (yield from create_backup(name, f"{name[:180]}-{label[:40]}-{moment}"))


def check_recoverable(table: Table, at: datetime, setup: Setup) -> Flow[None]:
    """Raise `NoBackup` if the service cannot restore a table to that time."""
    name = setup.name_of(table)
    response = yield from offered("DescribeContinuousBackups", {"TableName": name})
    found = {} if response is None else response["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    if found.get("PointInTimeRecoveryStatus") != "ENABLED":
        raise NoBackup(f"{name} has no point-in-time recovery.")
    first, last = found["EarliestRestorableDateTime"], found["LatestRestorableDateTime"]
    if not first <= at.timestamp() <= last:
        reach = " and ".join(datetime.fromtimestamp(float(moment), UTC).isoformat() for moment in (first, last))
        raise NoBackup(f"{name} can be restored to a time between {reach}, not to {at.isoformat()}.", fix="Name a time between them.")


def restore(
    table: Table, setup: Setup, *, backup: str | None = None, at: datetime | None = None, waiting: Callable[[str], None] = lambda text: None
) -> Flow[dict[str, int]]:
    """Restore the items of a table from a backup or a point in time. Nobody may write to it meanwhile."""
    name = setup.name_of(table)
    copy = f"{name[:200]}-restored-{setup.token()[:8]}"
    if backup is not None:
        request: dict[str, Any] = {"TargetTableName": copy, "BackupArn": backup}
        response = yield from offered("RestoreTableFromBackup", request)
    else:
        request = {"SourceTableName": name, "TargetTableName": copy}
        request |= {"UseLatestRestorableTime": True} if at is None else {"RestoreDateTime": at.timestamp()}
        response = yield from offered("RestoreTableToPointInTime", request)
    if response is None:
        raise NoBackup(f"{name} cannot be restored: the service offers no backups.")
    yield from until_settled(copy, waiting)
    result = yield from _restore_items(table, copy, setup)
    yield Request("DeleteTable", {"TableName": copy}, "migrate restore")
    return result


def _restore_items(table: Table, source: str, setup: Setup) -> Flow[dict[str, int]]:
    """Write items that differ from the source and delete those it does not have, page by page."""
    name = setup.name_of(table)
    total = written = deleted = 0
    start: Item | None = None
    while True:
        items, start = yield from _page(source, start)
        present = yield from _found(table, name, items, setup)
        puts = {
            place: {"PutRequest": {"Item": item}}
            for place, item in _by_identity(table, name, items).items()
            if place not in present or canonical({"M": present[place]}) != canonical({"M": item})
        }
        total, written = total + len(items), written + (yield from batch_write_flow(puts, setup, "migrate restore"))
        if start is None:
            break
    while True:
        items, start = yield from _page(name, start)
        wanted = yield from _found(table, source, items, setup)
        here, there = _by_identity(table, name, items), _by_identity(table, source, items)
        deletes: dict[Any, dict[str, Any]] = {
            place: {"DeleteRequest": {"Key": {part: item[part] for part in table.attributes}}}
            for (place, item), other in zip(here.items(), there, strict=True)
            if other not in wanted
        }
        deleted += yield from batch_write_flow(deletes, setup, "migrate restore")
        if start is None:
            return {"items": total, "written": written, "deleted": deleted}


def _page(name: str, start: Item | None) -> Flow[tuple[list[Item], Item | None]]:
    payload: dict[str, Any] = {"TableName": name, "ConsistentRead": True, "Limit": _BATCH}
    response = yield Request("Scan", payload if start is None else payload | {"ExclusiveStartKey": start}, "migrate restore")
    return response["Items"], response.get("LastEvaluatedKey")


def _by_identity(table: Table, name: str, items: list[Item]) -> dict[Any, Item]:
    return {item_key(name, {part: item[part] for part in table.attributes}): item for item in items}


def _found(table: Table, name: str, items: list[Item], setup: Setup) -> Flow[dict[Any, Item]]:
    """The items of a table under the keys of others."""
    keys: dict[Any, Item] = {
        place: {part: item[part] for part in table.attributes} for place, item in _by_identity(table, name, items).items()
    }
    found: dict[Any, Item] = {}

    def ask(chunk: dict[Any, Item]) -> Request:
        return Request("BatchGetItem", {"RequestItems": {name: {"ConsistentRead": True, "Keys": list(chunk.values())}}}, "migrate restore")

    def read(response: dict[str, Any]) -> list[Any]:
        found.update(_by_identity(table, name, response.get("Responses", {}).get(name, [])))
        return list(_by_identity(table, name, response.get("UnprocessedKeys", {}).get(name, {}).get("Keys", [])))

    yield from rounds(keys, GET_LIMIT, ask, read, setup)
    return found
