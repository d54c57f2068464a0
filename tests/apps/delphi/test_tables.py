"""The document's tables, and the questions that it asks of them."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from gateleg.apps.delphi import service
from gateleg.apps.delphi.service import RESULTS, TABLES, results, results_of_conversation
from gateleg.apps.delphi.tables import (
    ClusterAssignment,
    ClusterKeywords,
    CommentEmbedding,
    CommentExtremity,
    Embedding,
    GraphEdge,
    JobResult,
    TopicName,
    VoteDifferences,
)
from gateleg.model import spec_of
from gateleg.model.inspection import lint
from gateleg.store import AsyncStore

JOB = UUID("f84d63ed-3b42-448e-9a1d-3474137f4e80")
AT = datetime(2025, 7, 24, 8, 30, 37, 214000, tzinfo=UTC)
SIX: list[tuple[type[JobResult], str, str, int | str, dict[str, Any]]] = [
    (
        CommentEmbedding,
        "Delphi_CommentEmbeddings",
        "comment_id",
        123,
        {"embedding": Embedding(vector=[0.5, -1.0], dimensions=2, model="all-MiniLM-L6-v2")},
    ),
    (ClusterAssignment, "Delphi_CommentHierarchicalClusterAssignments", "comment_id", 123, {"clusters": {"layer0": 3}}),
    (ClusterKeywords, "Delphi_CommentClustersStructureKeywords", "cluster_key", "layer0_3", {"layer_id": 0, "cluster_id": 3}),
    (GraphEdge, "Delphi_UMAPGraph", "edge_id", "7_9", {"source_id": 7, "target_id": 9}),
    (
        TopicName,
        "Delphi_CommentClustersLLMTopicNames",
        "topic_key",
        "layer0_3",
        {"layer_id": 0, "cluster_id": 3, "topic_name": "Bicycles"},
    ),
    (
        CommentExtremity,
        "Delphi_CommentExtremity",
        "comment_id",
        123,
        {
            "extremity_value": 0.5,
            "calculation_method": "max_vote_diff",
            "component_values": VoteDifferences(agree_diff=0.5, disagree_diff=0.25, pass_diff=0.0),
        },
    ),
]
every_table = pytest.mark.parametrize(("entity", "name", "sort", "value", "fields"), SIX, ids=[name for _, name, _, _, _ in SIX])


def test_the_example_item_of_the_document() -> None:
    item = spec_of(CommentEmbedding).encode(
        CommentEmbedding(
            job_id=JOB,
            comment_id=123,
            conversation_id="36324",
            embedding=Embedding(vector=[0.5], dimensions=1, model="all-MiniLM-L6-v2"),
            created_at=AT,
            job_stage="UMAP",
        )
    )
    assert item == {
        "job_id": {"S": str(JOB)},
        "comment_id": {"N": "123"},
        "conversation_id": {"S": "36324"},
        "embedding": {"M": {"vector": {"L": [{"N": "0.5"}]}, "dimensions": {"N": "1"}, "model": {"S": "all-MiniLM-L6-v2"}}},
        "created_at": {"S": "2025-07-24T08:30:37.214000Z"},
        "job_stage": {"S": "UMAP"},
    }


@every_table
def test_keys_are_those_of_the_document(entity: type[JobResult], name: str, sort: str, value: Any, fields: dict[str, Any]) -> None:
    definition = spec_of(entity).table.definition()
    types = {entry["AttributeName"]: entry["AttributeType"] for entry in definition["AttributeDefinitions"]}
    assert definition["TableName"] == name
    assert definition["KeySchema"] == [{"AttributeName": "job_id", "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]
    assert types[sort] == ("N" if isinstance(value, int) else "S")
    (index,) = definition["GlobalSecondaryIndexes"]
    assert index["IndexName"] == "ConversationIndex"
    assert [part["AttributeName"] for part in index["KeySchema"]] == ["conversation_id", "created_at"]


@every_table
def test_no_result_without_a_job(entity: type[JobResult], name: str, sort: str, value: Any, fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="job_id"):
        entity(**{"conversation_id": "c", sort: value, **fields})


@every_table
async def test_every_question_of_the_document(
    store: AsyncStore, entity: type[JobResult], name: str, sort: str, value: Any, fields: dict[str, Any]
) -> None:
    mine, other = uuid4(), uuid4()

    def made(job: UUID, conversation: str, hours: int) -> JobResult:
        return entity(**{"job_id": job, "conversation_id": conversation, "created_at": AT + timedelta(hours=hours), sort: value, **fields})

    stored = made(mine, "a", 1)
    await store.batch_write([stored, made(other, "a", 2), made(uuid4(), "b", 3)])
    key: dict[str, Any] = {"job_id": mine, sort: value}
    assert await store.get(entity, **key) == stored
    assert [found async for found in results(store, entity, mine)] == [stored]
    assert [found async for found in results(store, entity, mine, "a")] == [stored]
    assert [found async for found in results(store, entity, mine, "b")] == []
    assert [found.job_id async for found in results_of_conversation(store, entity, "a")] == [other, mine]
    recent = results_of_conversation(store, entity, "a", since=AT + timedelta(hours=2))
    assert [found.job_id async for found in recent] == [other]


def test_every_result_is_keyed_by_its_job_and_found_by_its_conversation() -> None:
    for kind in RESULTS:
        table = spec_of(kind).table
        assert table.hash == "job_id"
        assert [index.name for index in table.indexes] == ["ConversationIndex"]
        assert {"of_job", "of_conversation"} <= set(spec_of(kind).patterns)


def test_nothing_in_the_tables_is_probably_not_meant() -> None:
    assert [finding for table in TABLES for finding in lint(table)] == []


def test_every_table_has_a_name_of_its_own() -> None:
    assert len({table.name for table in service.TABLES}) == len(service.TABLES)
