from typing import Any

import pytest

from gateleg.engine.engine import Engine
from tests.engine.operations.requests import index, refusal, table

KINESIS = "arn:aws:kinesis:us-east-1:123456789012:stream/changes"
BULK = "arn:aws:dynamodb:us-east-1:123456789012:bulk/1"


@pytest.fixture
def music(engine: Engine) -> Engine:
    engine.call("CreateTable", table("a", GlobalSecondaryIndexes=[index("gsi", "a")]))
    return engine


@pytest.mark.parametrize(
    ("operation", "request_", "answer"),
    [
        ("ListGlobalTables", {}, {"GlobalTables": []}),
        ("ListBulkOperations", {}, {"BulkOperationsSummaryList": []}),
        ("DescribeKinesisStreamingDestination", {"TableName": "Music"}, {"TableName": "Music", "KinesisDataStreamDestinations": []}),
        (
            "DescribeTableReplicaAutoScaling",
            {"TableName": "Music"},
            {"TableAutoScalingDescription": {"TableName": "Music", "TableStatus": "ACTIVE", "Replicas": []}},
        ),
    ],
)
def test_what_is_empty_in_one_region(music: Engine, operation: str, request_: dict[str, Any], answer: dict[str, Any]) -> None:
    assert music.call(operation, request_) == answer


@pytest.mark.parametrize(
    ("operation", "request_", "code"),
    [
        ("CreateGlobalTable", {"GlobalTableName": "Nothing", "ReplicationGroup": []}, "TableNotFoundException"),
        ("CreateGlobalTable", {"GlobalTableName": "Music", "ReplicationGroup": [{"RegionName": "eu-west-1"}]}, "ValidationException"),
        ("DescribeGlobalTable", {"GlobalTableName": "Music"}, "GlobalTableNotFoundException"),
        ("UpdateGlobalTable", {"GlobalTableName": "Music", "ReplicaUpdates": []}, "GlobalTableNotFoundException"),
        ("DescribeGlobalTableSettings", {"GlobalTableName": "Music"}, "GlobalTableNotFoundException"),
        ("UpdateGlobalTableSettings", {"GlobalTableName": "Music"}, "GlobalTableNotFoundException"),
        ("UpdateTableReplicaAutoScaling", {"TableName": "Music"}, "ValidationException"),
        ("EnableKinesisStreamingDestination", {"TableName": "Music", "StreamArn": KINESIS}, "ResourceNotFoundException"),
        ("DisableKinesisStreamingDestination", {"TableName": "Music", "StreamArn": KINESIS}, "ValidationException"),
        ("UpdateKinesisStreamingDestination", {"TableName": "Music", "StreamArn": KINESIS}, "ValidationException"),
        ("DescribeBulkOperation", {"BulkOperationArn": BULK}, "ResourceNotFoundException"),
        ("CancelBulkOperation", {"BulkOperationArn": BULK}, "ResourceNotFoundException"),
        ("SearchVectors", {"TableName": "Music", "IndexName": "vec", "SearchVector": [{"N": "1"}], "TopK": 1}, "ValidationException"),
    ],
)
def test_what_one_region_refuses(music: Engine, operation: str, request_: dict[str, Any], code: str) -> None:
    assert refusal(music, operation, request_).code == code


def test_limits_are_those_of_a_new_account(engine: Engine) -> None:
    limits = engine.call("DescribeLimits", {})
    assert limits["TableMaxReadCapacityUnits"] <= limits["AccountMaxReadCapacityUnits"]


def test_there_is_one_endpoint(engine: Engine) -> None:
    (endpoint,) = engine.call("DescribeEndpoints", {})["Endpoints"]
    assert endpoint == {"Address": "dynamodb.us-east-1.amazonaws.com", "CachePeriodInMinutes": 1440}


def test_insights_are_switched_on_and_off(music: Engine) -> None:
    where = {"TableName": "Music", "IndexName": "gsi"}
    assert music.call("DescribeContributorInsights", where)["ContributorInsightsStatus"] == "DISABLED"
    music.call("UpdateContributorInsights", {**where, "ContributorInsightsAction": "ENABLE"})
    assert music.call("DescribeContributorInsights", where)["ContributorInsightsStatus"] == "ENABLED"
    assert [s["IndexName"] for s in music.call("ListContributorInsights", {})["ContributorInsightsSummaries"]] == ["gsi"]
    music.call("UpdateContributorInsights", {**where, "ContributorInsightsAction": "DISABLE"})
    assert music.call("DescribeContributorInsights", where)["ContributorInsightsStatus"] == "DISABLED"


def test_insights_into_an_index_that_is_not_there(music: Engine) -> None:
    assert refusal(music, "DescribeContributorInsights", {"TableName": "Music", "IndexName": "nothing"}).code == "ResourceNotFoundException"
