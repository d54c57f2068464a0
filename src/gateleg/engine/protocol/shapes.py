"""Kinds of request members, with the constraints of DynamoDB's API model.

The shapes of requests that read and write items.

The shapes of requests that create, describe and change tables, their indexes, tags and time to live.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: The pattern of table and index names, as DynamoDB prints it.
NAME_PATTERN = "[a-zA-Z0-9_.-]+"


@dataclass(frozen=True, slots=True)
class Text:
    """A string, with its length limits, its pattern or its set of values (in DynamoDB's order)."""

    min: int | None = None
    max: int | None = None
    pattern: str | None = None
    enum: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableName:
    """A table name or ARN.

    ConstraintErrors are worded in three ways: with the other constraints (`member`), with these but a missing name on its own
    (`created`), and all of them on their own (`named`).
    """

    wording: Literal["member", "created", "named"] = "member"


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the given Java type; `terse` bounds are reported in the newer form, without the value."""

    java: Literal["Integer", "Long", "Double", "Date"]
    min: int | None = None
    max: int | None = None
    terse: bool = False


@dataclass(frozen=True, slots=True)
class Boolean:
    """A boolean."""


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of members of one kind; `terse` limits are reported in the newer form, without the value."""

    item: "Kind"
    min: int | None = None
    max: int | None = None
    terse: bool = False


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map from strings to members of one kind.

    `names` says that the keys are names of tables, `sizes` are the limits on the length of the values as DynamoDB states them
    for the whole map. The values of a map that is not `walked` are checked by the operations. A `json` map is printed as it came.
    """

    value: "Kind"
    names: bool = False
    sizes: tuple[int, int] | None = None
    walked: bool = True
    json: bool = False


@dataclass(frozen=True, slots=True)
class Structure:
    """A structure; errors are reported in the order of `members`."""

    name: str
    members: Mapping[str, "Kind"] = field(default_factory=dict)
    required: frozenset[str] = frozenset()


Kind = Text | TableName | Number | Boolean | ListOf | MapOf | Structure


def structure(name: str, members: Mapping[str, Kind]) -> Structure:
    """A structure with its members in the order of DynamoDB's error reports; `!` after a name marks it as required."""
    return Structure(
        name,
        {member.removesuffix("!"): kind for member, kind in members.items()},
        frozenset(member[:-1] for member in members if member.endswith("!")),
    )


#: An attribute value, whose content is validated where it is used.
VALUE = Structure("AttributeValue")
#: A map of attribute values: an item, a key, or the values of an expression.
VALUES = MapOf(VALUE, walked=False)
NAMES = MapOf(Text())
TABLE = TableName()
INDEX = Text(3, 255, NAME_PATTERN)
EXPRESSION = Text()

CAPACITY = Text(enum=("INDEXES", "TOTAL", "NONE"))
METRICS = Text(enum=("SIZE", "NONE"))
RETURN = Text(enum=("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"))
RETURN_ON_FAILURE = Text(enum=("ALL_OLD", "NONE"))
SELECT = Text(enum=("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"))
CONDITIONAL = Text(enum=("OR", "AND"))
COMPARISON = Text(
    enum=(
        *("IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT"),
        *("NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"),
    )
)
ATTRIBUTES_TO_GET = ListOf(Text(), 1, 255)

CONDITIONS = MapOf(structure("Condition", {"AttributeValueList": ListOf(VALUE), "ComparisonOperator!": COMPARISON}))
EXPECTED = MapOf(
    structure(
        "ExpectedAttributeValue",
        {"AttributeValueList": ListOf(VALUE), "ComparisonOperator": COMPARISON, "Exists": Boolean(), "Value": VALUE},
    )
)
UPDATES = MapOf(structure("AttributeValueUpdate", {"Action": Text(enum=("ADD", "PUT", "DELETE")), "Value": VALUE}))

_PLACEHOLDERS: dict[str, Kind] = {"ExpressionAttributeNames": NAMES, "ExpressionAttributeValues": VALUES}
_CONDITIONED: dict[str, Kind] = {
    "ConditionExpression": EXPRESSION,
    **_PLACEHOLDERS,
    "ReturnValuesOnConditionCheckFailure": RETURN_ON_FAILURE,
}

_GET = structure("Get", {"Key!": VALUES, "TableName!": TABLE, "ProjectionExpression": EXPRESSION, "ExpressionAttributeNames": NAMES})
_WRITE = structure(
    "TransactWriteItem",
    {
        "ConditionCheck": structure(
            "ConditionCheck", {"Key!": VALUES, "TableName!": TABLE, "ConditionExpression!": EXPRESSION, **_CONDITIONED}
        ),
        "Put": structure("Put", {"Item!": VALUES, "TableName!": TABLE, **_CONDITIONED}),
        "Delete": structure("Delete", {"Key!": VALUES, "TableName!": TABLE, **_CONDITIONED}),
        "Update": structure("Update", {"Key!": VALUES, "UpdateExpression!": EXPRESSION, "TableName!": TABLE, **_CONDITIONED}),
    },
)

_STATEMENT = Text(1, 8192)
_PARAMETERS = ListOf(VALUE, 1)
_TOKEN = Text(1, 36)

ITEM_OPERATIONS = (
    structure(
        "PutItem",
        {
            "ReturnConsumedCapacity": CAPACITY,
            "TableName!": TABLE,
            "Item!": VALUES,
            "ConditionalOperator": CONDITIONAL,
            "Expected": EXPECTED,
            "ReturnValues": RETURN,
            "ReturnItemCollectionMetrics": METRICS,
            **_CONDITIONED,
        },
    ),
    structure(
        "GetItem",
        {
            "ReturnConsumedCapacity": CAPACITY,
            "AttributesToGet": ATTRIBUTES_TO_GET,
            "TableName!": TABLE,
            "Key!": VALUES,
            "ConsistentRead": Boolean(),
            "ProjectionExpression": EXPRESSION,
            "ExpressionAttributeNames": NAMES,
        },
    ),
    structure(
        "UpdateItem",
        {
            "ReturnConsumedCapacity": CAPACITY,
            "TableName!": TABLE,
            "ReturnItemCollectionMetrics": METRICS,
            "ReturnValues": RETURN,
            "ConditionalOperator": CONDITIONAL,
            "Key!": VALUES,
            "Expected": EXPECTED,
            "AttributeUpdates": UPDATES,
            "UpdateExpression": EXPRESSION,
            **_CONDITIONED,
        },
    ),
    structure(
        "DeleteItem",
        {
            "ReturnConsumedCapacity": CAPACITY,
            "TableName!": TABLE,
            "ReturnValues": RETURN,
            "ReturnItemCollectionMetrics": METRICS,
            "Key!": VALUES,
            "ConditionalOperator": CONDITIONAL,
            "Expected": EXPECTED,
            **_CONDITIONED,
        },
    ),
    structure(
        "Query",
        {
            "Select": SELECT,
            "IndexName": INDEX,
            "ReturnConsumedCapacity": CAPACITY,
            "QueryFilter": CONDITIONS,
            "TableName!": TABLE,
            "ConditionalOperator": CONDITIONAL,
            "AttributesToGet": ATTRIBUTES_TO_GET,
            "Limit": Number("Integer", 1, terse=True),
            "KeyConditions": CONDITIONS,
            "ExclusiveStartKey": VALUES,
            "ConsistentRead": Boolean(),
            "ScanIndexForward": Boolean(),
            "KeyConditionExpression": EXPRESSION,
            "FilterExpression": EXPRESSION,
            "ProjectionExpression": EXPRESSION,
            **_PLACEHOLDERS,
        },
    ),
    structure(
        "Scan",
        {
            "Select": SELECT,
            "IndexName": INDEX,
            "TotalSegments": Number("Integer", 1, 1_000_000),
            "ReturnConsumedCapacity": CAPACITY,
            "TableName!": TABLE,
            "ConditionalOperator": CONDITIONAL,
            "ScanFilter": CONDITIONS,
            "Segment": Number("Integer", 0, 999_999),
            "Limit": Number("Integer", 1),
            "AttributesToGet": ATTRIBUTES_TO_GET,
            "ExclusiveStartKey": VALUES,
            "ConsistentRead": Boolean(),
            "FilterExpression": EXPRESSION,
            "ProjectionExpression": EXPRESSION,
            **_PLACEHOLDERS,
        },
    ),
    structure(
        "BatchGetItem",
        {
            "RequestItems!": MapOf(
                structure(
                    "KeysAndAttributes",
                    {
                        "Keys!": ListOf(VALUES, 1, 100, terse=True),
                        "AttributesToGet": ATTRIBUTES_TO_GET,
                        "ConsistentRead": Boolean(),
                        "ProjectionExpression": EXPRESSION,
                        "ExpressionAttributeNames": NAMES,
                    },
                ),
                names=True,
                json=True,
            ),
            "ReturnConsumedCapacity": CAPACITY,
        },
    ),
    structure(
        "BatchWriteItem",
        {
            "ReturnConsumedCapacity": CAPACITY,
            "ReturnItemCollectionMetrics": METRICS,
            "RequestItems!": MapOf(
                ListOf(
                    structure(
                        "WriteRequest",
                        {
                            "PutRequest": structure("PutRequest", {"Item!": VALUES}),
                            "DeleteRequest": structure("DeleteRequest", {"Key!": VALUES}),
                        },
                    )
                ),
                names=True,
                sizes=(1, 25),
            ),
        },
    ),
    structure(
        "TransactGetItems",
        {
            "TransactItems!": ListOf(structure("TransactGetItem", {"Get!": _GET}), 1, 100),
            "ReturnConsumedCapacity": CAPACITY,
        },
    ),
    structure(
        "TransactWriteItems",
        {
            "ClientRequestToken": _TOKEN,
            "ReturnConsumedCapacity": CAPACITY,
            "ReturnItemCollectionMetrics": METRICS,
            "TransactItems!": ListOf(_WRITE, 1, 100),
        },
    ),
    structure(
        "ExecuteStatement",
        {
            "Statement!": _STATEMENT,
            "Parameters": _PARAMETERS,
            "ConsistentRead": Boolean(),
            "NextToken": Text(1, 32768),
            "ReturnConsumedCapacity": CAPACITY,
            "Limit": Number("Integer", 1),
            "ReturnValuesOnConditionCheckFailure": RETURN_ON_FAILURE,
        },
    ),
    structure(
        "BatchExecuteStatement",
        {
            "Statements!": ListOf(
                structure(
                    "BatchStatementRequest",
                    {
                        "Statement!": _STATEMENT,
                        "Parameters": _PARAMETERS,
                        "ConsistentRead": Boolean(),
                        "ReturnValuesOnConditionCheckFailure": RETURN_ON_FAILURE,
                    },
                ),
                1,
                25,
            ),
            "ReturnConsumedCapacity": CAPACITY,
        },
    ),
    structure(
        "ExecuteTransaction",
        {
            "TransactStatements!": ListOf(
                structure(
                    "ParameterizedStatement",
                    {"Statement!": _STATEMENT, "Parameters": _PARAMETERS, "ReturnValuesOnConditionCheckFailure": RETURN_ON_FAILURE},
                ),
                1,
                100,
            ),
            "ClientRequestToken": _TOKEN,
            "ReturnConsumedCapacity": CAPACITY,
        },
    ),
    structure(
        "SearchVectors",
        {
            "TableName!": TABLE,
            "IndexName!": INDEX,
            "ReturnConsumedCapacity": CAPACITY,
            "ProjectionExpression": EXPRESSION,
            "SearchVector!": ListOf(VALUE, 1, 4096),
            "SearchConditionExpression": EXPRESSION,
            "TopK!": Number("Integer", 1),
            **_PLACEHOLDERS,
        },
    ),
)


#: The table in an operation on the table itself.
NAMED_TABLE = TableName("named")
KEY_NAME = Text(1, 255)
LONG = Number("Long")
UNITS = Number("Long", 1)
NEW_NAME = Text(3, 255, NAME_PATTERN)

BILLING = Text(enum=("PROVISIONED", "PAY_PER_REQUEST"))
TABLE_CLASS = Text(enum=("STANDARD", "STANDARD_INFREQUENT_ACCESS"))
REPLICATION = Text(enum=("ENABLED", "DISABLED", "ENABLED_WITH_OVERRIDES"))

DEFINITIONS = ListOf(
    structure("AttributeDefinition", {"AttributeName!": KEY_NAME, "AttributeType!": Text(enum=("B", "N", "S"))}),
)
KEY_ELEMENT = structure("KeySchemaElement", {"AttributeName!": KEY_NAME, "KeyType!": Text(enum=("HASH", "RANGE"))})
KEY_SCHEMA = ListOf(KEY_ELEMENT, 1, 2)
#: Only GSIs may have several key attributes; the operations check how many.
GLOBAL_KEY_SCHEMA = ListOf(KEY_ELEMENT, 1)

PROJECTION = structure(
    "Projection",
    {"ProjectionType": Text(enum=("ALL", "INCLUDE", "KEYS_ONLY")), "NonKeyAttributes": ListOf(KEY_NAME, 1, 20)},
)
THROUGHPUT = structure("ProvisionedThroughput", {"WriteCapacityUnits!": UNITS, "ReadCapacityUnits!": UNITS})
ON_DEMAND = structure("OnDemandThroughput", {"MaxReadRequestUnits": LONG, "MaxWriteRequestUnits": LONG})
WARM = structure("WarmThroughput", {"ReadUnitsPerSecond": LONG, "WriteUnitsPerSecond": LONG})
STREAM = structure(
    "StreamSpecification",
    {"StreamEnabled!": Boolean(), "StreamViewType": Text(enum=("NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"))},
)
ENCRYPTION = structure("SSESpecification", {"Enabled": Boolean(), "SSEType": Text(enum=("AES256", "KMS")), "KMSMasterKeyId": Text()})
TAGS = ListOf(structure("Tag", {"Key!": Text(1, 128), "Value!": Text(0, 256)}))

_THROUGHPUTS: dict[str, Kind] = {"ProvisionedThroughput": THROUGHPUT, "OnDemandThroughput": ON_DEMAND, "WarmThroughput": WARM}
LOCAL_INDEXES = ListOf(
    structure("LocalSecondaryIndex", {"IndexName!": INDEX, "KeySchema!": KEY_SCHEMA, "Projection!": PROJECTION}),
)
GLOBAL_INDEXES = ListOf(
    structure(
        "GlobalSecondaryIndex",
        {"IndexName!": INDEX, "KeySchema!": GLOBAL_KEY_SCHEMA, "Projection!": PROJECTION, **_THROUGHPUTS},
    )
)

_VECTOR: dict[str, Kind] = {
    "IndexName!": INDEX,
    "VectorAttribute!": structure("VectorAttributeDefinition", {"AttributeName!": KEY_NAME}),
    "SearchSchema": ListOf(
        structure(
            "SearchSchemaElement",
            {"AttributeName!": Text(max=65535), "SearchSchemaElementType!": Text(enum=("HASH", "INLINE_FILTER"))},
        ),
        1,
    ),
    "Projection!": PROJECTION,
    "Dimensions!": UNITS,
    "DistanceFunction!": Text(enum=("COSINE", "DOT_PRODUCT", "EUCLIDEAN")),
}
VECTOR_INDEXES = ListOf(structure("VectorIndex", _VECTOR))

_INDEX_UPDATE = structure(
    "GlobalSecondaryIndexUpdate",
    {
        "Update": structure("UpdateGlobalSecondaryIndexAction", {"IndexName!": INDEX, **_THROUGHPUTS}),
        "Create": structure(
            "CreateGlobalSecondaryIndexAction",
            {"Projection!": PROJECTION, "IndexName!": INDEX, "KeySchema!": GLOBAL_KEY_SCHEMA, **_THROUGHPUTS},
        ),
        "Delete": structure("DeleteGlobalSecondaryIndexAction", {"IndexName!": INDEX}),
    },
)
_VECTOR_UPDATE = structure(
    "VectorIndexUpdate",
    {
        "Create": structure("CreateVectorIndexAction", _VECTOR),
        "Delete": structure("DeleteVectorIndexAction", {"IndexName!": INDEX}),
    },
)

_READ_OVERRIDES: dict[str, Kind] = {
    "ProvisionedThroughputOverride": structure("ProvisionedThroughputOverride", {"ReadCapacityUnits": UNITS}),
    "OnDemandThroughputOverride": structure("OnDemandThroughputOverride", {"MaxReadRequestUnits": LONG}),
}
_REPLICA: dict[str, Kind] = {
    "RegionName!": Text(),
    "KMSMasterKeyId": Text(),
    **_READ_OVERRIDES,
    "GlobalSecondaryIndexes": ListOf(structure("ReplicaGlobalSecondaryIndex", {"IndexName!": INDEX, **_READ_OVERRIDES}), 1),
    "TableClassOverride": TABLE_CLASS,
}
_REPLICA_UPDATE = structure(
    "ReplicationGroupUpdate",
    {
        "Create": structure("CreateReplicationGroupMemberAction", _REPLICA),
        "Update": structure("UpdateReplicationGroupMemberAction", _REPLICA),
        "Delete": structure("DeleteReplicationGroupMemberAction", {"RegionName!": Text()}),
        "Disassociate": structure(
            "DisassociateReplicationGroupMemberAction",
            {"RegionName!": Text(), "DisassociationMode!": Text(enum=("WAIT_FOR_REPLICATION",))},
        ),
    },
)
_WITNESS_UPDATE = structure(
    "GlobalTableWitnessGroupUpdate",
    {
        "Create": structure("CreateGlobalTableWitnessGroupMemberAction", {"RegionName!": Text()}),
        "Delete": structure("DeleteGlobalTableWitnessGroupMemberAction", {"RegionName!": Text()}),
    },
)

TABLE_OPERATIONS = (
    structure(
        "CreateTable",
        {
            "AttributeDefinitions!": DEFINITIONS,
            "TableName!": TableName("created"),
            "BillingMode": BILLING,
            "ProvisionedThroughput": THROUGHPUT,
            "KeySchema!": KEY_SCHEMA,
            "GlobalSecondaryIndexes": GLOBAL_INDEXES,
            "LocalSecondaryIndexes": LOCAL_INDEXES,
            "StreamSpecification": STREAM,
            "SSESpecification": ENCRYPTION,
            "Tags": TAGS,
            "TableClass": TABLE_CLASS,
            "DeletionProtectionEnabled": Boolean(),
            "WarmThroughput": WARM,
            "ResourcePolicy": Text(),
            "OnDemandThroughput": ON_DEMAND,
            "GlobalTableSourceArn": Text(1, 1024),
            "GlobalTableSettingsReplicationMode": REPLICATION,
            "VectorIndexes": VECTOR_INDEXES,
        },
    ),
    structure(
        "UpdateTable",
        {
            "TableName!": NAMED_TABLE,
            "AttributeDefinitions": DEFINITIONS,
            "BillingMode": BILLING,
            "ProvisionedThroughput": THROUGHPUT,
            "GlobalSecondaryIndexUpdates": ListOf(_INDEX_UPDATE),
            "StreamSpecification": STREAM,
            "SSESpecification": ENCRYPTION,
            "ReplicaUpdates": ListOf(_REPLICA_UPDATE, 1),
            "TableClass": TABLE_CLASS,
            "DeletionProtectionEnabled": Boolean(),
            "MultiRegionConsistency": Text(enum=("EVENTUAL", "STRONG")),
            "GlobalTableWitnessUpdates": ListOf(_WITNESS_UPDATE, 1, 1),
            "OnDemandThroughput": ON_DEMAND,
            "WarmThroughput": WARM,
            "GlobalTableSettingsReplicationMode": REPLICATION,
            "DisassociationProtectionEnabled": Boolean(),
            "VectorIndexUpdates": ListOf(_VECTOR_UPDATE),
        },
    ),
    structure("DescribeTable", {"TableName!": NAMED_TABLE}),
    structure("DeleteTable", {"TableName!": NAMED_TABLE}),
    structure("ListTables", {"Limit": Number("Integer", 1, 100), "ExclusiveStartTableName": NEW_NAME}),
    # An invalid ARN is reported before missing parameters, so the operations check both themselves.
    structure("TagResource", {"ResourceArn": Text(max=1283), "Tags": TAGS}),
    structure("UntagResource", {"ResourceArn": Text(max=1283), "TagKeys": ListOf(Text(1, 128))}),
    structure("ListTagsOfResource", {"ResourceArn": Text(max=1283), "NextToken": Text()}),
    structure(
        "UpdateTimeToLive",
        {
            "TableName!": NAMED_TABLE,
            "TimeToLiveSpecification!": structure("TimeToLiveSpecification", {"AttributeName!": KEY_NAME, "Enabled!": Boolean()}),
        },
    ),
    structure("DescribeTimeToLive", {"TableName!": NAMED_TABLE}),
)
