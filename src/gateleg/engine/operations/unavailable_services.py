"""Operations that need other regions or services: global tables, replicas, Kinesis, bulk operations, vectors."""

from typing import Any

from gateleg.engine.context import Context
from gateleg.engine.errors import EngineError, invalid_parameter, not_found, validation
from gateleg.engine.operations.lookup import require_table


def create_global_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Refused: there is no other region to replicate to."""
    name = request["GlobalTableName"]
    if context.catalog.find_table(context.namespace, name) is None:
        raise EngineError("TableNotFoundException", f"Table not found: {name}")
    raise invalid_parameter("Replicas cannot be created: this account has a single region")


def find_global_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """There is no global table to describe or change."""
    raise EngineError("GlobalTableNotFoundException", f"Global table with name: '{request['GlobalTableName']}' does not exist")


def list_global_tables(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """No global tables."""
    return {"GlobalTables": []}


def describe_table_replica_auto_scaling(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """A table without replicas."""
    table = require_table(context, request["TableName"])
    return {"TableAutoScalingDescription": {"TableName": table.name, "TableStatus": table.status, "Replicas": []}}


def update_table_replica_auto_scaling(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Refused: the table has no replicas."""
    table = require_table(context, request["TableName"])
    raise validation(f"Table: {table.name} is not a global table")


def describe_kinesis_streaming_destination(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """A table without a streaming destination."""
    return {"TableName": require_table(context, request["TableName"]).name, "KinesisDataStreamDestinations": []}


def enable_kinesis_streaming_destination(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Refused: no such Kinesis stream exists."""
    require_table(context, request["TableName"])
    raise not_found(f"Requested resource not found: Kinesis stream: {request['StreamArn']} not found")


def change_kinesis_streaming_destination(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Refused: no destination is active, so none can be changed or disabled."""
    require_table(context, request["TableName"])
    raise validation(
        "Table is not in a valid state to change Kinesis Streaming Destination: "
        "KinesisStreamingDestination must be ACTIVE to perform the operation."
    )


def list_bulk_operations(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """No bulk operations."""
    return {"BulkOperationsSummaryList": []}


def find_bulk_operation(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """There is no bulk operation to describe or cancel."""
    raise not_found(f"Requested resource not found: BulkOperation: {request['BulkOperationArn']} not found")


def start_bulk_put_items(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Refused: there is no S3 bucket to read from. ImportTable reads a folder."""
    require_table(context, request["TableName"])
    raise not_found(f"Requested resource not found: S3 bucket: {request['InputS3Configuration']['S3Bucket']} not found")


def search_vectors(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Refused: vector indexes are not supported."""
    context.layout(request["TableName"])
    raise validation(f"The table does not have the specified index: {request['IndexName']}")
