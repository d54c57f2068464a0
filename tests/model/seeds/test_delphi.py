from datetime import UTC, datetime
from uuid import UUID

import pytest

from gateleg.model import spec_of
from tests.model.seeds.delphi import RESULTS, CommentEmbedding, Embedding, JobResult

JOB = UUID("f84d63ed-3b42-448e-9a1d-3474137f4e80")
AT = datetime(2025, 7, 24, 8, 30, 37, 214000, tzinfo=UTC)


def test_the_example_item_of_the_document() -> None:
    embedding = CommentEmbedding(
        job_id=JOB,
        comment_id=123,
        conversation_id="36324",
        embedding=Embedding(vector=[0.5, -1.0], dimensions=2, model="all-MiniLM-L6-v2"),
        created_at=AT,
        job_stage="UMAP",
    )
    item = spec_of(CommentEmbedding).encode(embedding)
    assert item == {
        "job_id": {"S": str(JOB)},
        "comment_id": {"N": "123"},
        "conversation_id": {"S": "36324"},
        "embedding": {
            "M": {
                "vector": {"L": [{"N": "0.5"}, {"N": "-1.0"}]},
                "dimensions": {"N": "2"},
                "model": {"S": "all-MiniLM-L6-v2"},
            }
        },
        "created_at": {"S": "2025-07-24T08:30:37.214000Z"},
        "job_stage": {"S": "UMAP"},
    }
    assert spec_of(CommentEmbedding).decode(item) == embedding


@pytest.mark.parametrize(("entity", "sort", "value"), RESULTS)
def test_every_table_is_keyed_by_job_and_its_own_identifier(entity: type[JobResult], sort: str, value: int | str) -> None:
    definition = spec_of(entity).table.definition()
    types = {entry["AttributeName"]: entry["AttributeType"] for entry in definition["AttributeDefinitions"]}
    assert definition["KeySchema"] == [{"AttributeName": "job_id", "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]
    assert types[sort] == ("N" if isinstance(value, int) else "S")
    assert [index["IndexName"] for index in definition["GlobalSecondaryIndexes"]] == ["ConversationIndex"]


@pytest.mark.parametrize(("entity", "sort", "value"), RESULTS)
def test_get_one_result(entity: type[JobResult], sort: str, value: int | str) -> None:
    key = spec_of(entity).key.require({"job_id": JOB, sort: value}, entity.__name__)
    assert key == {"job_id": {"S": str(JOB)}, sort: {"N": "123"} if isinstance(value, int) else {"S": value}}


@pytest.mark.parametrize(("entity", "sort", "value"), RESULTS)
def test_query_all_results_of_a_job(entity: type[JobResult], sort: str, value: int | str) -> None:
    (request,) = entity.of_job(job_id=JOB).requests(consistent=True)
    assert request == {
        "TableName": spec_of(entity).table.name,
        "KeyConditionExpression": "#job_id = :0",
        "ExpressionAttributeNames": {"#job_id": "job_id"},
        "ExpressionAttributeValues": {":0": {"S": str(JOB)}},
        "ConsistentRead": True,
    }


def test_query_the_results_of_a_job_and_conversation() -> None:
    (request,) = CommentEmbedding.of_job(job_id=JOB).filter(CommentEmbedding.conversation_id == "36324").requests()
    assert request["KeyConditionExpression"] == "#job_id = :0"
    assert request["FilterExpression"] == "#conversation_id = :1"


def test_query_the_history_of_a_conversation() -> None:
    (request,) = CommentEmbedding.of_conversation(conversation_id="36324").requests(limit=10)
    assert request == {
        "TableName": "Delphi_CommentEmbeddings",
        "IndexName": "ConversationIndex",
        "KeyConditionExpression": "#conversation_id = :0",
        "ExpressionAttributeNames": {"#conversation_id": "conversation_id"},
        "ExpressionAttributeValues": {":0": {"S": "36324"}},
        "ScanIndexForward": False,
        "Limit": 10,
    }
