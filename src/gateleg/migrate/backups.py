"""Back up tables before a migration, and bring their items back from a backup or a point in time.

DynamoDB restores into a new table. Its items are then copied back: those that differ are written, those that are too many deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.migrate.applying import until_settled
from gateleg.migrate.errors import NoBackup
from gateleg.migrate.inspecting import offered
from gateleg.migrate.moves.digests import canonical
from gateleg.store.flow import Pause, Request
from gateleg.store.operations.batches import batch_write_flow
from gateleg.store.operations.tables import describe
from gateleg.store.operations.transaction_entries import identity

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from gateleg.model import Item, Table
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

_INTERVAL = 1.0
_LOOKS = 3600
_BATCH = 100


def back_up(table: Table, label: str, setup: Setup) -> Flow[str | None]:
    """A backup of a table, by its ARN; None when there is no such table or the service offers no backups."""
    name = setup.name_of(table)
    if (yield from describe(name)) is None:
        return None
    moment = setup.now().strftime("%Y%m%dT%H%M%SZ")
    reply = yield from offered("CreateBackup", {"TableName": name, "BackupName": f"{name[:180]}-{label[:40]}-{moment}"})
    if reply is None:
        return None
    arn: str = reply["BackupDetails"]["BackupArn"]
    for _ in range(_LOOKS):
        found = yield Request("DescribeBackup", {"BackupArn": arn}, "migrate backup")
        if found["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE":
            return arn
        yield Pause(_INTERVAL)
    raise NoBackup(f"The backup of {name} is still not there.")


def restore(
    table: Table, setup: Setup, *, backup: str | None = None, at: datetime | None = None, waiting: Callable[[str], None] = lambda text: None
) -> Flow[dict[str, int]]:
    """Make the items of a table those of a backup, or of a moment. Nobody may write to it meanwhile."""
    name = setup.name_of(table)
    copy = f"{name[:200]}-restored-{setup.token()[:8]}"
    if backup is not None:
        request: dict[str, Any] = {"TargetTableName": copy, "BackupArn": backup}
        reply = yield from offered("RestoreTableFromBackup", request)
    else:
        request = {"SourceTableName": name, "TargetTableName": copy}
        request |= {"UseLatestRestorableTime": True} if at is None else {"RestoreDateTime": at.timestamp()}
        reply = yield from offered("RestoreTableToPointInTime", request)
    if reply is None:
        raise NoBackup(f"{name} cannot be restored: the service offers no backups.")
    yield from until_settled(copy, waiting)
    result = yield from _made_equal(table, copy, setup)
    yield Request("DeleteTable", {"TableName": copy}, "migrate restore")
    return result


def _made_equal(table: Table, source: str, setup: Setup) -> Flow[dict[str, int]]:
    """Write what differs from the source, and delete what it does not have."""
    name = setup.name_of(table)
    wanted: dict[Any, Item] = {}
    for item in (yield from _items(source)):
        wanted[identity(name, {part: item[part] for part in table.attributes})] = item
    entries: dict[Any, dict[str, Any]] = {place: {"PutRequest": {"Item": item}} for place, item in wanted.items()}
    deleted = 0
    for item in (yield from _items(name)):
        key = {part: item[part] for part in table.attributes}
        place = identity(name, key)
        if place not in wanted:
            entries[place] = {"DeleteRequest": {"Key": key}}
            deleted += 1
        elif canonical({"M": wanted[place]}) == canonical({"M": item}):
            del entries[place]
    places = list(entries)
    for first in range(0, len(places), _BATCH):
        yield from batch_write_flow({place: entries[place] for place in places[first : first + _BATCH]}, setup, "migrate restore")
    return {"items": len(wanted), "written": len(entries) - deleted, "deleted": deleted}


def _items(name: str) -> Flow[list[Item]]:
    payload: dict[str, Any] = {"TableName": name, "ConsistentRead": True}
    found: list[Item] = []
    while True:
        reply = yield Request("Scan", payload, "migrate restore")
        found += reply["Items"]
        if "LastEvaluatedKey" not in reply:
            return found
        payload["ExclusiveStartKey"] = reply["LastEvaluatedKey"]
