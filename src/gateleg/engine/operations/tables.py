"""CreateTable, DescribeTable, ListTables, UpdateTable and DeleteTable, and the registry of all operations on tables and the account."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gateleg.engine import copies
from gateleg.engine.context import Context
from gateleg.engine.errors import in_use, invalid_parameter, validation
from gateleg.engine.operations import account, definition, insights, policies, table_update, tags, ttl, unavailable_services
from gateleg.engine.operations.description import ItemCounter, describe, describe_deleted, no_items
from gateleg.engine.operations.dynamodb_local import drop_unused_definitions
from gateleg.engine.operations.lookup import counter, require_table
from gateleg.engine.schema import Index, Table

_PAGE = 100


def create_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Create a table. It is usable at once, although the response says CREATING."""
    if request.get("VectorIndexes"):
        raise invalid_parameter("VectorIndexes cannot be specified: vector indexes are not offered")
    if context.like_local:
        request = drop_unused_definitions(request)
    table = definition.define(request, context.namespace, context.now())
    table = replace(table, tags=tags.add_tags({}, request.get("Tags") or ()))
    if request.get("ResourcePolicy") is not None:
        table = policies.table_policy(table, request["ResourcePolicy"])
    with context.database.write() as connection:
        if context.catalog.find_table(context.namespace, table.name) is not None:
            raise in_use(f"Table already exists: {table.name}")
        table = context.catalog.create(connection, table)
    creating = replace(table, status="CREATING", indexes=tuple(replace(i, status="CREATING") for i in table.indexes))
    return {"TableDescription": describe(creating, no_items)}


def describe_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Describe a table."""
    table = require_table(context, request["TableName"])
    return {"Table": describe(table, counter(context, table))}


def list_tables(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """List table names in order, page by page."""
    limit = request.get("Limit") or _PAGE
    names = context.catalog.names(context.namespace, request.get("ExclusiveStartTableName"), limit + 1)
    response: dict[str, Any] = {"TableNames": names[:limit]}
    if len(names) > limit:
        response["LastEvaluatedTableName"] = names[limit - 1]
    return response


def update_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Change a table: throughput, billing, one index, the stream, and settings."""
    table_update.check(request)
    counted = _frozen_counter(context, require_table(context, request["TableName"]))  # which takes time, and holds nobody up here
    with context.database.write() as connection:
        table = require_table(context, request["TableName"])
        done = table_update.plan_table_update(table, request, table_update.UpdateTimes(context.now(), context.now()))
        context.catalog.replace(connection, done.table)
        if done.create is not None:
            context.catalog.add_index(connection, done.table, done.create)
        if done.drop is not None:
            context.catalog.drop_index(connection, done.table, done.drop)
    context.wake()
    return {"TableDescription": describe(done.response_table, counted)}


def delete_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Delete a table and its items."""
    counted = context.statistics(require_table(context, request["TableName"]))  # which takes time, and holds nobody up here
    with context.database.write() as connection:
        table = require_table(context, request["TableName"])
        if table.status == "CREATING":
            raise in_use(f"Attempt to change a resource which is still in use: Table is being created: {table.name}")
        if copies.is_source(connection, f"items_{table.id}"):
            raise in_use(f"Attempt to change a resource which is still in use: Table is being backed up or restored from: {table.name}")
        if table.settings.get("DeletionProtectionEnabled"):
            raise validation("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
        response = describe_deleted(table, lambda index: counted if index is None else (0, 0))
        context.catalog.drop(connection, table)
    context.wake()
    return {"TableDescription": response}


def _frozen_counter(context: Context, table: Table) -> ItemCounter:
    """The current counts, for use after the table has changed; a new index has no entries."""
    take = counter(context, table)
    counts = {index.name: take(index) for index in table.indexes}
    own = take(None)

    def cached_count(index: Index | None) -> tuple[int, int]:
        return own if index is None else counts.get(index.name, (0, 0))

    return cached_count


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "CreateTable": create_table,
    "DescribeTable": describe_table,
    "ListTables": list_tables,
    "UpdateTable": update_table,
    "DeleteTable": delete_table,
    "TagResource": tags.tag_resource,
    "UntagResource": tags.untag_resource,
    "ListTagsOfResource": tags.list_tags_of_resource,
    "UpdateTimeToLive": ttl.update_time_to_live,
    "DescribeTimeToLive": ttl.describe_time_to_live,
    "DescribeLimits": account.describe_limits,
    "DescribeEndpoints": account.describe_endpoints,
    "PutResourcePolicy": policies.put_resource_policy,
    "GetResourcePolicy": policies.get_resource_policy,
    "DeleteResourcePolicy": policies.delete_resource_policy,
    "UpdateContributorInsights": insights.update_contributor_insights,
    "DescribeContributorInsights": insights.describe_contributor_insights,
    "ListContributorInsights": insights.list_contributor_insights,
    "CreateGlobalTable": unavailable_services.create_global_table,
    "DescribeGlobalTable": unavailable_services.find_global_table,
    "DescribeGlobalTableSettings": unavailable_services.find_global_table,
    "UpdateGlobalTable": unavailable_services.find_global_table,
    "UpdateGlobalTableSettings": unavailable_services.find_global_table,
    "ListGlobalTables": unavailable_services.list_global_tables,
    "DescribeTableReplicaAutoScaling": unavailable_services.describe_table_replica_auto_scaling,
    "UpdateTableReplicaAutoScaling": unavailable_services.update_table_replica_auto_scaling,
    "DescribeKinesisStreamingDestination": unavailable_services.describe_kinesis_streaming_destination,
    "EnableKinesisStreamingDestination": unavailable_services.enable_kinesis_streaming_destination,
    "DisableKinesisStreamingDestination": unavailable_services.change_kinesis_streaming_destination,
    "UpdateKinesisStreamingDestination": unavailable_services.change_kinesis_streaming_destination,
    "ListBulkOperations": unavailable_services.list_bulk_operations,
    "DescribeBulkOperation": unavailable_services.find_bulk_operation,
    "CancelBulkOperation": unavailable_services.find_bulk_operation,
    "StartBulkPutItems": unavailable_services.start_bulk_put_items,
    "SearchVectors": unavailable_services.search_vectors,
}
