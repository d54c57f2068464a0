"""CreateTable, DescribeTable, ListTables, UpdateTable and DeleteTable."""

from dataclasses import replace
from typing import Any

from gateleg.engine.context import Context
from gateleg.engine.errors import in_use, invalid_parameter, not_found, validation
from gateleg.engine.operations import alteration, definition, tags
from gateleg.engine.operations.description import Census, describe, describe_deleted, nothing
from gateleg.engine.operations.policies import table_policy
from gateleg.engine.schema import Index, Table

_PAGE = 100


def create_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """A new table. It can be used at once, though the answer says that it is being created."""
    if request.get("VectorIndexes"):
        raise invalid_parameter("VectorIndexes cannot be specified: vector indexes are not offered")
    table = definition.define(request, context.realm, context.now())
    table = replace(table, tags=tags.added({}, request.get("Tags") or ()))
    if request.get("ResourcePolicy") is not None:
        table = table_policy(table, request["ResourcePolicy"])
    with context.database.write() as connection:
        if context.catalog.lookup(context.realm, table.name) is not None:
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
    names = context.catalog.names(context.realm, request.get("ExclusiveStartTableName"), limit + 1)
    answer: dict[str, Any] = {"TableNames": names[:limit]}
    if len(names) > limit:
        answer["LastEvaluatedTableName"] = names[limit - 1]
    return answer


def update_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Change a table: throughput, billing, one index, the stream, and settings."""
    alteration.check(request)
    with context.database.write() as connection:
        table = existing(context, request["TableName"])
        done = alteration.alter(table, request, alteration.Times(context.now(), context.now()))
        counted = _counted(context, table)
        context.catalog.replace(connection, done.table)
        if done.create is not None:
            context.catalog.add_index(connection, done.table, done.create)
        if done.drop is not None:
            context.catalog.drop_index(connection, done.table, done.drop)
    return {"TableDescription": describe(done.shown, counted)}


def delete_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Remove a table and all that is in it."""
    with context.database.write() as connection:
        table = existing(context, request["TableName"])
        if table.settings.get("DeletionProtectionEnabled"):
            raise validation("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
        answer = describe_deleted(table, census(context, table))
        context.catalog.drop(connection, table)
    return {"TableDescription": answer}


def existing(context: Context, name: str) -> Table:
    """The table of that name or ARN, or the error of operations on tables themselves."""
    table = context.catalog.lookup(context.realm, name)
    if table is None:
        raise not_found(f"Requested resource not found: Table: {definition.bare_name(name)} not found")
    return table


def census(context: Context, table: Table) -> Census:
    """Counts a table's items as it stands."""
    return lambda index: context.statistics(table) if index is None else context.index_statistics(table, index)


def _counted(context: Context, table: Table) -> Census:
    """The counts as they are now, for after the table has changed; an index that is not there yet holds nothing."""
    take = census(context, table)
    counts = {index.name: take(index) for index in table.indexes}
    own = take(None)

    def recall(index: Index | None) -> tuple[int, int]:
        return own if index is None else counts.get(index.name, (0, 0))

    return recall
