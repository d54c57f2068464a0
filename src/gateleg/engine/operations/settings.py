"""What can be set for a table besides its definition, and the account: tags, time to live, policies, insights, limits.

Policies are stored, but not enforced; the setting of contributor insights is stored, but nothing is measured. Of operations that need other
regions or services (global tables, replicas, Kinesis, bulk operations, vectors) there are the responses of an account that does not use
them.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gateleg.engine.catalog import Context
from gateleg.engine.errors import EngineError, invalid_parameter, not_found, validation
from gateleg.engine.operations.definition import Wire, require_table
from gateleg.engine.schema import Table

MAX_TAGS = 50
_ARN = re.compile(r"arn:[^:]+:dynamodb:([^:]*):(\d+):(.+)")
_SHAPE = re.compile(r"([^:]+:){5}[^/]+/.+")
_TABLE = re.compile(r"table/([a-zA-Z0-9_.-]{3,255})")
_TAG_SYMBOLS = frozenset("_.:/=+-@")


def tag_resource(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Add tags to a table, or change their values."""
    name = _table_name(context, "TagResource", request.get("ResourceArn"), request.get("Tags"), "tags")
    if not request["Tags"]:
        raise validation("Atleast one Tag needs to be provided as Input.")
    with context.database.write() as connection:
        table = _require_table(context, name, f"Requested resource not found: ResourcArn: {request['ResourceArn']} not found")
        context.catalog.replace(connection, replace(table, tags=add_tags(table.tags, request["Tags"])))
    return {}


def untag_resource(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Remove tags from a table; those it does not have are ignored."""
    name = _table_name(context, "UntagResource", request.get("ResourceArn"), request.get("TagKeys"), "tagKeys")
    if not request["TagKeys"]:
        raise validation("Atleast one Tag Key needs to be provided as Input.")
    with context.database.write() as connection:
        table = _require_table(context, name, "Requested resource not found")
        left = {key: value for key, value in table.tags.items() if key not in request["TagKeys"]}
        context.catalog.replace(connection, replace(table, tags=left))
    return {}


def list_tags_of_resource(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """List the tags of a table on one page."""
    arn = request.get("ResourceArn")
    name = _table_name(context, "ListTagsOfResource", arn, (), "")
    table = _require_table(context, name, f"Requested resource not found: ResourcArn: {arn} not found")
    return {"Tags": [{"Key": key, "Value": value} for key, value in table.tags.items()]}


def add_tags(tags: dict[str, str], added: Sequence[Wire]) -> dict[str, str]:
    """Tags with others added; raises DynamoDB's error for invalid ones."""
    for tag in added:
        if tag["Key"].lower().startswith("aws:"):
            raise invalid_parameter("aws: prefixed tag key names are not allowed for external use.")
        for text in (tag["Key"], tag["Value"]):
            if not all(c.isalnum() or c.isspace() or c in _TAG_SYMBOLS for c in text):
                raise invalid_parameter(f"Tags may contain letters, numbers, white space and the characters _ . : / = + - @ only: {text}")
    both = {**tags, **{tag["Key"]: tag["Value"] for tag in added}}
    if len(both) > MAX_TAGS:
        raise invalid_parameter(f"Too many tags: a resource may have at most {MAX_TAGS} tags")
    return both


def access_denied(context: Context, operation: str, arn: str) -> EngineError:
    """The error for a resource of another account or region."""
    user = f"arn:aws:iam::{context.namespace.account}:user/gateleg"
    return EngineError("AccessDeniedException", f"User: {user} is not authorized to perform: dynamodb:{operation} on resource: {arn}")


def _table_name(context: Context, operation: str, arn: str | None, member: object, path: str) -> str:
    """The table name in an ARN; `member` must be present too."""
    if arn is None:
        raise validation("Invalid TableArn")
    if not arn.startswith("arn:") and not _SHAPE.fullmatch(arn):
        raise validation("ARNs must start with 'arn:'")
    if member is None:
        raise validation(f"1 validation error detected: Value null at '{path}' failed to satisfy constraint: Member must not be null")
    parts = _ARN.fullmatch(arn)
    if parts is None:
        raise validation(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    region, account, resource = parts.groups()
    table = _TABLE.fullmatch(resource)
    if table is None:
        if re.match(r"table/[^/]+/(index|backup|export|import)/", resource):
            raise invalid_parameter(f"Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}")
        raise validation(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    if (account, region) != (context.namespace.account, context.namespace.region):
        raise access_denied(context, operation, arn)
    return table[1]


def _require_table(context: Context, name: str, message: str) -> Table:
    table = context.catalog.find_table(context.namespace, name)
    if table is None:
        raise not_found(message)
    return table


def update_time_to_live(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Set the attribute with the expiry time, or disable expiry."""
    specification = request["TimeToLiveSpecification"]
    attribute = specification["AttributeName"]
    with context.database.write() as connection:
        table = require_table(context, request["TableName"])
        if table.ttl is not None and table.ttl != attribute:
            raise validation(f"TimeToLive is active on a different AttributeName: current AttributeName is {table.ttl}")
        if specification["Enabled"] == (table.ttl is not None):
            raise validation(f"TimeToLive is already {'enabled' if table.ttl is not None else 'disabled'}")
        context.catalog.replace(connection, replace(table, ttl=attribute if specification["Enabled"] else None))
    return {"TimeToLiveSpecification": {"Enabled": specification["Enabled"], "AttributeName": attribute}}


def describe_time_to_live(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Whether items of a table expire, and by which attribute."""
    table = require_table(context, request["TableName"])
    if table.ttl is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": table.ttl}}


_MAX_POLICY_BYTES = 20 * 1024
#: ExpectedRevisionId of a caller that wants to create a policy only.
_EXPECT_NO_POLICY = "NO_POLICY"


def put_resource_policy(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Store the policy of a table or of its stream."""
    arn, policy = request["ResourceArn"], request["Policy"]
    _check_policy(policy)
    with context.database.write() as connection:
        table = _owner(context, arn)
        kept = _policies(table)
        current = kept.get(arn)
        _check_revision(request.get("ExpectedRevisionId"), current, table, arn)
        if current is not None and current["Policy"] == policy:
            return {"RevisionId": current["RevisionId"]}
        revision = _revision(context.now(), current)
        context.catalog.replace(connection, _with_policies(table, {**kept, arn: {"Policy": policy, "RevisionId": revision}}))
    return {"RevisionId": revision}


def get_resource_policy(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The policy of a table or of its stream."""
    arn = request["ResourceArn"]
    policy = _policies(_owner(context, arn)).get(arn)
    if policy is None:
        raise _no_policy(arn)
    return dict(policy)


def delete_resource_policy(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Delete the policy of a table or of its stream, if there is one."""
    arn = request["ResourceArn"]
    with context.database.write() as connection:
        table = _owner(context, arn)
        kept = _policies(table)
        current = kept.get(arn)
        _check_revision(request.get("ExpectedRevisionId"), current, table, arn)
        if current is None:
            return {}
        context.catalog.replace(connection, _with_policies(table, {a: p for a, p in kept.items() if a != arn}))
    return {"RevisionId": current["RevisionId"]}


def table_policy(table: Table, policy: str) -> Table:
    """A new table with the policy of its CreateTable request."""
    _check_policy(policy)
    return _with_policies(table, {table.arn: {"Policy": policy, "RevisionId": _revision(table.created)}})


def _owner(context: Context, arn: str) -> Table:
    """The table of an ARN, which may also name its stream."""
    if not arn.startswith("arn:"):
        raise invalid_parameter(f"ARNs must start with 'arn:': {arn}")
    resource, _, label = arn.partition("/stream/")
    head, _, name = resource.partition(":table/")
    account = head.rpartition(":")[2]
    if account != context.namespace.account:
        raise validation("This action is only supported by accounts that match the resource owner\u2019s account.")
    if "/" in name:
        raise invalid_parameter(f"Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}")
    if resource != context.namespace.arn(f"table/{name}"):
        raise invalid_parameter(f"Invalid resource Arn: {arn}")
    table = require_table(context, name)
    if label and label != table.stream_label:
        raise not_found(f"Requested resource not found: Stream: {label} not found for Table: {name}")
    return table


def _policies(table: Table) -> dict[str, dict[str, str]]:
    return dict(table.settings.get("ResourcePolicies", {}))


def _with_policies(table: Table, policies: dict[str, dict[str, str]]) -> Table:
    return replace(table, settings={**table.settings, "ResourcePolicies": policies})


def _check_policy(policy: str) -> None:
    if len(policy.encode()) > _MAX_POLICY_BYTES:
        raise validation(f"Resource policy exceeds the maximum size of {_MAX_POLICY_BYTES} bytes")
    try:
        parsed = json.loads(policy)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict) or "Statement" not in parsed:
        raise validation("Resource policy is not a valid policy document: Syntax errors in policy.")


def _check_revision(expected: str | None, current: dict[str, str] | None, table: Table, arn: str) -> None:
    if expected is None or (expected == _EXPECT_NO_POLICY and current is None):
        return
    if current is None:
        raise _no_policy(arn)
    revision = current["RevisionId"]
    if expected == _EXPECT_NO_POLICY:
        raise _no_policy(
            f"Requested policy update expecting none to be present for table {table.name}, but a policy exists with revision id {revision}."
        )
    if revision != expected:
        raise _no_policy(
            f"Requested update for policy with revision id {expected}, "
            f"but the policy associated to target table {table.name} has revision id {revision}."
        )


def _no_policy(why: str) -> EngineError:
    return EngineError("PolicyNotFoundException", f"Resource-based policy not found for the provided ResourceArn: {why}")


def _revision(now: float, current: dict[str, str] | None = None) -> str:
    """A revision id greater than the current one."""
    return str(max(int(now * 1_000_000), int(current["RevisionId"]) + 1 if current else 0))


_DEFAULT_MODE = "ACCESSED_AND_THROTTLED_KEYS"


def update_contributor_insights(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Enable or disable insights for a table or an index."""
    enabled = request["ContributorInsightsAction"] == "ENABLE"
    mode = request.get("ContributorInsightsMode") or _DEFAULT_MODE
    with context.database.write() as connection:
        table, index = _target(context, request)
        entry = {"Status": "ENABLED" if enabled else "DISABLED", "Mode": mode, "At": context.now()}
        insights = {**table.settings.get("ContributorInsights", {}), index or "": entry}
        context.catalog.replace(connection, replace(table, settings={**table.settings, "ContributorInsights": insights}))
    status = "ENABLING" if enabled else "DISABLING"
    return {**_names(table, index), "ContributorInsightsStatus": status, "ContributorInsightsMode": mode}


def describe_contributor_insights(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """Whether insights are enabled for a table or an index."""
    table, index = _target(context, request)
    entry = table.settings.get("ContributorInsights", {}).get(index or "")
    if entry is None:
        return {**_names(table, index), "ContributorInsightsStatus": "DISABLED"}
    response = {**_names(table, index), "ContributorInsightsStatus": entry["Status"], "LastUpdateDateTime": entry["At"]}
    if entry["Status"] == "ENABLED":
        response["ContributorInsightsMode"] = entry["Mode"]
        response["ContributorInsightsRuleList"] = [
            f"DynamoDBContributorInsights-{rule}-{table.name}-{int(table.created * 1000)}" for rule in _rules(table, entry["Mode"])
        ]
    return response


def list_contributor_insights(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The tables and indexes with a setting for insights."""
    name = request.get("TableName")
    tables = (
        [require_table(context, name)] if name else [e.table for e in context.catalog.layouts() if e.table.namespace == context.namespace]
    )
    summaries = [
        {**_names(table, index or None), "ContributorInsightsStatus": entry["Status"], "ContributorInsightsMode": entry["Mode"]}
        for table in sorted(tables, key=lambda table: table.name)
        for index, entry in table.settings.get("ContributorInsights", {}).items()
    ]
    return {"ContributorInsightsSummaries": summaries}


def _target(context: Context, request: dict[str, Any]) -> tuple[Table, str | None]:
    table = require_table(context, request["TableName"])
    index = request.get("IndexName")
    if index is not None and table.index(index) is None:
        raise not_found(f"Requested resource not found: Index: {index} not found")
    return table, index


def _names(table: Table, index: str | None) -> dict[str, Any]:
    return {"TableName": table.name} | ({"IndexName": index} if index else {})


def _rules(table: Table, mode: str) -> list[str]:
    letters = "PK" if not table.keys.range else "PKSK"
    parts = ["PKT", *(["SKT"] if "SK" in letters else [])]
    return parts if mode == "THROTTLED_KEYS" else ["PKC", *(["SKC"] if "SK" in letters else []), *parts]


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


def describe_limits(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The quotas that DynamoDB gives a new account."""
    return {
        "AccountMaxReadCapacityUnits": 80000,
        "AccountMaxWriteCapacityUnits": 80000,
        "TableMaxReadCapacityUnits": 40000,
        "TableMaxWriteCapacityUnits": 40000,
    }


def describe_endpoints(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """The one endpoint of the region."""
    return {"Endpoints": [{"Address": f"dynamodb.{context.namespace.region}.amazonaws.com", "CachePeriodInMinutes": 1440}]}


OPERATIONS: dict[str, Callable[[Context, dict[str, Any]], dict[str, Any]]] = {
    "TagResource": tag_resource,
    "UntagResource": untag_resource,
    "ListTagsOfResource": list_tags_of_resource,
    "UpdateTimeToLive": update_time_to_live,
    "DescribeTimeToLive": describe_time_to_live,
    "DescribeLimits": describe_limits,
    "DescribeEndpoints": describe_endpoints,
    "PutResourcePolicy": put_resource_policy,
    "GetResourcePolicy": get_resource_policy,
    "DeleteResourcePolicy": delete_resource_policy,
    "UpdateContributorInsights": update_contributor_insights,
    "DescribeContributorInsights": describe_contributor_insights,
    "ListContributorInsights": list_contributor_insights,
    "CreateGlobalTable": create_global_table,
    "DescribeGlobalTable": find_global_table,
    "DescribeGlobalTableSettings": find_global_table,
    "UpdateGlobalTable": find_global_table,
    "UpdateGlobalTableSettings": find_global_table,
    "ListGlobalTables": list_global_tables,
    "DescribeTableReplicaAutoScaling": describe_table_replica_auto_scaling,
    "UpdateTableReplicaAutoScaling": update_table_replica_auto_scaling,
    "DescribeKinesisStreamingDestination": describe_kinesis_streaming_destination,
    "EnableKinesisStreamingDestination": enable_kinesis_streaming_destination,
    "DisableKinesisStreamingDestination": change_kinesis_streaming_destination,
    "UpdateKinesisStreamingDestination": change_kinesis_streaming_destination,
    "ListBulkOperations": list_bulk_operations,
    "DescribeBulkOperation": find_bulk_operation,
    "CancelBulkOperation": find_bulk_operation,
    "StartBulkPutItems": start_bulk_put_items,
    "SearchVectors": search_vectors,
}
