"""UpdateContinuousBackups, DescribeContinuousBackups, RestoreTableToPointInTime and RestoreTableFromBackup."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gateleg.engine import changelog, copies, point_in_time
from gateleg.engine.context import Context
from gateleg.engine.definitions import load
from gateleg.engine.errors import EngineError, invalid_parameter, validation
from gateleg.engine.operations import backups, restores
from gateleg.engine.operations.definition import table_name_of
from gateleg.engine.operations.times import iso_seconds
from gateleg.engine.schema import Table

MAX_RECOVERY_DAYS = 35


def update_continuous_backups(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Enable or disable point-in-time recovery, or change its period."""
    wanted = request["PointInTimeRecoverySpecification"]
    days = wanted.get("RecoveryPeriodInDays")
    if not wanted["PointInTimeRecoveryEnabled"] and days is not None:
        raise validation("Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery.")
    with context.database.write() as connection:
        table = _table(context, request["TableName"])
        now = context.now()
        # Changes before the current window may be trimmed already, so a longer period does not extend it backwards.
        since = (point_in_time.window(table, now) or (now,))[0] if wanted["PointInTimeRecoveryEnabled"] else None
        table = replace(table, recovery_since=since, recovery_days=days or MAX_RECOVERY_DAYS)
        context.catalog.replace(connection, table)
    return _described(table, now)


def describe_continuous_backups(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Whether a table can be restored, and to which times."""
    return _described(_table(context, request["TableName"]), context.now())


def _table(context: Context, name: str) -> Table:
    table = context.catalog.find_table(context.namespace, table_name_of(name))
    if table is None:
        raise backups.table_not_found(name)
    return table


def _described(table: Table, now: float) -> dict[str, Any]:
    window = point_in_time.window(table, now)
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
    wanted, latest = request.get("RestoreDateTime"), request.get("UseLatestRestorableTime")
    if wanted is not None and latest:
        raise validation(
            "Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set for point-in-time restore request. "
            "Please specify only one of them"
        )
    if wanted is None and not latest:
        raise validation("Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both")
    with context.database.write() as connection:
        source = context.catalog.find_table(context.namespace, name)
        if source is None:
            raise backups.table_not_found(name)
        now = context.now()
        at = _restore_time(source, wanted, now)
        restores.check_target(context, request["TargetTableName"])
        table = restores.plan(source, request, context.namespace, now)
        summary = {"SourceTableArn": source.arn, "RestoreDateTime": at}
        cut = changelog.first_after(connection, source.id, at)
        response = restores.restore(context, connection, table, summary, lambda rows: copies.of_table(connection, source, rows, cut))
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
    found = re.fullmatch(r"arn:aws[a-z-]*:dynamodb:[^:]*:([0-9]+):table/([a-zA-Z0-9_.-]{3,255})", arn)
    if found is None:
        raise invalid_parameter("sourceTableArn is not a valid ARN")
    if found[1] != context.namespace.account:
        raise validation("This action is only supported by accounts that match the resource owner's account")
    return found[2]


def _restore_time(source: Table, wanted: float | None, now: float) -> float:
    """The time to restore to, which must be in the source's window."""
    window = point_in_time.window(source, now)
    if window is None:
        raise recovery_off(source.name)
    if wanted is None:
        return now
    earliest, latest = window
    if not int(earliest) <= wanted <= latest:
        raise EngineError(
            "InvalidRestoreTimeException",
            f"RestoreDateTime '{iso_seconds(wanted)}' must be within EarliestRestorableDateTime '{iso_seconds(earliest)}' "
            f"and LatestRestorableDateTime '{iso_seconds(latest)}'",
        )
    return max(wanted, earliest)


def recovery_off(name: str) -> EngineError:
    """The error for a table without point-in-time recovery."""
    return EngineError("PointInTimeRecoveryUnavailableException", f"Point in time recovery is not enabled for table '{name}'")


def restore_table_from_backup(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Create a table from a backup."""
    with context.database.write() as connection:
        backup = backups.find(connection, context, request["BackupArn"])
        if not backup.complete:
            raise backups.backup_in_use()
        source = load(backup.definition)
        restores.check_target(context, request["TargetTableName"])
        table = restores.plan(source, request, context.namespace, context.now())
        summary = {"SourceBackupArn": backup.arn, "SourceTableArn": source.arn, "RestoreDateTime": backup.created}
        response = restores.restore(context, connection, table, summary, lambda rows: copies.of_backup(connection, backup.rows, rows))
    context.wake()
    return response


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "UpdateContinuousBackups": update_continuous_backups,
    "DescribeContinuousBackups": describe_continuous_backups,
    "RestoreTableToPointInTime": restore_table_to_point_in_time,
    "RestoreTableFromBackup": restore_table_from_backup,
}
