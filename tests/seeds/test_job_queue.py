"""Seed 002: the job queue and its optimistic locking, with boto3.

The seed's text and its sample code disagree about the table's key; the text is right (a status in a primary key cannot change), and the
sample code must still make the table that it describes.
"""

from datetime import datetime
from typing import Any

import boto3
import pytest
from boto3.dynamodb.conditions import Key
from botocore.exceptions import ClientError

from tests.seeds.conftest import KEY, REGION, SECRET

INDEXES = {
    "StatusCreatedIndex": ("status", "created_at"),
    "ConversationIndex": ("conversation_id", "created_at"),
    "JobTypeIndex": ("job_type", "priority"),
    "WorkerStatusIndex": ("worker_id", "status"),
}


@pytest.fixture(scope="module")
def table(dynamodb: Any) -> Any:
    """The table as the seed's text has it."""
    names = {name for keys in INDEXES.values() for name in keys} | {"job_id"}
    table = dynamodb.create_table(
        TableName="DelphiJobQueue",
        KeySchema=[{"AttributeName": "job_id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "N" if name == "priority" else "S"} for name in sorted(names)],
        GlobalSecondaryIndexes=[
            {
                "IndexName": name,
                "KeySchema": [{"AttributeName": hash_, "KeyType": "HASH"}, {"AttributeName": range_, "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "ALL"},
            }
            for name, (hash_, range_) in INDEXES.items()
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    table.wait_until_exists()
    return table


def pca_job(job_id: str, **more: Any) -> dict[str, Any]:
    """The seed's example, with absent attributes where it has null."""
    return {
        "job_id": job_id,
        "status": "PENDING",
        "created_at": "2025-04-23T19:15:00Z",
        "updated_at": "2025-04-23T19:15:00Z",
        "job_type": "PCA",
        "priority": 50,
        "conversation_id": "19305",
        "retry_count": 0,
        "max_retries": 3,
        "timeout_seconds": 3600,
        "version": 1,
        "job_config": {"max_votes": 500000, "batch_size": 50000, "n_components": 2},
        "logs": {"entries": []},
        "created_by": "server-api",
        "dependencies": [],
        "dependent_jobs": [],
        **more,
    }


def claim(table: Any, job_id: str, worker_id: str, current_version: int) -> dict[str, Any] | None:
    """Claim a job, as the seed does it."""
    # Claim a job with optimistic locking
    try:
        response = table.update_item(
            Key={
                'job_id': job_id
            },
            UpdateExpression='''
                SET #status = :new_status,
                    updated_at = :now,
                    started_at = :now,
                    worker_id = :worker_id,
                    version = :new_version
            ''',
            ConditionExpression='#status = :old_status AND version = :current_version',
            ExpressionAttributeNames={
                '#status': 'status'
            },
            ExpressionAttributeValues={
                ':old_status': 'PENDING',
                ':new_status': 'PROCESSING',
                ':now': datetime.now().isoformat(),
                ':worker_id': worker_id,
                ':current_version': current_version,
                ':new_version': current_version + 1
            },
            ReturnValues='ALL_NEW'
        )  # fmt: skip
        # Job successfully claimed
    except ClientError as e:
        if e.response['Error']['Code'] == 'ConditionalCheckFailedException':  # fmt: skip
            # Job was already claimed or modified
            return None
        # Other error
        raise
    claimed: dict[str, Any] = response["Attributes"]
    return claimed


def test_a_job_is_claimed_once(table: Any) -> None:
    table.put_item(Item=pca_job("claimed"))
    first = claim(table, "claimed", "worker-1", 1)
    assert first is not None
    assert (first["status"], first["worker_id"], first["version"], first["started_at"]) == (
        "PROCESSING",
        "worker-1",
        2,
        first["updated_at"],
    )
    assert claim(table, "claimed", "worker-2", 1) is None
    assert claim(table, "claimed", "worker-2", 2) is None


def test_waiting_jobs_come_in_the_order_of_their_creation(table: Any) -> None:
    for minute in (7, 3, 5):
        table.put_item(Item=pca_job(f"waiting-{minute}", status="WAITING", created_at=f"2025-04-23T19:{minute:02}:00Z"))
    response = table.query(IndexName="StatusCreatedIndex", KeyConditionExpression=Key("status").eq("WAITING"))
    assert [item["job_id"] for item in response["Items"]] == ["waiting-3", "waiting-5", "waiting-7"]


def test_jobs_of_a_type_come_in_the_order_of_their_priority(table: Any) -> None:
    for priority in (9, 100, 50):
        table.put_item(Item=pca_job(f"umap-{priority}", job_type="UMAP", priority=priority))
    response = table.query(IndexName="JobTypeIndex", KeyConditionExpression=Key("job_type").eq("UMAP"), ScanIndexForward=False)
    assert [item["priority"] for item in response["Items"]] == [100, 50, 9]


def test_jobs_of_a_conversation(table: Any) -> None:
    table.put_item(Item=pca_job("talk", conversation_id="777"))
    response = table.query(IndexName="ConversationIndex", KeyConditionExpression=Key("conversation_id").eq("777"))
    assert response["Items"] == [pca_job("talk", conversation_id="777")]


def test_a_job_without_a_worker_is_in_no_workers_list(table: Any) -> None:
    table.put_item(Item=pca_job("free"))
    table.put_item(Item=pca_job("taken"))
    claim(table, "taken", "worker-9", 1)
    response = table.query(
        IndexName="WorkerStatusIndex", KeyConditionExpression=Key("worker_id").eq("worker-9") & Key("status").eq("PROCESSING")
    )
    assert [item["job_id"] for item in response["Items"]] == ["taken"]


def test_an_empty_text_cannot_be_an_index_key(table: Any) -> None:
    with pytest.raises(ClientError, match="IndexKey: worker_id"):
        table.put_item(Item=pca_job("empty", worker_id=""))


def create_job_queue_table(dynamodb: Any = None, table_name: str = "DelphiJobQueue") -> Any:
    """The seed's sample code."""
    if not dynamodb:
        dynamodb = boto3.resource('dynamodb')  # fmt: skip

    table = dynamodb.create_table(
        TableName=table_name,
        KeySchema=[
            {'AttributeName': 'status', 'KeyType': 'HASH'},   # Partition key
            {'AttributeName': 'created_at', 'KeyType': 'RANGE'}  # Sort key
        ],
        AttributeDefinitions=[
            {'AttributeName': 'status', 'AttributeType': 'S'},
            {'AttributeName': 'created_at', 'AttributeType': 'S'},
            {'AttributeName': 'job_id', 'AttributeType': 'S'},
            {'AttributeName': 'conversation_id', 'AttributeType': 'S'},
            {'AttributeName': 'job_type', 'AttributeType': 'S'},
            {'AttributeName': 'priority', 'AttributeType': 'N'},
            {'AttributeName': 'worker_id', 'AttributeType': 'S'},
            {'AttributeName': 'started_at', 'AttributeType': 'S'}
        ],
        GlobalSecondaryIndexes=[
            {
                'IndexName': 'JobIdIndex',
                'KeySchema': [
                    {'AttributeName': 'job_id', 'KeyType': 'HASH'}
                ],
                'Projection': {'ProjectionType': 'ALL'},
                'ProvisionedThroughput': {'ReadCapacityUnits': 5, 'WriteCapacityUnits': 5}
            },
            {
                'IndexName': 'ConversationIndex',
                'KeySchema': [
                    {'AttributeName': 'conversation_id', 'KeyType': 'HASH'},
                    {'AttributeName': 'created_at', 'KeyType': 'RANGE'}
                ],
                'Projection': {'ProjectionType': 'ALL'},
                'ProvisionedThroughput': {'ReadCapacityUnits': 5, 'WriteCapacityUnits': 5}
            },
            {
                'IndexName': 'JobTypeIndex',
                'KeySchema': [
                    {'AttributeName': 'job_type', 'KeyType': 'HASH'},
                    {'AttributeName': 'priority', 'KeyType': 'RANGE'}
                ],
                'Projection': {'ProjectionType': 'ALL'},
                'ProvisionedThroughput': {'ReadCapacityUnits': 5, 'WriteCapacityUnits': 5}
            },
            {
                'IndexName': 'WorkerIndex',
                'KeySchema': [
                    {'AttributeName': 'worker_id', 'KeyType': 'HASH'},
                    {'AttributeName': 'started_at', 'KeyType': 'RANGE'}
                ],
                'Projection': {'ProjectionType': 'ALL'},
                'ProvisionedThroughput': {'ReadCapacityUnits': 5, 'WriteCapacityUnits': 5}
            }
        ],
        ProvisionedThroughput={'ReadCapacityUnits': 10, 'WriteCapacityUnits': 10}
    )  # fmt: skip

    return table  # noqa: RET504


def test_the_sample_code_makes_its_table(dynamodb: Any) -> None:
    table = create_job_queue_table(dynamodb, "DelphiJobQueueOfTheSample")
    table.wait_until_exists()
    table.put_item(Item=pca_job("sampled", worker_id="worker-1", started_at="2025-04-23T19:16:00Z"))
    assert {index["IndexName"] for index in table.global_secondary_indexes} == {
        "JobIdIndex",
        "ConversationIndex",
        "JobTypeIndex",
        "WorkerIndex",
    }
    for name, key, value in (("JobIdIndex", "job_id", "sampled"), ("WorkerIndex", "worker_id", "worker-1")):
        assert table.query(IndexName=name, KeyConditionExpression=Key(key).eq(value))["Count"] == 1


def test_the_sample_code_finds_its_endpoint_in_the_environment(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"ENDPOINT_URL_DYNAMODB": url, "ACCESS_KEY_ID": KEY, "SECRET_ACCESS_KEY": SECRET, "DEFAULT_REGION": REGION}
    for name, value in settings.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    assert create_job_queue_table(table_name="DelphiJobQueueByItself").table_name == "DelphiJobQueueByItself"
