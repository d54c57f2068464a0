"""CreateTable, DescribeTable, ListTables, UpdateTable and DeleteTable.

`plan_table_update` decides what an UpdateTable request changes, with DynamoDB's checks in its order.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from gateleg.engine import long_work
from gateleg.engine.catalog import Context
from gateleg.engine.errors import EngineError, in_use, invalid_parameter, limit_exceeded, not_found, validation
from gateleg.engine.operations import definition, settings
from gateleg.engine.operations.definition import (
    CAPACITY_UNITS,
    ON_DEMAND,
    Definitions,
    ItemCounter,
    Wire,
    check_bounds,
    check_count,
    check_projected,
    check_warmer,
    describe,
    describe_deleted,
    encryption,
    global_index,
    item_counter,
    no_items,
    read_definitions,
    require_table,
    stream_label,
    view_type,
    warm_units,
)
from gateleg.engine.schema import Index, Table

_PAGE = 100
_ACTIONS = ("Update", "Create", "Delete")
_UNITS = ("ReadCapacityUnits", "WriteCapacityUnits")
_CHANGES = (
    "ProvisionedThroughput",
    "BillingMode",
    "StreamSpecification",
    "GlobalSecondaryIndexUpdates",
    "SSESpecification",
    "ReplicaUpdates",
    "TableClass",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
    "MultiRegionConsistency",
    "GlobalTableWitnessUpdates",
    "GlobalTableSettingsReplicationMode",
    "DisassociationProtectionEnabled",
    "VectorIndexUpdates",
)
_MULTI_REGION_MEMBERS = ("ReplicaUpdates", "GlobalTableWitnessUpdates", "MultiRegionConsistency", "GlobalTableSettingsReplicationMode")


def create_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Create a table. It is usable at once, although the response says CREATING."""
    if request.get("VectorIndexes"):
        raise invalid_parameter("VectorIndexes cannot be specified: vector indexes are not offered")
    if context.like_local:
        request = drop_unused_definitions(request)
    table = definition.define(request, context.namespace, context.now())
    table = replace(table, tags=settings.add_tags({}, request.get("Tags") or ()))
    if request.get("ResourcePolicy") is not None:
        table = settings.table_policy(table, request["ResourcePolicy"])
    with context.database.write() as connection:
        if context.catalog.find_table(context.namespace, table.name) is not None:
            raise in_use(f"Table already exists: {table.name}")
        table = context.catalog.create(connection, table)
    creating = replace(table, status="CREATING", indexes=tuple(replace(i, status="CREATING") for i in table.indexes))
    return {"TableDescription": describe(creating, no_items)}


def describe_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Describe a table."""
    table = require_table(context, request["TableName"])
    return {"Table": describe(table, item_counter(context, table))}


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
    _check_table_update(request)
    counted = _frozen_counter(context, require_table(context, request["TableName"]))  # which takes time, and holds nobody up here
    with context.database.write() as connection:
        table = require_table(context, request["TableName"])
        done = plan_table_update(table, request, UpdateTimes(context.now(), context.now()))
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
        if long_work.is_being_copied(connection, f"items_{table.id}"):
            raise in_use(f"Attempt to change a resource which is still in use: Table is being backed up or restored from: {table.name}")
        if table.settings.get("DeletionProtectionEnabled"):
            raise validation("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
        response = describe_deleted(table, lambda index: counted if index is None else (0, 0))
        context.catalog.drop(connection, table)
    context.wake()
    return {"TableDescription": response}


def _frozen_counter(context: Context, table: Table) -> ItemCounter:
    """The current counts, for use after the table has changed; a new index has no entries."""
    take = item_counter(context, table)
    counts = {index.name: take(index) for index in table.indexes}
    own = take(None)

    def cached_count(index: Index | None) -> tuple[int, int]:
        return own if index is None else counts.get(index.name, (0, 0))

    return cached_count


@dataclass(frozen=True)
class TableUpdate:
    """The changed table apart from its set of indexes, the table to describe in the response, and the index to create or drop."""

    table: Table
    response_table: Table
    create: Index | None = None
    drop: str | None = None


@dataclass(frozen=True, slots=True)
class UpdateTimes:
    """When the change began, for the response, and when it was done, for the catalog."""

    began: float
    done: float


def _check_table_update(request: Wire) -> None:
    """The checks that need no table."""
    if all(request.get(member) in (None, []) for member in _CHANGES):
        raise validation(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
            "SSESpecification or ReplicaUpdates is required"
        )
    throughput = request.get("ProvisionedThroughput")
    if request.get("BillingMode") == "PROVISIONED" and throughput is None:
        raise invalid_parameter("ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
    if throughput is not None:
        check_bounds(throughput)
    _check_updates(request.get("GlobalSecondaryIndexUpdates") or ())


def _check_updates(updates: Sequence[Wire]) -> None:
    every = ", ".join(f"GlobalSecondaryIndexUpdate.{action}" for action in _ACTIONS)
    names = []
    for update in updates:
        actions = [update[action] for action in _ACTIONS if update.get(action) is not None]
        if not actions:
            raise invalid_parameter(f"One of {every} must not be null")
        if len(actions) > 1:
            raise invalid_parameter(f"Only one of {every} may be specified in one update")
        names.append(actions[0]["IndexName"])
    for name, times in Counter(names).items():
        if times > 1:
            raise invalid_parameter(f"Only one global secondary index update per index is allowed simultaneously. Index: {name}")


def plan_table_update(table: Table, request: Wire, times: UpdateTimes) -> TableUpdate:
    """The changed definition; nothing is stored here."""
    if table.status != "ACTIVE":
        raise in_use(f"Attempt to change a resource which is still in use: Table is being updated: {table.name}")
    for member in _MULTI_REGION_MEMBERS:
        if request.get(member):
            raise invalid_parameter(f"{member} cannot be specified: this account has a single region")
    if request.get("VectorIndexUpdates"):
        raise invalid_parameter("VectorIndexUpdates cannot be specified: vector indexes are not offered")
    updates = request.get("GlobalSecondaryIndexUpdates") or ()
    _check_one_at_a_time(table, updates)
    changed, response_table = _change_throughput(table, request, updates, times)
    changed, response_table = _change_indexes(changed, response_table, updates, times)
    changed = _change_stream(changed, request, times)
    changed = _change_settings(changed, request, times)
    response_table = replace(response_table, stream=changed.stream, stream_label=changed.stream_label, status="UPDATING")
    settings = {**changed.settings, "ProvisionedThroughput": response_table.settings.get("ProvisionedThroughput")}
    if request.get("SSESpecification") is not None:
        settings |= {
            "SSESpecification": settings.get("SSESpecification") or table.settings.get("SSESpecification"),
            "SSEStatus": "UPDATING",
        }
    if request.get("WarmThroughput") is not None:
        settings |= _while_warming(table.settings)
        if all(request.get(member) in (None, []) for member in _CHANGES if member != "WarmThroughput"):
            response_table = replace(response_table, status=table.status)
    response_table = replace(response_table, settings=settings)
    return _with_index(changed, response_table, request, updates)


def _check_one_at_a_time(table: Table, updates: Sequence[Wire]) -> None:
    online = sum(1 for update in updates if update.get("Update") is None)
    busy = any(index.status != "ACTIVE" for index in table.indexes)
    if online > 1 or (online and busy):
        raise limit_exceeded("Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table")


def _change_throughput(table: Table, request: Wire, updates: Sequence[Wire], times: UpdateTimes) -> tuple[Table, Table]:
    """Change the billing mode and the table's throughput."""
    now = table.settings.get("BillingMode", "PROVISIONED")
    billing = request.get("BillingMode") or now
    throughput = request.get("ProvisionedThroughput")
    if billing == ON_DEMAND:
        if throughput is not None:
            raise invalid_parameter("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
        if now != ON_DEMAND:
            table = _to_on_demand(table, times)
        return table, table
    if now == ON_DEMAND:
        _require_index_throughput(table, updates)
        settings = {**table.settings, "BillingMode": billing, "OnDemandSince": table.settings.get("OnDemandSince") or table.created}
        settings["ProvisionedThroughput"] = dict(throughput or {})
        table = replace(table, settings=settings)
        return table, table
    if throughput is None:
        return table, table
    current = table.settings["ProvisionedThroughput"]
    if all(current[unit] == throughput[unit] for unit in _UNITS):
        raise _unchanged("table", current, throughput)
    began, done = _changed_throughput(current, throughput, times)
    return (
        replace(table, settings={**table.settings, "ProvisionedThroughput": done}),
        replace(table, settings={**table.settings, "ProvisionedThroughput": began}),
    )


def _to_on_demand(table: Table, times: UpdateTimes) -> Table:
    settings = {**table.settings, "BillingMode": ON_DEMAND, "OnDemandSince": times.done}
    settings.pop("ProvisionedThroughput", None)
    indexes = tuple(
        replace(index, settings={k: v for k, v in index.settings.items() if k != "ProvisionedThroughput"}) for index in table.indexes
    )
    return replace(table, settings=settings, indexes=indexes)


def _require_index_throughput(table: Table, updates: Sequence[Wire]) -> None:
    specified = {u["Update"]["IndexName"] for u in updates if (u.get("Update") or {}).get("ProvisionedThroughput") is not None}
    specified |= {u["Delete"]["IndexName"] for u in updates if u.get("Delete") is not None}
    missing = [index.name for index in table.indexes if index.kind == "GSI" and index.name not in specified]
    if missing:
        raise invalid_parameter(f"ProvisionedThroughput must be specified for index: {','.join(missing)}")


def _unchanged(of: str, current: Wire, requested: Wire) -> EngineError:
    resource = "table" if of == "table" else "index"
    parts = (f"Current {unit} provisioned for the {resource}: {current[unit]}. Requested {unit}: {requested[unit]}." for unit in _UNITS)
    return validation(
        f"The provisioned throughput for the {of} will not change. The requested value equals the current value. {' '.join(parts)} "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )


def _changed_throughput(current: Mapping[str, Any], requested: Wire, times: UpdateTimes) -> tuple[dict[str, Any], dict[str, Any]]:
    """A throughput during the change, still with the old units, and after it."""
    began = dict(current)
    done = {**current, **{unit: requested[unit] for unit in _UNITS}}
    if any(requested[unit] > current[unit] for unit in _UNITS):
        began["LastIncreaseDateTime"], done["LastIncreaseDateTime"] = times.began, times.done
    if any(requested[unit] < current[unit] for unit in _UNITS):
        last = current.get("LastDecreaseDateTime")
        decreases = current.get("NumberOfDecreasesToday", 0) if last is not None and _day(last) == _day(times.done) else 0
        began["LastDecreaseDateTime"], done["LastDecreaseDateTime"] = times.began, times.done
        done["NumberOfDecreasesToday"] = decreases + 1
    return began, done


def _day(time: float) -> tuple[int, int, int]:
    return datetime.fromtimestamp(time, UTC).timetuple()[:3]


def _change_indexes(table: Table, response_table: Table, updates: Sequence[Wire], times: UpdateTimes) -> tuple[Table, Table]:
    """Change the throughput of existing global indexes."""
    for update in (u["Update"] for u in updates if u.get("Update") is not None):
        throughput = update.get("ProvisionedThroughput")
        if throughput is not None and any(throughput[unit] > CAPACITY_UNITS for unit in _UNITS):
            raise validation(
                "This operation cannot be performed with given input values. Please contact DynamoDB service team for more info: "
                "Action Blocked: IndexUpdate"
            )
        index = table.index(update["IndexName"])
        if index is None or index.kind != "GSI":
            raise not_found()
        began, done = _changed_index(table, index, update, times)
        table = replace(table, indexes=tuple(done if i is index else i for i in table.indexes))
        response_table = replace(response_table, indexes=tuple(began if i.name == index.name else i for i in response_table.indexes))
    return table, response_table


def _changed_index(table: Table, index: Index, update: Wire, times: UpdateTimes) -> tuple[Index, Index]:
    began, done = dict(index.settings), dict(index.settings)
    throughput = update.get("ProvisionedThroughput")
    if throughput is not None:
        if table.settings.get("BillingMode") == ON_DEMAND:
            raise invalid_parameter("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
        current = index.settings.get("ProvisionedThroughput")
        if current is None:
            began["ProvisionedThroughput"] = done["ProvisionedThroughput"] = dict(throughput)
        elif all(current[unit] == throughput[unit] for unit in _UNITS):
            raise _unchanged(f"index {index.name}", current, throughput)
        else:
            began["ProvisionedThroughput"], done["ProvisionedThroughput"] = _changed_throughput(current, throughput, times)
    if update.get("OnDemandThroughput") is not None:
        began["OnDemandThroughput"] = done["OnDemandThroughput"] = dict(update["OnDemandThroughput"])
    if update.get("WarmThroughput") is not None:
        check_warmer(warm_units(index.settings, table.settings.get("BillingMode")), update["WarmThroughput"], f"index {index.name}")
        done["WarmThroughput"] = {**index.settings.get("WarmThroughput", {}), **update["WarmThroughput"]}
        began |= _while_warming(index.settings)
    return replace(index, settings=began, status="UPDATING"), replace(index, settings=done)


def _while_warming(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Warm throughput in the response while it is being raised: UPDATING, with the old units."""
    return {"WarmThroughput": settings.get("WarmThroughput", {}), "WarmStatus": "UPDATING"}


def _change_stream(table: Table, request: Wire, times: UpdateTimes) -> Table:
    specification = request.get("StreamSpecification")
    if specification is None:
        return table
    if specification["StreamEnabled"]:
        if table.stream is not None:
            raise validation(f"Table already has an enabled stream: TableName: {table.name}")
        return replace(table, stream=view_type(specification), stream_label=stream_label(times.done))
    if table.stream is None:
        raise validation(f"Table has no stream to disable: TableName: {table.name}")
    return replace(table, stream=None)


def _change_settings(table: Table, request: Wire, times: UpdateTimes) -> Table:
    settings = dict(table.settings)
    if request.get("WarmThroughput") is not None:
        check_warmer(warm_units(settings, settings.get("BillingMode")), request["WarmThroughput"], "table")
    if request.get("DeletionProtectionEnabled") is not None:
        settings["DeletionProtectionEnabled"] = request["DeletionProtectionEnabled"]
    if request.get("TableClass") is not None:
        settings["TableClassSummary"] = {"TableClass": request["TableClass"], "LastUpdateDateTime": times.done}
    if request.get("SSESpecification") is not None:
        settings.pop("SSESpecification", None)
        settings |= encryption(request["SSESpecification"])
    for member in ("OnDemandThroughput", "WarmThroughput"):
        if request.get(member) is not None:
            settings[member] = {**settings.get(member, {}), **request[member]}
    return replace(table, settings=settings)


def _with_index(table: Table, response_table: Table, request: Wire, updates: Sequence[Wire]) -> TableUpdate:
    """The index to create or drop, and the resulting attribute definitions."""
    create = next((u["Create"] for u in updates if u.get("Create") is not None), None)
    drop = next((u["Delete"]["IndexName"] for u in updates if u.get("Delete") is not None), None)
    if create is not None:
        index = _new_index(table, create, read_definitions(request.get("AttributeDefinitions") or ()))
        definitions = {**table.definitions, **{a.name: a.type for a in index.keys.attributes}}
        response_table = replace(
            response_table, definitions=definitions, indexes=(*response_table.indexes, replace(index, status="CREATING"))
        )
        return TableUpdate(replace(table, definitions=definitions), response_table, create=index)
    if drop is not None:
        _check_droppable(table, drop)
        kept = [index for index in table.indexes if index.name != drop]
        used = set(table.keys.names).union(*(index.keys.names for index in kept))
        table = replace(table, definitions={n: t for n, t in table.definitions.items() if n in used})
        response_table = replace(
            response_table, indexes=tuple(replace(i, status="DELETING") if i.name == drop else i for i in response_table.indexes)
        )
        return TableUpdate(table, response_table, drop=drop)
    return TableUpdate(table, response_table)


def _new_index(table: Table, spec: Wire, definitions: Definitions) -> Index:
    if table.index(spec["IndexName"]) is not None:
        raise validation("Attempting to create an index which already exists")
    if definitions and len(spec["KeySchema"]) > len(definitions):
        raise validation("Invalid KeySchema: Some index key attribute have no definition")
    index = global_index(spec, definitions, table.settings.get("BillingMode", "PROVISIONED"))
    for element in spec["KeySchema"]:
        name, sort = element["AttributeName"], element["KeyType"]
        known = table.definitions.get(name)
        if known is not None and known != definitions[name]:
            raise invalid_parameter(
                "Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. "
                f"Existing schema: Schema:[SchemaElement: key{{{name}:{known}:{sort}}}] "
                f"New schema: Schema:[SchemaElement: key{{{name}:{definitions[name]}:{sort}}}]"
            )
    indexes = (*table.indexes, index)
    check_count(indexes)
    check_projected(indexes)
    return index


def _check_droppable(table: Table, name: str) -> None:
    index = table.index(name)
    if index is None:
        raise not_found()
    if index.kind != "GSI":
        raise invalid_parameter(f"Index {name} is not a global secondary index and cannot be deleted")


def drop_unused_definitions(request: dict[str, Any]) -> dict[str, Any]:
    """A CreateTable request without the attribute definitions that no key uses, which DynamoDB Local accepts."""
    definitions = request["AttributeDefinitions"]
    if len({d["AttributeName"] for d in definitions}) < len(definitions):
        raise validation("Cannot have two attributes with the same name")
    schemas = [request["KeySchema"]]
    for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        schemas += [index["KeySchema"] for index in request.get(member) or ()]
    used = {element["AttributeName"] for schema in schemas for element in schema}
    return {**request, "AttributeDefinitions": [d for d in definitions if d["AttributeName"] in used]}


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "CreateTable": create_table,
    "DescribeTable": describe_table,
    "ListTables": list_tables,
    "UpdateTable": update_table,
    "DeleteTable": delete_table,
    **settings.OPERATIONS,
}
