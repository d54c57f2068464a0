"""CreateTable, DescribeTable, ListTables, UpdateTable and DeleteTable, and the list of all operations on tables and the account."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gateleg.engine import copies
from gateleg.engine.context import Context
from gateleg.engine.errors import in_use, invalid_parameter, validation
from gateleg.engine.operations import account, alteration, definition, insights, policies, region, tags, ttl
from gateleg.engine.operations.description import Census, describe, describe_deleted, nothing
from gateleg.engine.operations.local import as_local
from gateleg.engine.operations.lookup import census, existing
from gateleg.engine.schema import Index, Table

_PAGE = 100


def create_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """A new table. It can be used at once, though the answer says that it is being created."""
    if request.get("VectorIndexes"):
        raise invalid_parameter("VectorIndexes cannot be specified: vector indexes are not offered")
    if context.like_local:
        request = as_local(request)
    table = definition.define(request, context.namespace, context.now())
    table = replace(table, tags=tags.added({}, request.get("Tags") or ()))
    if request.get("ResourcePolicy") is not None:
        table = policies.table_policy(table, request["ResourcePolicy"])
    with context.database.write() as connection:
        if context.catalog.lookup(context.namespace, table.name) is not None:
            raise in_use(f"Table already exists: {table.name}")
        table = context.catalog.create(connection, table)
    creating = replace(table, status="CREATING", indexes=tuple(replace(i, status="CREATING") for i in table.indexes))
    return {"TableDescription": describe(creating, nothing)}


def describe_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """A table as it is now."""
    table = existing(context, request["TableName"])
    return {"Table": describe(table, census(context, table))}


def list_tables(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Names of tables in order, a page at a time."""
    limit = request.get("Limit") or _PAGE
    names = context.catalog.names(context.namespace, request.get("ExclusiveStartTableName"), limit + 1)
    answer: dict[str, Any] = {"TableNames": names[:limit]}
    if len(names) > limit:
        answer["LastEvaluatedTableName"] = names[limit - 1]
    return answer


def update_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Change a table: throughput, billing, one index, the stream, and settings."""
    alteration.check(request)
    counted = _counted(context, existing(context, request["TableName"]))  # which takes time, and holds nobody up here
    with context.database.write() as connection:
        table = existing(context, request["TableName"])
        done = alteration.alter(table, request, alteration.Times(context.now(), context.now()))
        context.catalog.replace(connection, done.table)
        if done.create is not None:
            context.catalog.add_index(connection, done.table, done.create)
        if done.drop is not None:
            context.catalog.drop_index(connection, done.table, done.drop)
    context.wake()
    return {"TableDescription": describe(done.shown, counted)}


def delete_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Remove a table and all that is in it."""
    counted = context.statistics(existing(context, request["TableName"]))  # which takes time, and holds nobody up here
    with context.database.write() as connection:
        table = existing(context, request["TableName"])
        if table.status == "CREATING":
            raise in_use(f"Attempt to change a resource which is still in use: Table is being created: {table.name}")
        if copies.reads_from(connection, f"items_{table.id}"):
            raise in_use(f"Attempt to change a resource which is still in use: Table is being backed up or restored from: {table.name}")
        if table.settings.get("DeletionProtectionEnabled"):
            raise validation("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
        answer = describe_deleted(table, lambda index: counted if index is None else (0, 0))
        context.catalog.drop(connection, table)
    context.wake()
    return {"TableDescription": answer}


def _counted(context: Context, table: Table) -> Census:
    """The counts as they are now, for after the table has changed; an index that is not there yet holds nothing."""
    take = census(context, table)
    counts = {index.name: take(index) for index in table.indexes}
    own = take(None)

    def recall(index: Index | None) -> tuple[int, int]:
        return own if index is None else counts.get(index.name, (0, 0))

    return recall


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
    "CreateGlobalTable": region.create_global_table,
    "DescribeGlobalTable": region.find_global_table,
    "DescribeGlobalTableSettings": region.find_global_table,
    "UpdateGlobalTable": region.find_global_table,
    "UpdateGlobalTableSettings": region.find_global_table,
    "ListGlobalTables": region.list_global_tables,
    "DescribeTableReplicaAutoScaling": region.describe_table_replica_auto_scaling,
    "UpdateTableReplicaAutoScaling": region.update_table_replica_auto_scaling,
    "DescribeKinesisStreamingDestination": region.describe_kinesis_streaming_destination,
    "EnableKinesisStreamingDestination": region.enable_kinesis_streaming_destination,
    "DisableKinesisStreamingDestination": region.change_kinesis_streaming_destination,
    "UpdateKinesisStreamingDestination": region.change_kinesis_streaming_destination,
    "ListBulkOperations": region.list_bulk_operations,
    "DescribeBulkOperation": region.find_bulk_operation,
    "CancelBulkOperation": region.find_bulk_operation,
    "StartBulkPutItems": region.start_bulk_put_items,
    "SearchVectors": region.search_vectors,
}
