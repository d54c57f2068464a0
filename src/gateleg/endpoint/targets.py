"""The operations that `X-Amz-Target` may name, and how each is run."""

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

#: Every target that DynamoDB and DynamoDB Streams know, and the operation it names.
TARGETS: dict[bytes, str] = {
    **{f"DynamoDB_20120810.{name}".encode(): name for name in _DYNAMODB.split()},
    **{f"DynamoDBStreams_20120810.{name}".encode(): name for name in _STREAMS},
}

_READS = frozenset({"BatchGetItem", "Query", "Scan", "TransactGetItems"})


class Kind(Enum):
    """How an operation is run."""

    #: at once: it changes nothing and takes little time
    READ = "read"
    #: in a group of writes with one commit
    WRITE = "write"
    #: by itself, apart from the event loop, while no group is open: it may change anything and take long
    ALONE = "alone"


def kind_of(operation: str, *, is_write: bool) -> Kind:
    """How to run an operation, given whether the engine lets it share a commit."""
    if is_write:
        return Kind.WRITE
    if operation in _READS or operation.startswith(("Get", "Describe", "List")):
        return Kind.READ
    return Kind.ALONE
