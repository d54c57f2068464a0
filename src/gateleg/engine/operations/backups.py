"""Backups and restores: the operations on stored backups, on point-in-time recovery, and those that restore from either.

A restored table keeps what `_restored_table` takes from its source, apart from what the request overrides.
"""

import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import apsw

from gateleg.engine import changelog, long_work, stored_backups
from gateleg.engine.catalog import Context
from gateleg.engine.errors import EngineError, invalid_parameter, validation
from gateleg.engine.file_format import load_table
from gateleg.engine.long_work import Copy
from gateleg.engine.operations.definition import (
    ON_DEMAND,
    check_bounds,
    describe,
    encryption,
    iso_milliseconds,
    iso_seconds,
    no_items,
    table_name_of,
)
from gateleg.engine.schema import Index, Namespace, Table
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
        if long_work.is_being_copied(connection, f"items_{table.id}"):
            raise _backup_in_use()
        backup, copy = stored_backups.begin_backup(connection, table, request["BackupName"], context.now(), counted)
        stored_backups.begin_copy(context.catalog, connection, copy)
    context.wake()
    return {"BackupDetails": _details(backup, "CREATING")}


def _source_table(context: Context, name: str) -> Table:
    table = context.catalog.find_table(context.namespace, table_name_of(name))
    if table is None:
        raise table_not_found(name)
    if table.status == "CREATING":
        raise EngineError("TableInUseException", f"Table is being created: {table.name}")
    return table


def _backup_in_use() -> EngineError:
    """The error for a backup that is being created or restored, and for a second one of a table meanwhile."""
    return EngineError(
        "BackupInUseException",
        "There is another ongoing conflicting backup control plane operation on the table. "
        "The backup is either being created, deleted or restored to a table",
    )


def describe_backup(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Describe a backup and its source table."""
    with context.database.reading() as connection:
        backup = _find_backup(connection, context, request["BackupArn"])
    return {"BackupDescription": _description(backup, _status(backup))}


def delete_backup(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Delete a user's backup."""
    with context.database.write() as connection:
        backup = _find_backup(connection, context, request["BackupArn"])
        if backup.expires is not None:
            raise validation(
                f"User is not allowed to delete the system backup with arn {backup.arn}. "
                f"It will automatically expire on {iso_milliseconds(backup.expires)}"
            )
        if not backup.complete or long_work.is_being_copied(connection, backup.rows):
            raise _backup_in_use()
        stored_backups.remove_backup(connection, backup)
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
        stored = stored_backups.list_backups(connection, context.namespace, table_name_of(name) if name else None, kinds, context.now())
    start = request.get("ExclusiveStartBackupArn")
    after = _sort_key(_local_arn(context, start)) if start is not None else ("", "")
    backups = sorted(
        (
            backup
            for backup in stored
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
    parts = _ARN.fullmatch(arn)
    if parts is None:
        raise validation("Invalid Backup ARN")
    partition, service, _, account, name, number = parts.groups()
    if not partition.startswith("aws") or service != "dynamodb":
        raise validation("BackupArn is not valid")
    if account != context.namespace.account:
        raise EngineError("AccessDeniedException", "Access is denied")
    return context.namespace.arn(f"table/{name}/backup/{number}")


def _find_backup(connection: apsw.Connection, context: Context, arn: str) -> Backup:
    """The backup with that ARN; raises DynamoDB's error if there is none."""
    backup = stored_backups.find_backup(connection, _local_arn(context, arn), context.now())
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
    table = load_table(backup.definition)
    return {"TableName": table.name, "TableId": table.uuid, "TableArn": table.arn, **_details(backup, _status(backup))}


def _status(backup: Backup) -> str:
    return "AVAILABLE" if backup.complete else "CREATING"


def _description(backup: Backup, status: str) -> dict[str, Any]:
    table = load_table(backup.definition)
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


#: Starts copying the source's rows into the SQLite table of that name.
Begin = Callable[[str], Copy]

_RESTORED_SETTINGS = ("BillingMode", "ProvisionedThroughput", "OnDemandThroughput", "SSESpecification", "OnDemandSince")


def _restored_table(source: Table, request: dict[str, Any], namespace: Namespace, now: float) -> Table:
    """The definition of the restored table. Streams, TTL, recovery, tags, protection and the table class are not restored."""
    settings = _settings(source, request)
    indexes = (
        *_indexes(source, "LSI", request.get("LocalSecondaryIndexOverride"), settings),
        *_indexes(source, "GSI", request.get("GlobalSecondaryIndexOverride"), settings),
    )
    used = set(source.keys.names).union(*(index.keys.names for index in indexes))
    return Table(
        id=0,
        uuid=str(uuid.uuid4()),
        namespace=namespace,
        name=request["TargetTableName"],
        created=now,
        definitions={name: kind for name, kind in source.definitions.items() if name in used},
        keys=source.keys,
        indexes=indexes,
        status="CREATING",
        restoring=True,
        settings=settings,
    )


def _settings(source: Table, request: dict[str, Any]) -> dict[str, Any]:
    settings = {member: source.settings[member] for member in _RESTORED_SETTINGS if member in source.settings}
    was = settings.get("BillingMode", ON_DEMAND)
    billing = settings["BillingMode"] = request.get("BillingModeOverride") or was
    throughput = request.get("ProvisionedThroughputOverride")
    if billing == ON_DEMAND:
        if throughput is not None:
            raise validation("Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED")
        settings.pop("ProvisionedThroughput", None)
    elif throughput is not None:
        check_bounds(throughput)
        settings["ProvisionedThroughput"] = dict(throughput)
    elif was == ON_DEMAND:
        raise validation("Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED")
    _override_maxima(settings, request.get("OnDemandThroughputOverride"))
    if request.get("SSESpecificationOverride") is not None:
        settings.pop("SSESpecification", None)
        settings |= encryption(request["SSESpecificationOverride"])
    return settings


def _override_maxima(settings: dict[str, Any], maxima: dict[str, Any] | None) -> None:
    if settings["BillingMode"] != ON_DEMAND:
        settings.pop("OnDemandThroughput", None)
    if not maxima:
        return
    for member in ("MaxReadRequestUnits", "MaxWriteRequestUnits"):
        if maxima.get(member) == 0:
            raise validation(f"Requested {member} for OnDemandThroughput is outside of valid range")
    settings["OnDemandThroughput"] = dict(maxima)


def _indexes(source: Table, kind: str, override: list[dict[str, Any]] | None, settings: dict[str, Any]) -> Iterable[Index]:
    """The indexes to restore: all, or those that the override names. An empty override restores none."""
    had = {index.name: index for index in source.indexes if index.kind == kind}
    if override is None:
        return [_restored_index(index, None, settings) for index in had.values()]
    chosen = []
    for spec in override:
        index = had.get(spec["IndexName"])
        if index is None:
            raise validation(
                f"Index {spec['IndexName']} does not match a secondary index that existed in the source table "
                "and cannot be created during the restore operation"
            )
        chosen.append(_restored_index(index, spec, settings))
    return chosen


def _restored_index(index: Index, spec: dict[str, Any] | None, settings: dict[str, Any]) -> Index:
    kept = dict(index.settings)
    if spec is not None:
        kept |= {member: spec[member] for member in ("ProvisionedThroughput", "OnDemandThroughput") if spec.get(member) is not None}
    if settings["BillingMode"] == ON_DEMAND:
        kept.pop("ProvisionedThroughput", None)
    elif index.kind == "GSI":
        kept.setdefault("ProvisionedThroughput", settings["ProvisionedThroughput"])
    return replace(index, id=0, status="CREATING", settings=kept)


def _check_target(context: Context, name: str) -> None:
    """Refuse to restore into an existing table."""
    table = context.catalog.find_table(context.namespace, name)
    if table is None:
        return
    summary = table.settings.get("RestoreSummary")
    if table.status == "CREATING" and summary is not None:
        origin = summary.get("SourceBackupArn") or summary["SourceTableArn"]
        raise EngineError("TableInUseException", f"Table: {name} is already being restored from backup: {origin}")
    raise EngineError("TableAlreadyExistsException", f"Table already exists: {name}")


def _begin_restore(context: Context, connection: apsw.Connection, table: Table, summary: dict[str, Any], begin: Begin) -> dict[str, Any]:
    """Create the table and start filling it. Small tables are complete at once; large ones are CREATING until they are filled."""
    table = replace(table, settings={**table.settings, "RestoreSummary": {**summary, "RestoreInProgress": True}})
    table = context.catalog.create(connection, table)
    stored_backups.begin_copy(context.catalog, connection, begin(f"items_{table.id}"))
    return {"TableDescription": describe(table, no_items)}


MAX_RECOVERY_DAYS = 35


def update_continuous_backups(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Enable or disable point-in-time recovery, or change its period."""
    specification = request["PointInTimeRecoverySpecification"]
    days = specification.get("RecoveryPeriodInDays")
    if not specification["PointInTimeRecoveryEnabled"] and days is not None:
        raise validation("Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery.")
    with context.database.write() as connection:
        table = _recoverable_table(context, request["TableName"])
        now = context.now()
        # Changes before the current window may be trimmed already, so a longer period does not extend it backwards.
        since = (stored_backups.recovery_window(table, now) or (now,))[0] if specification["PointInTimeRecoveryEnabled"] else None
        table = replace(table, recovery_since=since, recovery_days=days or MAX_RECOVERY_DAYS)
        context.catalog.replace(connection, table)
    return _describe_recovery(table, now)


def describe_continuous_backups(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Whether a table can be restored, and to which times."""
    return _describe_recovery(_recoverable_table(context, request["TableName"]), context.now())


def _recoverable_table(context: Context, name: str) -> Table:
    table = context.catalog.find_table(context.namespace, table_name_of(name))
    if table is None:
        raise table_not_found(name)
    return table


def _describe_recovery(table: Table, now: float) -> dict[str, Any]:
    window = stored_backups.recovery_window(table, now)
    status: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
    if window is not None:
        status = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": table.recovery_days,
            "EarliestRestorableDateTime": int(window[0]),
            "LatestRestorableDateTime": int(window[1]),
        }
    return {"ContinuousBackupsDescription": {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": status}}


def restore_table_to_point_in_time(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Create a table with the items that another one had at a time."""
    name = _source_name(context, request)
    requested, latest = request.get("RestoreDateTime"), request.get("UseLatestRestorableTime")
    if requested is not None and latest:
        raise validation(
            "Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set for point-in-time restore request. "
            "Please specify only one of them"
        )
    if requested is None and not latest:
        raise validation("Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both")
    with context.database.write() as connection:
        source = context.catalog.find_table(context.namespace, name)
        if source is None:
            raise table_not_found(name)
        now = context.now()
        at = _restore_time(source, requested, now)
        _check_target(context, request["TargetTableName"])
        table = _restored_table(source, request, context.namespace, now)
        summary = {"SourceTableArn": source.arn, "RestoreDateTime": at}
        cut = changelog.first_after(connection, source.id, at)
        response = _begin_restore(
            context, connection, table, summary, lambda rows: long_work.begin_copy_of_table(connection, source, rows, cut)
        )
    context.wake()
    return response


def _source_name(context: Context, request: dict[str, Any]) -> str:
    name: str | None = request.get("SourceTableName")
    arn: str | None = request.get("SourceTableArn")
    if name is not None and arn is not None:
        raise validation("Must provide exactly one of: sourceTableArn, sourceTableName")
    if name is not None:
        return name
    if arn is None:
        raise validation("The parameter 'TableName' is required but was not present in the request")
    parts = re.fullmatch(r"arn:aws[a-z-]*:dynamodb:[^:]*:([0-9]+):table/([a-zA-Z0-9_.-]{3,255})", arn)
    if parts is None:
        raise invalid_parameter("sourceTableArn is not a valid ARN")
    if parts[1] != context.namespace.account:
        raise validation("This action is only supported by accounts that match the resource owner's account")
    return parts[2]


def _restore_time(source: Table, requested: float | None, now: float) -> float:
    """The time to restore to, which must be in the source's window."""
    window = stored_backups.recovery_window(source, now)
    if window is None:
        raise recovery_off(source.name)
    if requested is None:
        return now
    earliest, latest = window
    if not int(earliest) <= requested <= latest:
        raise EngineError(
            "InvalidRestoreTimeException",
            f"RestoreDateTime '{iso_seconds(requested)}' must be within EarliestRestorableDateTime '{iso_seconds(earliest)}' "
            f"and LatestRestorableDateTime '{iso_seconds(latest)}'",
        )
    return max(requested, earliest)


def recovery_off(name: str) -> EngineError:
    """The error for a table without point-in-time recovery."""
    return EngineError("PointInTimeRecoveryUnavailableException", f"Point in time recovery is not enabled for table '{name}'")


def restore_table_from_backup(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Create a table from a backup."""
    with context.database.write() as connection:
        backup = _find_backup(connection, context, request["BackupArn"])
        if not backup.complete:
            raise _backup_in_use()
        source = load_table(backup.definition)
        _check_target(context, request["TargetTableName"])
        table = _restored_table(source, request, context.namespace, context.now())
        summary = {"SourceBackupArn": backup.arn, "SourceTableArn": source.arn, "RestoreDateTime": backup.created}
        response = _begin_restore(
            context, connection, table, summary, lambda rows: long_work.begin_copy_of_backup(connection, backup.rows, rows)
        )
    context.wake()
    return response


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "CreateBackup": create_backup,
    "DescribeBackup": describe_backup,
    "ListBackups": list_backups,
    "DeleteBackup": delete_backup,
    "UpdateContinuousBackups": update_continuous_backups,
    "DescribeContinuousBackups": describe_continuous_backups,
    "RestoreTableToPointInTime": restore_table_to_point_in_time,
    "RestoreTableFromBackup": restore_table_from_backup,
}
