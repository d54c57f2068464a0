"""ExportTableToPointInTime, DescribeExport and ListExports."""

from collections.abc import Callable
from typing import Any

from gateleg.engine import export_job, point_in_time, transfers
from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, validation
from gateleg.engine.operations import transfer_lists
from gateleg.engine.operations.backups import table_not_found
from gateleg.engine.operations.recovery import recovery_off
from gateleg.engine.operations.times import iso_seconds
from gateleg.engine.schema import Table
from gateleg.engine.transfers import Transfer

#: Seconds that the period of an export of changes must and may have.
MIN_PERIOD_SECONDS = 15 * 60
MAX_PERIOD_SECONDS = 24 * 3600
#: Seconds for which a ClientToken makes a repeated request harmless.
TOKEN_SECONDS = 8 * 3600


def export_table_to_point_in_time(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Start an export of a table's items, or of its changes, to a bucket."""
    arn = request["TableArn"]
    name = transfer_lists.table_name(context, arn)
    _check(request)
    now = context.now()
    with context.database.write() as connection:
        table = context.catalog.find_table(context.namespace, name) if name is not None else None
        if table is None:
            raise table_not_found(arn)
        again = transfers.by_token(connection, "export", context.namespace, request.get("ClientToken") or "")
        if again is not None and now - again.started < TOKEN_SECONDS:
            if again.digest != transfer_lists.digest(request):
                raise EngineError("ExportConflictException", "Export conflict: Duplicate request detected with conflicting parameters")
            return {"ExportDescription": again.description}
        moment = (
            _period(table, request["IncrementalExportSpecification"], now) if _incremental(request) else _export_time(table, request, now)
        )
        transfer = _transfer(context, table, request, moment, now)
        transfers.add(connection, transfer)
    context.wake()
    return {"ExportDescription": transfer.description}


def _incremental(request: dict[str, Any]) -> bool:
    return request.get("ExportType") == "INCREMENTAL_EXPORT"


def _check(request: dict[str, Any]) -> None:
    """Refuse contradictory parameters and unsupported features."""
    period = request.get("IncrementalExportSpecification")
    if period is not None and request.get("ExportType") is None:
        raise validation("Invalid Request: Export Type expected to be Incremental Export when incremental export specification is provided")
    if period is not None and not _incremental(request):
        raise validation("Invalid Request: When Export Type is Full Export , Incremental Export Specification should not be provided")
    if _incremental(request):
        if period is None:
            raise validation("Invalid Request: Incremental Export Specification expected when export type is set as Incremental Export")
        if period.get("ExportFromTime") is None:
            raise validation("Invalid Request: ExportFromTime must be provided in IncrementalExportSpecification")
    if request.get("S3SseKmsKeyId") is not None and request.get("S3SseAlgorithm") != "KMS":
        raise validation("Invalid Request: KMS Key Id is not supported for this encryption type")
    if request.get("ExportFormat") == "ION":
        raise validation("Invalid Request: ExportFormat ION is not offered by this engine: use DYNAMODB_JSON")
    wanted = request.get("FilterSpecification")
    if wanted is not None:
        _check_filter(wanted, _incremental(request))


def _check_filter(wanted: dict[str, Any], incremental: bool) -> None:
    if not wanted:
        raise validation("Invalid Request: Invalid FilterSpecification: The specification can not be empty")
    if incremental or wanted.get("KeyConditionExpression") is not None:
        raise validation("Invalid Request: Invalid FilterSpecification: only a filter and a projection of a full export are offered")
    export_job.selection(wanted)


def _export_time(table: Table, request: dict[str, Any], now: float) -> dict[str, Any]:
    """The time of a full export."""
    window = point_in_time.window(table, now)
    if window is None:
        raise recovery_off(table.name)
    wanted: float | None = request.get("ExportTime")
    if wanted is not None and not int(window[0]) <= wanted <= window[1]:
        raise _time_error("Export Time is invalid")
    return {"ExportTime": now if wanted is None else max(wanted, window[0])}


def _period(table: Table, period: dict[str, Any], now: float) -> dict[str, Any]:
    """The period of an incremental export."""
    start, end = period["ExportFromTime"], period.get("ExportToTime") or now
    if start < int(table.created):
        raise _time_error(f"Incremental export period from time cannot be less than the table creation time : {iso_seconds(start)}")
    if end > now:
        raise _time_error(f"Incremental export period to time cannot be greater than the current time : {iso_seconds(end)}")
    if end - start < MIN_PERIOD_SECONDS:
        raise _time_error("Difference between export period from time and export period to time is less than 15 minutes")
    if end - start > MAX_PERIOD_SECONDS:
        raise _time_error("Difference between export period from time and export period to time is greater than 24 hours")
    window = point_in_time.window(table, now)
    if window is None:
        raise recovery_off(table.name)
    if start < int(window[0]):
        raise _time_error("Point in Time Recovery is not available for specified export time")
    view = period.get("ExportViewType") or "NEW_AND_OLD_IMAGES"
    return {"IncrementalExportSpecification": {"ExportFromTime": start, "ExportToTime": end, "ExportViewType": view}}


def _time_error(message: str) -> EngineError:
    return EngineError("InvalidExportTimeException", message)


def _transfer(context: Context, table: Table, request: dict[str, Any], moment: dict[str, Any], now: float) -> Transfer:
    arn = transfer_lists.new_arn(table.arn, "export", now)
    token = transfer_lists.token(request)
    description: dict[str, Any] = {
        "ExportArn": arn,
        "ExportStatus": "IN_PROGRESS",
        "StartTime": now,
        "TableArn": table.arn,
        "TableId": table.uuid,
        "ClientToken": token,
        "S3Bucket": request["S3Bucket"],
        "S3SseAlgorithm": request.get("S3SseAlgorithm") or "AES256",
        "ExportFormat": "DYNAMODB_JSON",
        **moment,
    }
    for member in ("S3BucketOwner", "S3Prefix", "S3SseKmsKeyId", "ExportType", "FilterSpecification"):
        if request.get(member) is not None:
            description[member] = request[member]
    digest = transfer_lists.digest(request)
    return Transfer(arn, "export", context.namespace, table.arn, table.uuid, now, request, description, token, digest)


def describe_export(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The state of an export."""
    arn = request["ExportArn"]
    transfer_lists.check_arn(context, arn, "export")
    if not arn.startswith(context.namespace.arn("")):
        raise EngineError("ExportNotFoundException", "Export not found: Invalid export arn")
    with context.database.reading() as connection:
        found = transfers.find(connection, arn)
    if found is None or found.kind != "export":
        raise EngineError("ExportNotFoundException", f"Export not found: Export not found: {arn}")
    return {"ExportDescription": found.description}


def list_exports(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """List exports of a table that exists, or all, newest first."""
    arn = request.get("TableArn")
    with context.database.reading() as connection:
        found = transfers.list_transfers(connection, "export", context.namespace, arn)
    if arn is not None:
        name = transfer_lists.table_name(context, arn)
        table = context.catalog.find_table(context.namespace, name) if name is not None else None
        found = [transfer for transfer in found if table is not None and transfer.table_uuid == table.uuid]
    limit = request.get("MaxResults") or transfer_lists.PAGE
    shown, token = transfer_lists.page(found, "export", limit, request.get("NextToken"))
    response: dict[str, Any] = {"ExportSummaries": [_summary(transfer.description) for transfer in shown]}
    if token is not None:
        response["NextToken"] = token
    return response


def _summary(description: dict[str, Any]) -> dict[str, Any]:
    return {
        "ExportArn": description["ExportArn"],
        "ExportStatus": description["ExportStatus"],
        "ExportType": description.get("ExportType") or "FULL_EXPORT",
    }


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "ExportTableToPointInTime": export_table_to_point_in_time,
    "DescribeExport": describe_export,
    "ListExports": list_exports,
}
