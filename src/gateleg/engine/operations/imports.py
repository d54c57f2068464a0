"""ImportTable, DescribeImport and ListImports."""

import uuid
from collections.abc import Callable
from typing import Any

from gateleg.engine import transfers
from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, in_use, validation
from gateleg.engine.operations import definition, transfer_lists
from gateleg.engine.transfers import Transfer

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


def import_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Start an import of a bucket's files into a new table."""
    _check(request)
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
        transfer = _transfer(context, table.arn, request, now)
        transfers.add(connection, transfer)
    context.wake()
    return {"ImportTableDescription": transfer.description}


def _check(request: dict[str, Any]) -> None:
    kind = request["InputFormat"]
    if request.get("InputFormatOptions") and kind != "CSV":
        raise validation(f"Invalid Request: Unsupported InputFormatOptions for the given input format: {kind}.")
    if kind == "ION":
        raise validation("Invalid Request: InputFormat ION is not offered by this engine: use DYNAMODB_JSON or CSV")


def _transfer(context: Context, table_arn: str, request: dict[str, Any], now: float) -> Transfer:
    arn = transfer_lists.new_arn(table_arn, "import", now)
    identity, token = str(uuid.uuid4()), transfer_lists.token(request)
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
    return Transfer(arn, "import", namespace, table_arn, identity, now, request, description, token, transfer_lists.digest(request))


def describe_import(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The state of an import."""
    arn = request["ImportArn"]
    transfer_lists.check_arn(context, arn, "import")
    with context.database.reading() as connection:
        found = transfers.find(connection, arn)
    if found is None or found.kind != "import" or found.namespace != context.namespace:
        raise EngineError("ImportNotFoundException", f"Import not found: Import not found: {arn}")
    return {"ImportTableDescription": found.description}


def list_imports(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """List imports into one table, or all, newest first."""
    with context.database.reading() as connection:
        found = transfers.list_transfers(connection, "import", context.namespace, request.get("TableArn"))
    limit = request.get("PageSize") or transfer_lists.PAGE
    shown, token = transfer_lists.page(found, "import", limit, request.get("NextToken"))
    response: dict[str, Any] = {
        "ImportSummaryList": [{name: t.description[name] for name in _SUMMARY_MEMBERS if name in t.description} for t in shown],
    }
    if token is not None:
        response["NextToken"] = token
    return response


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "ImportTable": import_table,
    "DescribeImport": describe_import,
    "ListImports": list_imports,
}
