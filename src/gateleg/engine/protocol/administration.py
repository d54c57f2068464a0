"""The shapes of requests about backups, streams, replicas, exports and imports, policies, insights and the account."""

from gateleg.engine.protocol.shapes import (
    BILLING,
    DEFINITIONS,
    ENCRYPTION,
    EXPRESSION,
    GLOBAL_INDEXES,
    INDEX,
    KEY_SCHEMA,
    LOCAL_INDEXES,
    NAMES,
    NEW_NAME,
    ON_DEMAND,
    TABLE_CLASS,
    THROUGHPUT,
    UNITS,
    VALUES,
    VECTOR_INDEXES,
    Boolean,
    Kind,
    ListOf,
    Number,
    Text,
    structure,
)
from gateleg.engine.protocol.shapes import NAMED_TABLE as TABLE

ARN = Text(37, 1024)
TABLE_ARN = Text(1, 1024)
RESOURCE_ARN = Text(1, 1283)
REGION = Text()
TIME = Number("Date")
REVISION = Text(1, 255)
TOKEN = Text(pattern=r"^[^\$]+$")
PAGE = Number("Integer", 1, 25)
COMPRESSION = Text(enum=("GZIP", "ZSTD", "NONE"))

_BUCKET = Text(max=255, pattern=r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$")
_OWNER = Text(pattern="[0-9]{12}")
_PREFIX = Text(max=1024)
_KEY_ID = Text(1, 2048)
_ENCRYPTION = Text(enum=("AES256", "KMS"))
_PRECISION = Text(enum=("MILLISECOND", "MICROSECOND"))

_RESTORE: dict[str, Kind] = {
    "TargetTableName!": NEW_NAME,
    "BillingModeOverride": BILLING,
    "GlobalSecondaryIndexOverride": GLOBAL_INDEXES,
    "LocalSecondaryIndexOverride": LOCAL_INDEXES,
    "ProvisionedThroughputOverride": THROUGHPUT,
    "OnDemandThroughputOverride": ON_DEMAND,
    "SSESpecificationOverride": ENCRYPTION,
    "VectorIndexOverride": VECTOR_INDEXES,
}

_BACKUPS = (
    structure("CreateBackup", {"TableName!": TABLE, "BackupName!": NEW_NAME}),
    structure("DescribeBackup", {"BackupArn!": ARN}),
    structure("DeleteBackup", {"BackupArn!": ARN}),
    structure(
        "ListBackups",
        {
            "TableName": TABLE,
            "Limit": Number("Integer", 1, 100),
            "TimeRangeLowerBound": TIME,
            "TimeRangeUpperBound": TIME,
            "ExclusiveStartBackupArn": ARN,
            "BackupType": Text(enum=("USER", "SYSTEM", "AWS_BACKUP", "ALL")),
        },
    ),
    structure("RestoreTableFromBackup", {"BackupArn!": ARN, **_RESTORE}),
    structure(
        "RestoreTableToPointInTime",
        {
            "SourceTableArn": TABLE_ARN,
            "SourceTableName": NEW_NAME,
            "UseLatestRestorableTime": Boolean(),
            "RestoreDateTime": TIME,
            **_RESTORE,
        },
    ),
    structure("DescribeContinuousBackups", {"TableName!": TABLE}),
    structure(
        "UpdateContinuousBackups",
        {
            "TableName!": TABLE,
            "PointInTimeRecoverySpecification!": structure(
                "PointInTimeRecoverySpecification",
                {"PointInTimeRecoveryEnabled!": Boolean(), "RecoveryPeriodInDays": Number("Integer", 1, 35)},
            ),
        },
    ),
)

_STREAMS = (
    structure(
        "DescribeStream",
        {
            "StreamArn!": ARN,
            "Limit": Number("Integer", 1),
            "ExclusiveStartShardId": Text(28, 65),
            "ShardFilter": structure("ShardFilter", {"Type": Text(enum=("CHILD_SHARDS",)), "ShardId": Text(28, 65)}),
        },
    ),
    structure("GetRecords", {"ShardIterator!": Text(1, 2048), "Limit": Number("Integer", 1)}),
    structure(
        "GetShardIterator",
        {
            "StreamArn!": ARN,
            "ShardId!": Text(28, 65),
            "ShardIteratorType!": Text(enum=("AFTER_SEQUENCE_NUMBER", "LATEST", "AT_TIMESTAMP", "AT_SEQUENCE_NUMBER", "TRIM_HORIZON")),
            "SequenceNumber": Text(21, 40),
            "Timestamp": TIME,
        },
    ),
    structure("ListStreams", {"TableName": NEW_NAME, "Limit": Number("Integer", 1), "ExclusiveStartStreamArn": ARN}),
)

_EXPORTS = (
    structure(
        "ExportTableToPointInTime",
        {
            "TableArn!": TABLE_ARN,
            "ExportTime": TIME,
            "ClientToken": TOKEN,
            "S3Bucket!": _BUCKET,
            "S3BucketOwner": _OWNER,
            "S3Prefix": _PREFIX,
            "S3SseAlgorithm": _ENCRYPTION,
            "S3SseKmsKeyId": _KEY_ID,
            "ExportFormat": Text(enum=("DYNAMODB_JSON", "ION")),
            "ExportType": Text(enum=("FULL_EXPORT", "INCREMENTAL_EXPORT")),
            "IncrementalExportSpecification": structure(
                "IncrementalExportSpecification",
                {"ExportFromTime": TIME, "ExportToTime": TIME, "ExportViewType": Text(enum=("NEW_IMAGE", "NEW_AND_OLD_IMAGES"))},
            ),
            "FilterSpecification": structure(
                "FilterSpecification",
                {
                    "FilterExpression": EXPRESSION,
                    "ProjectionExpression": EXPRESSION,
                    "KeyConditionExpression": EXPRESSION,
                    "ExpressionAttributeNames": NAMES,
                    "ExpressionAttributeValues": VALUES,
                },
            ),
        },
    ),
    structure("DescribeExport", {"ExportArn!": ARN}),
    structure("ListExports", {"TableArn": TABLE_ARN, "MaxResults": PAGE, "NextToken": Text()}),
    structure(
        "ImportTable",
        {
            "ClientToken": TOKEN,
            "S3BucketSource!": structure("S3BucketSource", {"S3BucketOwner": _OWNER, "S3Bucket!": _BUCKET, "S3KeyPrefix": _PREFIX}),
            "InputFormat!": Text(enum=("DYNAMODB_JSON", "ION", "CSV")),
            "InputFormatOptions": structure(
                "InputFormatOptions",
                {
                    "Csv": structure(
                        "CsvOptions",
                        {
                            "Delimiter": Text(1, 1, r"[,;:|\t ]"),
                            "HeaderList": ListOf(Text(1, 65536, r"[\x20-\x21\x23-\x2B\x2D-\x7E]*"), 1, 255),
                        },
                    )
                },
            ),
            "InputCompressionType": COMPRESSION,
            "TableCreationParameters!": structure(
                "TableCreationParameters",
                {
                    "TableName!": NEW_NAME,
                    "AttributeDefinitions!": DEFINITIONS,
                    "KeySchema!": KEY_SCHEMA,
                    "BillingMode": BILLING,
                    "ProvisionedThroughput": THROUGHPUT,
                    "OnDemandThroughput": ON_DEMAND,
                    "SSESpecification": ENCRYPTION,
                    "GlobalSecondaryIndexes": GLOBAL_INDEXES,
                    "VectorIndexes": VECTOR_INDEXES,
                },
            ),
        },
    ),
    structure("DescribeImport", {"ImportArn!": ARN}),
    structure("ListImports", {"TableArn": TABLE_ARN, "PageSize": PAGE, "NextToken": Text(112, 1024, "([0-9a-f]{16})+")}),
)

_BULK = (
    structure(
        "StartBulkPutItems",
        {
            "ClientToken": TOKEN,
            "InputS3Configuration!": structure(
                "InputS3Configuration",
                {
                    "S3BucketOwner": _OWNER,
                    "S3Bucket!": _BUCKET,
                    "S3KeyPrefix": _PREFIX,
                    "InputFormat!": Text(enum=("DYNAMODB_JSON", "ION")),
                    "InputCompressionType": COMPRESSION,
                },
            ),
            "OutputS3Configuration!": structure(
                "OutputS3Configuration",
                {
                    "S3BucketOwner": _OWNER,
                    "S3Bucket": _BUCKET,
                    "S3KeyPrefix": _PREFIX,
                    "S3SseAlgorithm": _ENCRYPTION,
                    "S3SseKmsKeyId": _KEY_ID,
                    "OutputType!": ListOf(Text(enum=("ERROR", "CONDITION_CHECK_FAILURE"))),
                },
            ),
            "TableName!": TABLE,
            "MaxWriteRequestUnits": Number("Long", 1024),
            "PerformanceTier": Text(enum=("STANDARD", "ACCELERATED")),
        },
    ),
    structure("DescribeBulkOperation", {"BulkOperationArn!": ARN}),
    structure("CancelBulkOperation", {"BulkOperationArn!": ARN}),
    structure("ListBulkOperations", {"MaxResults": PAGE, "NextToken": Text(1, 1024, "([0-9a-f]{16})+")}),
)

_SCALING = structure(
    "AutoScalingSettingsUpdate",
    {
        "MinimumUnits": UNITS,
        "MaximumUnits": UNITS,
        "AutoScalingDisabled": Boolean(),
        "AutoScalingRoleArn": Text(1, 1600),
        "ScalingPolicyUpdate": structure(
            "AutoScalingPolicyUpdate",
            {
                "PolicyName": Text(1, 256),
                "TargetTrackingScalingPolicyConfiguration!": structure(
                    "AutoScalingTargetTrackingScalingPolicyConfigurationUpdate",
                    {
                        "DisableScaleIn": Boolean(),
                        "ScaleInCooldown": Number("Integer"),
                        "ScaleOutCooldown": Number("Integer"),
                        "TargetValue!": Number("Double"),
                    },
                ),
            },
        ),
    },
)

_REPLICAS = (
    structure(
        "CreateGlobalTable", {"GlobalTableName!": NEW_NAME, "ReplicationGroup!": ListOf(structure("Replica", {"RegionName": REGION}))}
    ),
    structure("DescribeGlobalTable", {"GlobalTableName!": NEW_NAME}),
    structure("DescribeGlobalTableSettings", {"GlobalTableName!": NEW_NAME}),
    structure("ListGlobalTables", {"ExclusiveStartGlobalTableName": NEW_NAME, "Limit": Number("Integer", 1), "RegionName": REGION}),
    structure(
        "UpdateGlobalTable",
        {
            "GlobalTableName!": NEW_NAME,
            "ReplicaUpdates!": ListOf(
                structure(
                    "ReplicaUpdate",
                    {
                        "Create": structure("CreateReplicaAction", {"RegionName!": REGION}),
                        "Delete": structure("DeleteReplicaAction", {"RegionName!": REGION}),
                    },
                )
            ),
        },
    ),
    structure(
        "UpdateGlobalTableSettings",
        {
            "GlobalTableName!": NEW_NAME,
            "GlobalTableBillingMode": BILLING,
            "GlobalTableProvisionedWriteCapacityUnits": UNITS,
            "GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate": _SCALING,
            "GlobalTableGlobalSecondaryIndexSettingsUpdate": ListOf(
                structure(
                    "GlobalTableGlobalSecondaryIndexSettingsUpdate",
                    {
                        "IndexName!": INDEX,
                        "ProvisionedWriteCapacityUnits": UNITS,
                        "ProvisionedWriteCapacityAutoScalingSettingsUpdate": _SCALING,
                    },
                ),
                1,
                20,
            ),
            "ReplicaSettingsUpdate": ListOf(
                structure(
                    "ReplicaSettingsUpdate",
                    {
                        "RegionName!": REGION,
                        "ReplicaProvisionedReadCapacityUnits": UNITS,
                        "ReplicaProvisionedReadCapacityAutoScalingSettingsUpdate": _SCALING,
                        "ReplicaGlobalSecondaryIndexSettingsUpdate": ListOf(
                            structure(
                                "ReplicaGlobalSecondaryIndexSettingsUpdate",
                                {
                                    "IndexName!": INDEX,
                                    "ProvisionedReadCapacityUnits": UNITS,
                                    "ProvisionedReadCapacityAutoScalingSettingsUpdate": _SCALING,
                                },
                            ),
                            1,
                            20,
                        ),
                        "ReplicaTableClass": TABLE_CLASS,
                    },
                ),
                1,
                50,
            ),
        },
    ),
    structure("DescribeTableReplicaAutoScaling", {"TableName!": TABLE}),
    structure(
        "UpdateTableReplicaAutoScaling",
        {
            "GlobalSecondaryIndexUpdates": ListOf(
                structure(
                    "GlobalSecondaryIndexAutoScalingUpdate",
                    {"IndexName": INDEX, "ProvisionedWriteCapacityAutoScalingUpdate": _SCALING},
                ),
                1,
            ),
            "TableName!": TABLE,
            "ProvisionedWriteCapacityAutoScalingUpdate": _SCALING,
            "ReplicaUpdates": ListOf(
                structure(
                    "ReplicaAutoScalingUpdate",
                    {
                        "RegionName!": REGION,
                        "ReplicaGlobalSecondaryIndexUpdates": ListOf(
                            structure(
                                "ReplicaGlobalSecondaryIndexAutoScalingUpdate",
                                {"IndexName": INDEX, "ProvisionedReadCapacityAutoScalingUpdate": _SCALING},
                            )
                        ),
                        "ReplicaProvisionedReadCapacityAutoScalingUpdate": _SCALING,
                    },
                ),
                1,
            ),
        },
    ),
)

_KINESIS: dict[str, Kind] = {"TableName!": TABLE, "StreamArn!": ARN}
_STREAMING: dict[str, Kind] = {
    **_KINESIS,
    "EnableKinesisStreamingConfiguration": structure(
        "EnableKinesisStreamingConfiguration", {"ApproximateCreationDateTimePrecision": _PRECISION}
    ),
}

_SETTINGS = (
    structure("DescribeEndpoints", {}),
    structure("DescribeLimits", {}),
    structure("GetResourcePolicy", {"ResourceArn!": RESOURCE_ARN}),
    structure("DeleteResourcePolicy", {"ResourceArn!": RESOURCE_ARN, "ExpectedRevisionId": REVISION}),
    structure(
        "PutResourcePolicy",
        {
            "ResourceArn!": RESOURCE_ARN,
            "Policy!": Text(),
            "ExpectedRevisionId": REVISION,
            "ConfirmRemoveSelfResourceAccess": Boolean(),
        },
    ),
    structure("DescribeContributorInsights", {"TableName!": TABLE, "IndexName": INDEX}),
    structure("ListContributorInsights", {"TableName": TABLE, "NextToken": Text(), "MaxResults": Number("Integer", max=100)}),
    structure(
        "UpdateContributorInsights",
        {
            "TableName!": TABLE,
            "IndexName": INDEX,
            "ContributorInsightsAction!": Text(enum=("ENABLE", "DISABLE")),
            "ContributorInsightsMode": Text(enum=("ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS")),
        },
    ),
    structure("DescribeKinesisStreamingDestination", {"TableName!": TABLE}),
    structure("EnableKinesisStreamingDestination", _STREAMING),
    structure("DisableKinesisStreamingDestination", _STREAMING),
    structure(
        "UpdateKinesisStreamingDestination",
        {
            **_KINESIS,
            "UpdateKinesisStreamingConfiguration": structure(
                "UpdateKinesisStreamingConfiguration", {"ApproximateCreationDateTimePrecision": _PRECISION}
            ),
        },
    ),
)

OPERATIONS = (*_BACKUPS, *_STREAMS, *_EXPORTS, *_BULK, *_REPLICAS, *_SETTINGS)
