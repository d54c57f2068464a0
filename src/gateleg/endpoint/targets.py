"""The operations in `X-Amz-Target`, and how to run them."""

from enum import Enum

__all__ = ["Kind"]

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

#: Every target of DynamoDB and DynamoDB Streams, with its operation.
TARGETS: dict[bytes, str] = {
    **{f"DynamoDB_20120810.{name}".encode(): name for name in _DYNAMODB.split()},
    **{f"DynamoDBStreams_20120810.{name}".encode(): name for name in _STREAMS},
}

_READS = frozenset({"BatchGetItem", "Query", "Scan", "TransactGetItems"})


class Kind(Enum):
    """How to run an operation."""

    #: immediately: it changes nothing and is fast
    READ = "read"
    #: in a group of writes that share a commit
    WRITE = "write"
    #: alone, off the event loop, while no group is open: it may change anything and be slow
    EXCLUSIVE = "exclusive"


def kind_of(operation: str, *, is_write: bool) -> Kind:
    """How to run an operation; `is_write` means that it can join a group of writes."""
    if is_write:
        return Kind.WRITE
    if operation in _READS or operation.startswith(("Get", "Describe", "List")):
        return Kind.READ
    return Kind.EXCLUSIVE
