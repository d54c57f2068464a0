"""Seed 000: tables keyed by `job_id`, with boto3."""

from decimal import Decimal
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr, Key

TABLES = {
    "Delphi_CommentEmbeddings": ("comment_id", "N"),
    "Delphi_CommentHierarchicalClusterAssignments": ("comment_id", "N"),
    "Delphi_CommentClustersStructureKeywords": ("cluster_key", "S"),
    "Delphi_UMAPGraph": ("edge_id", "S"),
    "Delphi_CommentClustersLLMTopicNames": ("topic_key", "S"),
    "Delphi_CommentExtremity": ("comment_id", "N"),
}

JOB = "f84d63ed-3b42-448e-9a1d-3474137f4e80"
OTHER_JOB = "0a9de6cd-95a3-4a44-9d0b-5a5a8d1a3d60"


@pytest.fixture(scope="module", autouse=True)
def tables(dynamodb: Any) -> None:
    """The six tables, each with the optional index, and a few items of two jobs and two conversations."""
    for name, (range_key, kind) in TABLES.items():
        table = dynamodb.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "job_id", "KeyType": "HASH"}, {"AttributeName": range_key, "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "job_id", "AttributeType": "S"},
                {"AttributeName": range_key, "AttributeType": kind},
                {"AttributeName": "conversation_id", "AttributeType": "S"},
                {"AttributeName": "created_at", "AttributeType": "S"},
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "ConversationIndex",
                    "KeySchema": [
                        {"AttributeName": "conversation_id", "KeyType": "HASH"},
                        {"AttributeName": "created_at", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        table.wait_until_exists()
        with table.batch_writer() as batch:
            for number in (100, 9, 23):
                batch.put_item(Item=_item(range_key, kind, JOB, "36324" if number != 9 else "36325", number))
            batch.put_item(Item=_item(range_key, kind, OTHER_JOB, "36324", 5))


def _item(range_key: str, kind: str, job_id: str, conversation_id: str, number: int) -> dict[str, Any]:
    return {
        "job_id": job_id,
        range_key: number if kind == "N" else f"key_{number}",
        "conversation_id": conversation_id,
        "embedding": {"vector": [Decimal("0.25"), Decimal("-1.5")], "dimensions": 2, "model": "all-MiniLM-L6-v2"},
        "created_at": f"2025-07-24T08:30:{number % 60:02}.214Z",
        "parent_job_id": "parent-uuid-here",
        "root_job_id": "root-uuid-here",
        "job_stage": "UMAP",
    }


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest, dynamodb: Any) -> Any:
    return dynamodb.Table(request.param)


def range_of(table: Any, number: int) -> Any:
    return number if TABLES[table.name][1] == "N" else f"key_{number}"


def test_all_data_of_a_job(table: Any) -> None:
    job_id = JOB
    response = table.query(
        KeyConditionExpression=Key('job_id').eq(job_id)
    )  # fmt: skip
    order = (9, 23, 100) if TABLES[table.name][1] == "N" else (100, 23, 9)
    assert [item[TABLES[table.name][0]] for item in response.get("Items", [])] == [range_of(table, number) for number in order]


def test_a_specific_item(dynamodb: Any) -> None:
    job_id, comment_id = JOB, 23
    table = dynamodb.Table("Delphi_CommentEmbeddings")
    response = table.get_item(
        Key={
            'job_id': job_id,
            'comment_id': comment_id  # Or cluster_key, edge_id, etc. depending on the table
        }
    )  # fmt: skip
    item = response.get("Item")
    assert (item["comment_id"], item["embedding"]["vector"]) == (23, [Decimal("0.25"), Decimal("-1.5")])


def test_a_specific_item_of_every_table(table: Any) -> None:
    name = TABLES[table.name][0]
    assert table.get_item(Key={"job_id": JOB, name: range_of(table, 9)})["Item"]["conversation_id"] == "36325"
    assert table.get_item(Key={"job_id": OTHER_JOB, name: range_of(table, 9)}).get("Item") is None


def test_all_data_of_a_job_and_a_conversation(table: Any) -> None:
    job_id, conversation_id = JOB, "36324"
    response = table.query(
        KeyConditionExpression=Key('job_id').eq(job_id),
        FilterExpression=Attr('conversation_id').eq(conversation_id)
    )  # fmt: skip
    assert {item[TABLES[table.name][0]] for item in response.get("Items", [])} == {range_of(table, 23), range_of(table, 100)}
    assert (response["Count"], response["ScannedCount"]) == (2, 3)


def test_all_data_of_a_conversation(table: Any) -> None:
    conversation_id = "36324"
    response = table.query(
        IndexName='ConversationIndex',
        KeyConditionExpression=Key('conversation_id').eq(conversation_id)
    )  # fmt: skip
    assert [item["created_at"][17:19] for item in response["Items"]] == ["05", "23", "40"]
