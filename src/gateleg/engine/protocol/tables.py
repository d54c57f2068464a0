"""The shapes of requests that create, describe and change tables, their indexes, tags and time to live."""

from gateleg.engine.protocol.items import INDEX
from gateleg.engine.protocol.kinds import NAME_PATTERN, Boolean, Kind, ListOf, Number, TableName, Text, structure

#: The table in an operation on the table itself.
TABLE = TableName("named")
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

OPERATIONS = (
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
            "TableName!": TABLE,
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
    structure("DescribeTable", {"TableName!": TABLE}),
    structure("DeleteTable", {"TableName!": TABLE}),
    structure("ListTables", {"Limit": Number("Integer", 1, 100), "ExclusiveStartTableName": NEW_NAME}),
    # An invalid ARN is reported before missing parameters, so the operations check both themselves.
    structure("TagResource", {"ResourceArn": Text(max=1283), "Tags": TAGS}),
    structure("UntagResource", {"ResourceArn": Text(max=1283), "TagKeys": ListOf(Text(1, 128))}),
    structure("ListTagsOfResource", {"ResourceArn": Text(max=1283), "NextToken": Text()}),
    structure(
        "UpdateTimeToLive",
        {
            "TableName!": TABLE,
            "TimeToLiveSpecification!": structure("TimeToLiveSpecification", {"AttributeName!": KEY_NAME, "Enabled!": Boolean()}),
        },
    ),
    structure("DescribeTimeToLive", {"TableName!": TABLE}),
)
