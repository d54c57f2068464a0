"""CreateBackup, DescribeBackup, ListBackups and DeleteBackup."""

import re
from collections.abc import Callable
from typing import Any

import apsw

from gateleg.engine import archive, copies, copying
from gateleg.engine.archive import Backup
from gateleg.engine.catalog import load
from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, validation
from gateleg.engine.operations.definition import ON_DEMAND, bare_name
from gateleg.engine.operations.description import describe, nothing
from gateleg.engine.operations.times import iso_milliseconds
from gateleg.engine.schema import Index, Table

_PAGE = 100
_ARN = re.compile(r"arn:([^:]*):([^:]*):([^:]*):([^:]*):table/([a-zA-Z0-9_.-]+)/backup/([0-9]+-[0-9a-f]+)")
_KINDS = {"USER": ("USER",), "SYSTEM": ("SYSTEM",), "AWS_BACKUP": ("AWS_BACKUP",), "ALL": ("USER", "SYSTEM", "AWS_BACKUP")}


def create_backup(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """A copy of a table as it is now."""
    name = request["TableName"]
    counted = context.statistics(_source_table(context, name))  # which takes time, and holds nobody up here
    with context.database.write() as connection:
        table = _source_table(context, name)
        if copies.reads_from(connection, f"items_{table.id}"):
            raise backup_in_use()
        backup, copy = archive.begin(connection, table, request["BackupName"], context.now(), counted)
        copying.begin(context.catalog, connection, copy)
    context.wake()
    return {"BackupDetails": _details(backup, "CREATING")}


def _source_table(context: Context, name: str) -> Table:
    table = context.catalog.lookup(context.namespace, bare_name(name))
    if table is None:
        raise table_not_found(name)
    if table.status == "CREATING":
        raise EngineError("TableInUseException", f"Table is being created: {table.name}")
    return table


def backup_in_use() -> EngineError:
    """The error for a backup that is being made or restored, and for a second one of a table meanwhile."""
    return EngineError(
        "BackupInUseException",
        "There is another ongoing conflicting backup control plane operation on the table. "
        "The backup is either being created, deleted or restored to a table",
    )


def describe_backup(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """A backup, and what it holds of the table it was taken of."""
    with context.database.reading() as connection:
        backup = find(connection, context, request["BackupArn"])
    return {"BackupDescription": _description(backup, _status(backup))}


def delete_backup(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Remove a backup that a user took."""
    with context.database.write() as connection:
        backup = find(connection, context, request["BackupArn"])
        if backup.expires is not None:
            raise validation(
                f"User is not allowed to delete the system backup with arn {backup.arn}. "
                f"It will automatically expire on {iso_milliseconds(backup.expires)}"
            )
        if not backup.complete or copies.reads_from(connection, backup.rows):
            raise backup_in_use()
        archive.remove(connection, backup)
    context.wake()
    return {"BackupDescription": _description(backup, "DELETED")}


def list_backups(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Backups in the order in which they were taken, a page at a time."""
    lower, upper = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    if lower is not None and upper is not None and lower > upper:
        raise validation("Time range lower bound must be less than or equal to upper bound")
    name = request.get("TableName")
    kinds = _KINDS[request.get("BackupType") or "USER"]
    with context.database.reading() as connection:
        found = archive.listed(connection, context.namespace, bare_name(name) if name else None, kinds, context.now())
    start = request.get("ExclusiveStartBackupArn")
    after = _place(_own_arn(context, start)) if start is not None else ("", "")
    backups = sorted(
        (
            backup
            for backup in found
            if (lower is None or backup.created >= lower) and (upper is None or backup.created < upper) and _place(backup.arn) > after
        ),
        key=lambda backup: _place(backup.arn),
    )
    limit = request.get("Limit") or _PAGE
    answer: dict[str, Any] = {"BackupSummaries": [_summary(backup) for backup in backups[:limit]]}
    if len(backups) > limit:
        answer["LastEvaluatedBackupArn"] = backups[limit - 1].arn
    return answer


def _place(arn: str) -> tuple[str, str]:
    """What backups are ordered by: the time in the ARN, then the ARN."""
    return arn.rpartition("/")[2], arn


def _own_arn(context: Context, arn: str) -> str:
    """A backup's ARN as this namespace has it: DynamoDB pays no heed to the region in it."""
    found = _ARN.fullmatch(arn)
    if found is None:
        raise validation("Invalid Backup ARN")
    partition, service, _, account, name, number = found.groups()
    if not partition.startswith("aws") or service != "dynamodb":
        raise validation("BackupArn is not valid")
    if account != context.namespace.account:
        raise EngineError("AccessDeniedException", "Access is denied")
    return context.namespace.arn(f"table/{name}/backup/{number}")


def find(connection: apsw.Connection, context: Context, arn: str) -> Backup:
    """The backup with that ARN, or DynamoDB's error."""
    backup = archive.find(connection, _own_arn(context, arn), context.now())
    if backup is None:
        raise EngineError("BackupNotFoundException", f"Backup not found: {arn}")
    return backup


def table_not_found(name: str) -> EngineError:
    """The error of backups, recovery and exports for a table that is not there."""
    return EngineError("TableNotFoundException", f"Table not found: {name}")


def _details(backup: Backup, status: str) -> dict[str, Any]:
    details: dict[str, Any] = {
        "BackupArn": backup.arn,
        "BackupName": backup.name,
        "BackupSizeBytes": backup.size,
        "BackupStatus": status,
        "BackupType": backup.type,
        "BackupCreationDateTime": backup.created,
    }
    if backup.expires is not None:
        details["BackupExpiryDateTime"] = backup.expires
    return details


def _summary(backup: Backup) -> dict[str, Any]:
    table = load(backup.definition)
    return {"TableName": table.name, "TableId": table.uuid, "TableArn": table.arn, **_details(backup, _status(backup))}


def _status(backup: Backup) -> str:
    return "AVAILABLE" if backup.complete else "CREATING"


def _description(backup: Backup, status: str) -> dict[str, Any]:
    table = load(backup.definition)
    return {
        "BackupDetails": _details(backup, status),
        "SourceTableDetails": _source(backup, table),
        "SourceTableFeatureDetails": _features(table) if backup.type == "USER" else {},
    }


def _source(backup: Backup, table: Table) -> dict[str, Any]:
    throughput = table.settings.get("ProvisionedThroughput") or {}
    source: dict[str, Any] = {
        "TableName": table.name,
        "TableId": table.uuid,
        "TableArn": table.arn,
        "TableSizeBytes": backup.size,
        "KeySchema": table.keys.wire(),
        "TableCreationDateTime": table.created,
        "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0} | throughput,
        "ItemCount": backup.items,
        "BillingMode": table.settings.get("BillingMode", ON_DEMAND),
    }
    if "OnDemandThroughput" in table.settings:
        source["OnDemandThroughput"] = table.settings["OnDemandThroughput"]
    return source


def _features(table: Table) -> dict[str, Any]:
    features: dict[str, Any] = {}
    for kind, member in (("LSI", "LocalSecondaryIndexes"), ("GSI", "GlobalSecondaryIndexes")):
        of_kind = [_index(index) for index in table.indexes if index.kind == kind]
        if of_kind:
            features[member] = of_kind
    if table.stream is not None:
        features["StreamDescription"] = {"StreamEnabled": True, "StreamViewType": table.stream}
    if table.ttl is not None:
        features["TimeToLiveDescription"] = {"TimeToLiveStatus": "ENABLED", "AttributeName": table.ttl}
    described = describe(table, nothing)
    if "SSEDescription" in described:
        features["SSEDescription"] = described["SSEDescription"]
    return features


def _index(index: Index) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if index.include:
        projection["NonKeyAttributes"] = list(index.include)
    described: dict[str, Any] = {"IndexName": index.name, "KeySchema": index.keys.wire(), "Projection": projection}
    if index.kind == "GSI":
        throughput = index.settings.get("ProvisionedThroughput") or {}
        described["ProvisionedThroughput"] = {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0} | throughput
    return described


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "CreateBackup": create_backup,
    "DescribeBackup": describe_backup,
    "ListBackups": list_backups,
    "DeleteBackup": delete_backup,
}
