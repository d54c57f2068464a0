"""TableDescriptions, which DescribeTable and the operations that change tables return."""

from collections.abc import Callable
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from gateleg.engine.operations.definition import ON_DEMAND, warm_units
from gateleg.engine.schema import Index, Namespace, Table

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
        response["LocalSecondaryIndexes"] = [_index(table, index, counter) for index in local]
    if world := [index for index in table.indexes if index.kind == "GSI"]:
        response["GlobalSecondaryIndexes"] = [_global_index(table, index, counter) for index in world]
    response |= _stream(table) | _encryption(table.namespace, table.settings)
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
    given = settings.get("ProvisionedThroughput") or {}
    return {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0} | given


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


def _index(table: Table, index: Index, counter: ItemCounter) -> dict[str, Any]:
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
    response = _index(table, index, counter)
    response["IndexStatus"] = index.status
    if index.status == "CREATING" and table.status != "CREATING":
        response["Backfilling"] = True
    response["ProvisionedThroughput"] = _throughput(index.settings)
    if "OnDemandThroughput" in index.settings:
        response["OnDemandThroughput"] = index.settings["OnDemandThroughput"]
    return response | _warm_throughput(index.settings, table.settings.get("BillingMode"), table.status)


def _stream(table: Table) -> dict[str, Any]:
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
