"""Definitions of tables: from a CreateTable request to a table, with DynamoDB's checks in its order, and back to a TableDescription."""

import re
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

from gateleg.engine.catalog import Context
from gateleg.engine.errors import invalid_parameter, not_found, validation
from gateleg.engine.schema import Index, KeyAttribute, KeySchema, KeyType, Namespace, Table

Wire = Mapping[str, Any]
Definitions = dict[str, KeyType]

LOCAL_INDEXES = 5
GLOBAL_INDEXES = 20
PROJECTED_ATTRIBUTES = 100
#: How many attributes the partition key of a global index may have, and its sort key.
KEY_ATTRIBUTES = 4
CAPACITY_UNITS = 1_000_000_000_000

ON_DEMAND = "PAY_PER_REQUEST"
#: What DynamoDB keeps warm for a table that pays by the request.
INITIAL_WARM_UNITS = {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000}
_INITIAL_WARM_LINK = (
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html#on-demand-capacity-mode-initial"
)


def define(request: Wire, namespace: Namespace, now: float) -> Table:
    """The table that a CreateTable request defines, without ids."""
    billing = request.get("BillingMode") or "PROVISIONED"
    check_throughput(billing, request.get("ProvisionedThroughput"))
    definitions = read_definitions(request["AttributeDefinitions"])
    keys = _table_keys(request["KeySchema"], definitions)
    local, world = request.get("LocalSecondaryIndexes"), request.get("GlobalSecondaryIndexes")
    if local is None and world is None and len(keys.attributes) != len(definitions):
        raise invalid_parameter(
            "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"
        )
    indexes = (*_local_indexes(local, definitions, keys), *_global_indexes(world, definitions, billing))
    check_names(index.name for index in indexes)
    check_count(indexes)
    check_projected(indexes)
    _check_used(definitions, keys, indexes)
    return Table(
        id=0,
        uuid=str(uuid.uuid4()),
        namespace=namespace,
        name=table_name_of(request["TableName"]),
        created=now,
        definitions=definitions,
        keys=keys,
        indexes=indexes,
        **_stream(request.get("StreamSpecification"), now),
        settings=_settings(request, billing),
    )


def table_name_of(name: str) -> str:
    """A table's name from its name or ARN."""
    if not name.startswith("arn:"):
        return name
    bare = name.partition(":table/")[2]
    if not re.fullmatch(r"[a-zA-Z0-9_.-]{3,255}", bare):
        raise validation(f"Invalid TableArn: Invalid ResourceArn provided as input {name}")
    return bare


def stream_label(now: float) -> str:
    """The label of a stream that is enabled at this time."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]


def check_throughput(billing: str, throughput: Wire | None) -> None:
    """Refuse provisioned throughput that contradicts the billing mode or is out of range."""
    if billing == ON_DEMAND:
        if throughput is not None:
            raise invalid_parameter("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
        return
    if throughput is None:
        raise invalid_parameter("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
    check_bounds(throughput)


def check_bounds(throughput: Wire) -> None:
    """Refuse capacity units out of range."""
    for member in ("ReadCapacityUnits", "WriteCapacityUnits"):
        if throughput[member] > CAPACITY_UNITS:
            raise validation(f"Given value {throughput[member]} for {member} is out of bounds")


def check_warm(settings: Wire, where: str) -> None:
    """Refuse warm throughput below that of a new table or index."""
    warm, throughput = settings.get("WarmThroughput") or {}, settings.get("ProvisionedThroughput")
    for member, units in (("ReadUnitsPerSecond", "ReadCapacityUnits"), ("WriteUnitsPerSecond", "WriteCapacityUnits")):
        if warm.get(member) is None:
            continue
        detail = f"Requested {member} for WarmThroughput for {where} is lower than"
        if throughput is None and warm[member] < INITIAL_WARM_UNITS[member]:
            raise invalid_parameter(f"{detail} initial throughput for OnDemand. See: {_INITIAL_WARM_LINK}")
        if throughput is not None and warm[member] < throughput[units]:
            raise invalid_parameter(f"{detail} {units} of ProvisionedThroughput")


def warm_units(settings: Mapping[str, Any], billing: str | None) -> dict[str, int]:
    """The warm throughput of a table or index: as requested, or the default."""
    throughput = settings.get("ProvisionedThroughput") or {}
    least = (
        INITIAL_WARM_UNITS
        if billing == ON_DEMAND
        else {
            "ReadUnitsPerSecond": throughput.get("ReadCapacityUnits", 0),
            "WriteUnitsPerSecond": throughput.get("WriteCapacityUnits", 0),
        }
    )
    return {**least, **settings.get("WarmThroughput", {})}


def check_warmer(now: Mapping[str, int], requested: Wire, where: str) -> None:
    """Refuse to lower the warm throughput."""
    for member, units in now.items():
        if requested.get(member) is not None and requested[member] < units:
            raise invalid_parameter(
                f"Requested {member} for WarmThroughput for {where} is lower than current WarmThroughput, "
                "decreasing WarmThroughput is not supported"
            )


def read_definitions(definitions: Sequence[Wire]) -> Definitions:
    """AttributeDefinitions as a dictionary."""
    for name, times in Counter(d["AttributeName"] for d in definitions).items():
        if times > 1:
            raise validation(f"Attribute Name is duplicated: {name}")
    return {d["AttributeName"]: d["AttributeType"] for d in definitions}


def read_keys(elements: Sequence[Wire], definitions: Definitions, several: bool) -> KeySchema:
    """A validated key schema; only global indexes may have `several` attributes of each kind."""
    names = [e["AttributeName"] for e in elements]
    if any(name not in definitions for name in names):
        raise invalid_parameter(
            f"Some index key attributes are not defined in AttributeDefinitions. Keys: [{', '.join(names)}], "
            f"AttributeDefinitions: [{', '.join(definitions)}]"
        )
    if len(set(names)) < len(names):
        raise validation("Both the Hash Key and the Range Key element in the KeySchema have the same name")
    sorts = [e["KeyType"] for e in elements]
    if sorts[0] != "HASH":
        raise validation("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if several:
        _check_several(sorts)
    elif len(sorts) > 1 and sorts[1] != "RANGE":
        raise validation("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
    attributes = [KeyAttribute(name, definitions[name]) for name in names]
    split = sorts.count("HASH")
    return KeySchema(tuple(attributes[:split]), tuple(attributes[split:]))


def _check_several(sorts: list[str]) -> None:
    if sorts != sorted(sorts):
        raise validation("Invalid KeySchema: All HASH key attributes must precede RANGE key attributes in the KeySchema")
    for sort in ("HASH", "RANGE"):
        if sorts.count(sort) > KEY_ATTRIBUTES:
            raise validation(f"Invalid KeySchema: The KeySchema exceeds the maximum allowed number of {sort} key attributes")


def _table_keys(elements: Sequence[Wire], definitions: Definitions) -> KeySchema:
    if len(elements) > len(definitions):
        raise validation("Invalid KeySchema: Some index key attribute have no definition")
    return read_keys(elements, definitions, several=False)


def _local_indexes(specifications: Sequence[Wire] | None, definitions: Definitions, keys: KeySchema) -> tuple[Index, ...]:
    if specifications is None:
        return ()
    if not specifications:
        raise invalid_parameter("List of LocalSecondaryIndexes is empty")
    if not keys.range:
        raise invalid_parameter("Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
    return tuple(_local_index(spec, definitions, keys) for spec in specifications)


def _local_index(spec: Wire, definitions: Definitions, table: KeySchema) -> Index:
    name = spec["IndexName"]
    keys = read_keys(spec["KeySchema"], definitions, several=False)
    if not keys.range:
        raise invalid_parameter(f"Index KeySchema does not have a range key for index: {name}")
    if keys.hash != table.hash:
        raise invalid_parameter(
            f"Index KeySchema does not have the same leading hash key as table KeySchema for index: {name}. "
            f"index hash key: {keys.hash[0].name}, table hash key: {table.hash[0].name}"
        )
    return _index(spec, "LSI", keys, {})


def _global_indexes(specifications: Sequence[Wire] | None, definitions: Definitions, billing: str) -> tuple[Index, ...]:
    if specifications is None:
        return ()
    if not specifications:
        raise invalid_parameter("List of GlobalSecondaryIndexes is empty")
    return tuple(global_index(spec, definitions, billing) for spec in specifications)


def global_index(spec: Wire, definitions: Definitions, billing: str) -> Index:
    """A global index from a CreateTable or UpdateTable request."""
    keys = read_keys(spec["KeySchema"], definitions, several=True)
    settings = {
        member: dict(spec[member])
        for member in ("ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput")
        if spec.get(member) is not None
    }
    index = _index(spec, "GSI", keys, settings)
    if billing == ON_DEMAND and "ProvisionedThroughput" in settings:
        raise invalid_parameter(
            f"ProvisionedThroughput should not be specified for index: {index.name} when BillingMode is PAY_PER_REQUEST"
        )
    if billing != ON_DEMAND:
        if "ProvisionedThroughput" not in settings:
            raise invalid_parameter(f"ProvisionedThroughput must be specified for index: {index.name}")
        check_bounds(settings["ProvisionedThroughput"])
    check_warm(settings, f"index {index.name}")
    return index


def _index(spec: Wire, kind: Literal["GSI", "LSI"], keys: KeySchema, settings: dict[str, Any]) -> Index:
    projection = spec["Projection"]
    sort = projection.get("ProjectionType")
    include = projection.get("NonKeyAttributes")
    if sort is None:
        raise invalid_parameter("Unknown ProjectionType: null")
    if include is not None and sort != "INCLUDE":
        raise invalid_parameter(f"ProjectionType is {sort}, but NonKeyAttributes is specified")
    if include is None and sort == "INCLUDE":
        raise invalid_parameter("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    for name, times in Counter(include or ()).items():
        if times > 1:
            raise invalid_parameter(f"Duplicate attribute in NonKeyAttributes: {name}")
    return Index(id=0, name=spec["IndexName"], kind=kind, keys=keys, projection=sort, include=tuple(include or ()), settings=settings)


def check_names(names: Any) -> None:
    """Refuse two indexes with the same name."""
    for name, times in Counter(names).items():
        if times > 1:
            raise invalid_parameter(f"Duplicate index name: {name}")


def check_count(indexes: Sequence[Index]) -> None:
    """Refuse more indexes than a table may have."""
    kinds = Counter(index.kind for index in indexes)
    if kinds["LSI"] > LOCAL_INDEXES:
        raise invalid_parameter(f"Number of LocalSecondaryIndexes exceeds per-table limit of {LOCAL_INDEXES}")
    if kinds["GSI"] > GLOBAL_INDEXES:
        raise invalid_parameter(f"GlobalSecondaryIndex count exceeds the per-table limit of {GLOBAL_INDEXES}")


def check_projected(indexes: Sequence[Index]) -> None:
    """Refuse too many projected attributes over all indexes."""
    if sum(len(index.include) for index in indexes) > PROJECTED_ATTRIBUTES:
        raise invalid_parameter(f"Number of NonKeyAttributes projected into all indexes exceeds per-table limit of {PROJECTED_ATTRIBUTES}")


def _check_used(definitions: Definitions, keys: KeySchema, indexes: Sequence[Index]) -> None:
    used = set(keys.names).union(*(index.keys.names for index in indexes))
    if used != set(definitions):
        raise invalid_parameter(
            f"Some AttributeDefinitions are not used. AttributeDefinitions: [{', '.join(definitions)}], "
            f"keys used: [{', '.join(name for name in definitions if name in used)}]"
        )


def _stream(specification: Wire | None, now: float) -> dict[str, Any]:
    if specification is None or not specification["StreamEnabled"]:
        return {}
    return {"stream": view_type(specification), "stream_label": stream_label(now)}


def view_type(specification: Wire) -> str:
    """The view type of a stream to enable."""
    view: str | None = specification.get("StreamViewType")
    if view is None:
        raise invalid_parameter("StreamViewType must be specified when StreamEnabled is true")
    return view


def _settings(request: Wire, billing: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"BillingMode": billing, "DeletionProtectionEnabled": bool(request.get("DeletionProtectionEnabled"))}
    for member in ("ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput"):
        if request.get(member) is not None:
            settings[member] = dict(request[member])
    check_warm(settings, "table")
    if request.get("TableClass") is not None:
        settings["TableClassSummary"] = {"TableClass": request["TableClass"]}
    return settings | encryption(request.get("SSESpecification"))


def encryption(specification: Wire | None) -> dict[str, Any]:
    """The setting for an SSESpecification; empty for AWS owned keys."""
    if specification is None or not specification.get("Enabled"):
        if specification and (specification.get("SSEType") or specification.get("KMSMasterKeyId")):
            raise invalid_parameter("SSEType and KMSMasterKeyId can only be specified when SSE is enabled")
        return {}
    if specification.get("SSEType") == "AES256":
        raise invalid_parameter("SSEType AES256 is not supported")
    return {"SSESpecification": dict(specification)}


#: Returns number and size of the entries of an index, or of the table's items.
ItemCounter = Callable[[Index | None], tuple[int, int]]


def no_items(_: Index | None) -> tuple[int, int]:
    """The counts of an empty table."""
    return 0, 0


def describe(table: Table, counter: ItemCounter) -> dict[str, Any]:
    """The full description of a table."""
    count, size = counter(None)
    billing = table.settings.get("BillingMode")
    response: dict[str, Any] = {
        "AttributeDefinitions": [{"AttributeName": n, "AttributeType": t} for n, t in table.definitions.items()],
        "TableName": table.name,
        "KeySchema": table.keys.wire(),
        "TableStatus": table.status,
        "CreationDateTime": table.created,
        "ProvisionedThroughput": _throughput(table.settings),
        "TableSizeBytes": size,
        "ItemCount": count,
        "TableArn": table.arn,
        "TableId": table.uuid,
        **_billing(table),
    }
    if local := [index for index in table.indexes if index.kind == "LSI"]:
        response["LocalSecondaryIndexes"] = [_describe_index(table, index, counter) for index in local]
    if world := [index for index in table.indexes if index.kind == "GSI"]:
        response["GlobalSecondaryIndexes"] = [_global_index(table, index, counter) for index in world]
    response |= _describe_stream(table) | _encryption(table.namespace, table.settings)
    for member in ("TableClassSummary", "OnDemandThroughput", "RestoreSummary"):
        if member in table.settings:
            response[member] = table.settings[member]
    response["DeletionProtectionEnabled"] = table.settings.get("DeletionProtectionEnabled", False)
    return response | _warm_throughput(table.settings, billing, table.status)


def describe_deleted(table: Table, counter: ItemCounter) -> dict[str, Any]:
    """The description in the response of DeleteTable, without keys, indexes and times."""
    whole = describe(table, counter)
    kept = (
        "TableName",
        "TableStatus",
        "ProvisionedThroughput",
        "TableSizeBytes",
        "ItemCount",
        "TableArn",
        "TableId",
        "BillingModeSummary",
        "StreamSpecification",
        "LatestStreamLabel",
        "LatestStreamArn",
        "TableClassSummary",
        "DeletionProtectionEnabled",
    )
    return {member: whole[member] for member in kept if member in whole} | {"TableStatus": "DELETING"}


def _throughput(settings: dict[str, Any]) -> dict[str, Any]:
    units = settings.get("ProvisionedThroughput") or {}
    return {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0} | units


def _billing(table: Table) -> dict[str, Any]:
    """The billing summary, which only tables with on-demand billing now or earlier have."""
    since = table.settings.get("OnDemandSince")
    billing = table.settings.get("BillingMode")
    if billing != ON_DEMAND and since is None:
        return {}
    summary: dict[str, Any] = {"BillingMode": billing}
    if table.status != "CREATING":
        summary["LastUpdateToPayPerRequestDateTime"] = since or table.created
    return {"BillingModeSummary": summary}


def _describe_index(table: Table, index: Index, counter: ItemCounter) -> dict[str, Any]:
    count, size = counter(index)
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if index.include:
        projection["NonKeyAttributes"] = list(index.include)
    return {
        "IndexName": index.name,
        "KeySchema": index.keys.wire(),
        "Projection": projection,
        "IndexSizeBytes": size,
        "ItemCount": count,
        "IndexArn": f"{table.arn}/index/{index.name}",
    }


def _global_index(table: Table, index: Index, counter: ItemCounter) -> dict[str, Any]:
    response = _describe_index(table, index, counter)
    response["IndexStatus"] = index.status
    if index.status == "CREATING" and table.status != "CREATING":
        response["Backfilling"] = True
    response["ProvisionedThroughput"] = _throughput(index.settings)
    if "OnDemandThroughput" in index.settings:
        response["OnDemandThroughput"] = index.settings["OnDemandThroughput"]
    return response | _warm_throughput(index.settings, table.settings.get("BillingMode"), table.status)


def _describe_stream(table: Table) -> dict[str, Any]:
    response: dict[str, Any] = {}
    if table.stream is not None:
        response["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": table.stream}
    if table.stream_label is not None:
        response["LatestStreamLabel"] = table.stream_label
        response["LatestStreamArn"] = f"{table.arn}/stream/{table.stream_label}"
    return response


def _encryption(namespace: Namespace, settings: dict[str, Any]) -> dict[str, Any]:
    specification, status = settings.get("SSESpecification"), settings.get("SSEStatus")
    if specification is None:
        return {} if status is None else {"SSEDescription": {"Status": status}}
    key = specification.get("KMSMasterKeyId") or "alias/aws/dynamodb"
    return {"SSEDescription": {"Status": status or "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": _key_arn(namespace, key)}}


def _key_arn(namespace: Namespace, key: str) -> str:
    """The ARN of a KMS key from its ARN, id or alias; an alias always maps to the same key."""
    if key.startswith("arn:") and ":alias/" not in key:
        return key
    alias = key.rpartition(":")[2]
    if alias.startswith("alias/"):
        key = str(uuid5(NAMESPACE_URL, f"{namespace.account}/{namespace.region}/{alias}"))
    return f"arn:aws:kms:{namespace.region}:{namespace.account}:key/{key}"


def _warm_throughput(settings: dict[str, Any], billing: str | None, status: str) -> dict[str, Any]:
    """The warm throughput; while a table is being created, only what was requested."""
    if status != "CREATING":
        return {"WarmThroughput": _warm(settings, billing)}
    if "WarmThroughput" in settings:
        return {"WarmThroughput": {**settings["WarmThroughput"], "Status": "UPDATING"}}
    return {}


def _warm(settings: dict[str, Any], billing: str | None) -> dict[str, Any]:
    return {**warm_units(settings, billing), "Status": settings.get("WarmStatus", "ACTIVE")}


def require_table(context: Context, name: str) -> Table:
    """The table by name or ARN; raises the error that operations on tables answer with."""
    table = context.catalog.find_table(context.namespace, name)
    if table is None:
        raise not_found(f"Requested resource not found: Table: {table_name_of(name)} not found")
    return table


def item_counter(context: Context, table: Table) -> ItemCounter:
    """A function that counts the table's current items."""
    return lambda index: context.statistics(table) if index is None else context.index_statistics(table, index)


def iso_seconds(at: float) -> str:
    """A time to the second: `2026-10-08T23:16:33Z`."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_milliseconds(at: float) -> str:
    """A time to the millisecond: `2026-10-08T23:16:33.028Z`."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
