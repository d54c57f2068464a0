"""The operations that `X-Amz-Target` may name."""

_DYNAMODB = """
    BatchExecuteStatement BatchGetItem BatchWriteItem CancelBulkOperation CreateBackup CreateGlobalTable CreateTable DeleteBackup
    DeleteItem DeleteResourcePolicy DeleteTable DescribeBackup DescribeBulkOperation DescribeContinuousBackups
    DescribeContributorInsights DescribeEndpoints DescribeExport DescribeGlobalTable DescribeGlobalTableSettings DescribeImport
    DescribeKinesisStreamingDestination DescribeLimits DescribeTable DescribeTableReplicaAutoScaling DescribeTimeToLive
    DisableKinesisStreamingDestination EnableKinesisStreamingDestination ExecuteStatement ExecuteTransaction
    ExportTableToPointInTime GetItem GetResourcePolicy ImportTable ListBackups ListBulkOperations ListContributorInsights
    ListExports ListGlobalTables ListImports ListTables ListTagsOfResource PutItem PutResourcePolicy Query RestoreTableFromBackup
    RestoreTableToPointInTime Scan SearchVectors StartBulkPutItems TagResource TransactGetItems TransactWriteItems UntagResource
    UpdateContinuousBackups UpdateContributorInsights UpdateGlobalTable UpdateGlobalTableSettings UpdateItem
    UpdateKinesisStreamingDestination UpdateTable UpdateTableReplicaAutoScaling UpdateTimeToLive
"""

_STREAMS = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"]

#: Every target that DynamoDB and DynamoDB Streams know, and the operation it names.
TARGETS: dict[bytes, str] = {
    **{f"DynamoDB_20120810.{name}".encode(): name for name in _DYNAMODB.split()},
    **{f"DynamoDBStreams_20120810.{name}".encode(): name for name in _STREAMS},
}
