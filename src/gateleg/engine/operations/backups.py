"""CreateBackup, DescribeBackup, ListBackups and DeleteBackup."""

import re
from collections.abc import Callable
from typing import Any

import apsw

from gateleg.engine import copies, copy_steps, stored_backups
from gateleg.engine.context import Context
from gateleg.engine.definitions import load
from gateleg.engine.errors import EngineError, validation
from gateleg.engine.operations.definition import ON_DEMAND, table_name_of
from gateleg.engine.operations.description import describe, no_items
from gateleg.engine.operations.times import iso_milliseconds
from gateleg.engine.schema import Index, Table
from gateleg.engine.stored_backups import Backup

_PAGE = 100
_ARN = re.compile(r"arn:([^:]*):([^:]*):([^:]*):([^:]*):table/([a-zA-Z0-9_.-]+)/backup/([0-9]+-[0-9a-f]+)")
_KINDS = {"USER": ("USER",), "SYSTEM": ("SYSTEM",), "AWS_BACKUP": ("AWS_BACKUP",), "ALL": ("USER", "SYSTEM", "AWS_BACKUP")}


def create_backup(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Create a backup of a table."""
    name = request["TableName"]
    counted = context.statistics(_source_table(context, name))  # slow, so outside of the transaction
    with context.database.write() as connection:
        table = _source_table(context, name)
        if copies.is_source(connection, f"items_{table.id}"):
            raise backup_in_use()
        backup, copy = stored_backups.begin(connection, table, request["BackupName"], context.now(), counted)
        copy_steps.begin(context.catalog, connection, copy)
    context.wake()
    return {"BackupDetails": _details(backup, "CREATING")}


def _source_table(context: Context, name: str) -> Table:
    table = context.catalog.find_table(context.namespace, table_name_of(name))
    if table is None:
        raise table_not_found(name)
    if table.status == "CREATING":
        raise EngineError("TableInUseException", f"Table is being created: {table.name}")
    return table


def backup_in_use() -> EngineError:
    """The error for a backup that is being created or restored, and for a second one of a table meanwhile."""
    return EngineError(
        "BackupInUseException",
        "There is another ongoing conflicting backup control plane operation on the table. "
        "The backup is either being created, deleted or restored to a table",
    )


def describe_backup(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Describe a backup and its source table."""
    with context.database.reading() as connection:
        backup = find(connection, context, request["BackupArn"])
    return {"BackupDescription": _description(backup, _status(backup))}


def delete_backup(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Delete a user's backup."""
    with context.database.write() as connection:
        backup = find(connection, context, request["BackupArn"])
        if backup.expires is not None:
            raise validation(
                f"User is not allowed to delete the system backup with arn {backup.arn}. "
                f"It will automatically expire on {iso_milliseconds(backup.expires)}"
            )
        if not backup.complete or copies.is_source(connection, backup.rows):
            raise backup_in_use()
        stored_backups.remove(connection, backup)
    context.wake()
    return {"BackupDescription": _description(backup, "DELETED")}


def list_backups(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """List backups in order of creation, page by page."""
    lower, upper = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    if lower is not None and upper is not None and lower > upper:
        raise validation("Time range lower bound must be less than or equal to upper bound")
    name = request.get("TableName")
    kinds = _KINDS[request.get("BackupType") or "USER"]
    with context.database.reading() as connection:
        found = stored_backups.list_backups(connection, context.namespace, table_name_of(name) if name else None, kinds, context.now())
    start = request.get("ExclusiveStartBackupArn")
    after = _sort_key(_local_arn(context, start)) if start is not None else ("", "")
    backups = sorted(
        (
            backup
            for backup in found
            if (lower is None or backup.created >= lower) and (upper is None or backup.created < upper) and _sort_key(backup.arn) > after
        ),
        key=lambda backup: _sort_key(backup.arn),
    )
    limit = request.get("Limit") or _PAGE
    response: dict[str, Any] = {"BackupSummaries": [_summary(backup) for backup in backups[:limit]]}
    if len(backups) > limit:
        response["LastEvaluatedBackupArn"] = backups[limit - 1].arn
    return response


def _sort_key(arn: str) -> tuple[str, str]:
    """The sort key of a backup: the time in its ARN, then the ARN."""
    return arn.rpartition("/")[2], arn


def _local_arn(context: Context, arn: str) -> str:
    """A backup's ARN in this namespace; DynamoDB ignores the region in it."""
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
    """The backup with that ARN; raises DynamoDB's error if there is none."""
    backup = stored_backups.find(connection, _local_arn(context, arn), context.now())
    if backup is None:
        raise EngineError("BackupNotFoundException", f"Backup not found: {arn}")
    return backup


def table_not_found(name: str) -> EngineError:
    """The error of backups, recovery and exports for a missing table."""
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
    described = describe(table, no_items)
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
