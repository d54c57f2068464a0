"""ExportTableToPointInTime, ImportTable, and the operations that describe and list exports and imports.

They store jobs, which `gateleg.engine.transfers` runs.
"""

import re
import uuid
from collections.abc import Callable
from hashlib import sha256
from secrets import token_hex
from typing import Any

import orjson

from gateleg.engine import stored_backups, transfers
from gateleg.engine.catalog import Context
from gateleg.engine.errors import EngineError, in_use, invalid_parameter, validation
from gateleg.engine.operations import definition
from gateleg.engine.operations.backups import recovery_off, table_not_found
from gateleg.engine.operations.definition import iso_seconds
from gateleg.engine.schema import Table
from gateleg.engine.transfers import Transfer

#: Seconds that the period of an export of changes must and may have.
MIN_PERIOD_SECONDS = 15 * 60
MAX_PERIOD_SECONDS = 24 * 3600
#: Seconds for which a ClientToken makes a repeated request harmless.
TOKEN_SECONDS = 8 * 3600
PAGE = 25

_TABLE_ARN = re.compile(r"arn:aws[a-z-]*:dynamodb:([^:]*):([^:]*):table/(.+)")
_SUMMARY_MEMBERS = (
    "ImportArn",
    "ImportStatus",
    "TableArn",
    "S3BucketSource",
    "CloudWatchLogGroupArn",
    "InputFormat",
    "StartTime",
    "EndTime",
)


def export_table_to_point_in_time(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Start an export of a table's items, or of its changes, to a bucket."""
    arn = request["TableArn"]
    name = _name_in_arn(context, arn)
    _check_export(request)
    now = context.now()
    with context.database.write() as connection:
        table = context.catalog.find_table(context.namespace, name) if name is not None else None
        if table is None:
            raise table_not_found(arn)
        again = transfers.by_token(connection, "export", context.namespace, request.get("ClientToken") or "")
        if again is not None and now - again.started < TOKEN_SECONDS:
            if again.digest != _digest_of(request):
                raise EngineError("ExportConflictException", "Export conflict: Duplicate request detected with conflicting parameters")
            return {"ExportDescription": again.description}
        moment = (
            _period(table, request["IncrementalExportSpecification"], now) if _incremental(request) else _export_time(table, request, now)
        )
        transfer = _export_of(context, table, request, moment, now)
        transfers.add(connection, transfer)
    context.wake()
    return {"ExportDescription": transfer.description}


def _incremental(request: dict[str, Any]) -> bool:
    return request.get("ExportType") == "INCREMENTAL_EXPORT"


def _check_export(request: dict[str, Any]) -> None:
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
    filter_ = request.get("FilterSpecification")
    if filter_ is not None:
        _check_filter(filter_, _incremental(request))


def _check_filter(specification: dict[str, Any], incremental: bool) -> None:
    if not specification:
        raise validation("Invalid Request: Invalid FilterSpecification: The specification can not be empty")
    if incremental or specification.get("KeyConditionExpression") is not None:
        raise validation("Invalid Request: Invalid FilterSpecification: only a filter and a projection of a full export are offered")
    transfers.selection(specification)


def _export_time(table: Table, request: dict[str, Any], now: float) -> dict[str, Any]:
    """The time of a full export."""
    window = stored_backups.recovery_window(table, now)
    if window is None:
        raise recovery_off(table.name)
    requested: float | None = request.get("ExportTime")
    if requested is not None and not int(window[0]) <= requested <= window[1]:
        raise _time_error("Export Time is invalid")
    return {"ExportTime": now if requested is None else max(requested, window[0])}


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
    window = stored_backups.recovery_window(table, now)
    if window is None:
        raise recovery_off(table.name)
    if start < int(window[0]):
        raise _time_error("Point in Time Recovery is not available for specified export time")
    view = period.get("ExportViewType") or "NEW_AND_OLD_IMAGES"
    return {"IncrementalExportSpecification": {"ExportFromTime": start, "ExportToTime": end, "ExportViewType": view}}


def _time_error(message: str) -> EngineError:
    return EngineError("InvalidExportTimeException", message)


def _export_of(context: Context, table: Table, request: dict[str, Any], moment: dict[str, Any], now: float) -> Transfer:
    arn = _new_arn(table.arn, "export", now)
    token = _client_token(request)
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
    digest = _digest_of(request)
    return Transfer(arn, "export", context.namespace, table.arn, table.uuid, now, request, description, token, digest)


def describe_export(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The state of an export."""
    arn = request["ExportArn"]
    _check_arn(context, arn, "export")
    if not arn.startswith(context.namespace.arn("")):
        raise EngineError("ExportNotFoundException", "Export not found: Invalid export arn")
    with context.database.reading() as connection:
        transfer = transfers.find(connection, arn)
    if transfer is None or transfer.kind != "export":
        raise EngineError("ExportNotFoundException", f"Export not found: Export not found: {arn}")
    return {"ExportDescription": transfer.description}


def list_exports(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """List exports of a table that exists, or all, newest first."""
    arn = request.get("TableArn")
    with context.database.reading() as connection:
        exports = transfers.list_transfers(connection, "export", context.namespace, arn)
    if arn is not None:
        name = _name_in_arn(context, arn)
        table = context.catalog.find_table(context.namespace, name) if name is not None else None
        exports = [transfer for transfer in exports if table is not None and transfer.table_uuid == table.uuid]
    limit = request.get("MaxResults") or PAGE
    page, token = _page(exports, "export", limit, request.get("NextToken"))
    response: dict[str, Any] = {"ExportSummaries": [_summary(transfer.description) for transfer in page]}
    if token is not None:
        response["NextToken"] = token
    return response


def _summary(description: dict[str, Any]) -> dict[str, Any]:
    return {
        "ExportArn": description["ExportArn"],
        "ExportStatus": description["ExportStatus"],
        "ExportType": description.get("ExportType") or "FULL_EXPORT",
    }


def import_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Start an import of a bucket's files into a new table."""
    _check_import(request)
    now = context.now()
    table = definition.define(request["TableCreationParameters"], context.namespace, now)
    with context.database.write() as connection:
        again = transfers.by_token(connection, "import", context.namespace, request.get("ClientToken") or "")
        if again is not None and again.table_arn != table.arn:
            raise EngineError("ImportConflictException", "Import conflict: Duplicate request detected with conflicting parameters")
        taken = context.catalog.find_table(context.namespace, table.name) is not None
        if taken and (again is None or not again.pending):
            raise in_use(f"Table already exists: {table.name}")
        if again is not None:
            return {"ImportTableDescription": again.description}
        transfer = _import_of(context, table.arn, request, now)
        transfers.add(connection, transfer)
    context.wake()
    return {"ImportTableDescription": transfer.description}


def _check_import(request: dict[str, Any]) -> None:
    kind = request["InputFormat"]
    if request.get("InputFormatOptions") and kind != "CSV":
        raise validation(f"Invalid Request: Unsupported InputFormatOptions for the given input format: {kind}.")
    if kind == "ION":
        raise validation("Invalid Request: InputFormat ION is not offered by this engine: use DYNAMODB_JSON or CSV")


def _import_of(context: Context, table_arn: str, request: dict[str, Any], now: float) -> Transfer:
    arn = _new_arn(table_arn, "import", now)
    identity, token = str(uuid.uuid4()), _client_token(request)
    namespace = context.namespace
    description: dict[str, Any] = {
        "ImportArn": arn,
        "ImportStatus": "IN_PROGRESS",
        "TableArn": table_arn,
        "TableId": identity,
        "ClientToken": token,
        "S3BucketSource": {"S3BucketOwner": namespace.account, **request["S3BucketSource"]},
        "ErrorCount": 0,
        "CloudWatchLogGroupArn": f"arn:aws:logs:{namespace.region}:{namespace.account}:log-group:/aws-dynamodb/imports:*",
        "InputFormat": request["InputFormat"],
        "InputCompressionType": request.get("InputCompressionType") or "NONE",
        "TableCreationParameters": request["TableCreationParameters"],
        "StartTime": now,
        "ProcessedSizeBytes": 0,
        "ProcessedItemCount": 0,
        "ImportedItemCount": 0,
    }
    if request.get("InputFormatOptions"):
        description["InputFormatOptions"] = request["InputFormatOptions"]
    return Transfer(arn, "import", namespace, table_arn, identity, now, request, description, token, _digest_of(request))


def describe_import(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The state of an import."""
    arn = request["ImportArn"]
    _check_arn(context, arn, "import")
    with context.database.reading() as connection:
        transfer = transfers.find(connection, arn)
    if transfer is None or transfer.kind != "import" or transfer.namespace != context.namespace:
        raise EngineError("ImportNotFoundException", f"Import not found: Import not found: {arn}")
    return {"ImportTableDescription": transfer.description}


def list_imports(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """List imports into one table, or all, newest first."""
    with context.database.reading() as connection:
        imports = transfers.list_transfers(connection, "import", context.namespace, request.get("TableArn"))
    limit = request.get("PageSize") or PAGE
    page, token = _page(imports, "import", limit, request.get("NextToken"))
    response: dict[str, Any] = {
        "ImportSummaryList": [{name: t.description[name] for name in _SUMMARY_MEMBERS if name in t.description} for t in page],
    }
    if token is not None:
        response["NextToken"] = token
    return response


def _new_arn(table_arn: str, kind: str, now: float) -> str:
    """The ARN of a new job."""
    return f"{table_arn}/{kind}/{int(now * 1000):014d}-{token_hex(4)}"


def _check_arn(context: Context, arn: str, kind: str) -> None:
    """Refuse an ARN that is not of a job of this kind in this account."""
    parts = re.fullmatch(rf"arn:aws[a-z-]*:dynamodb:[^:]*:([^:]*):table/[a-zA-Z0-9_.-]+/{kind}/[0-9]+-[0-9a-f]+", arn)
    if parts is None:
        raise validation(f"Invalid {kind.capitalize()} ARN")
    if parts[1] != context.namespace.account:
        raise EngineError("AccessDeniedException", "Access is denied")


def _name_in_arn(context: Context, arn: str) -> str | None:
    """The table name in an ARN; None for another region."""
    parts = _TABLE_ARN.fullmatch(arn)
    if parts is None:
        raise invalid_parameter("tableArn is not a valid ARN")
    region, account, name = parts.groups()
    if account != context.namespace.account:
        raise EngineError("AccessDeniedException", "Access is denied")
    if "/" in name:
        raise validation("Invalid Request: Table ARN is invalid.")
    return name if region == context.namespace.region else None


def _digest_of(request: dict[str, Any]) -> bytes:
    """A digest of a request, which repeated requests with the same ClientToken must match."""
    rest = {member: value for member, value in request.items() if member != "ClientToken"}
    return sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).digest()


def _client_token(request: dict[str, Any]) -> str:
    """The request's ClientToken, or a new one."""
    token: str | None = request.get("ClientToken")
    return token or str(uuid.uuid4())


def _page(listed: list[Transfer], kind: str, limit: int, after: str | None) -> tuple[list[Transfer], str | None]:
    """One page of jobs, sorted from newest to oldest, and the token of the next page."""
    if after is not None:
        place = _sort_key(after, kind)
        listed = [transfer for transfer in listed if _number(transfer) < place]
    more = len(listed) > limit
    return listed[:limit], _encode(_number(listed[limit - 1]), kind) if more else None


def _number(transfer: Transfer) -> str:
    return transfer.arn.rpartition("/")[2]


def _encode(number: str, kind: str) -> str:
    return f"{kind}:{number}".encode().ljust(56, b"\0").hex()


def _sort_key(token: str, kind: str) -> str:
    try:
        name, _, number = bytes.fromhex(token).rstrip(b"\0").decode().partition(":")
    except ValueError:
        name = number = ""
    if name != kind:
        raise validation(f"Invalid Request: Provided nextToken is invalid: {token}")
    return number


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "ExportTableToPointInTime": export_table_to_point_in_time,
    "DescribeExport": describe_export,
    "ListExports": list_exports,
    "ImportTable": import_table,
    "DescribeImport": describe_import,
    "ListImports": list_imports,
}
