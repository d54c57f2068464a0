from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from gateleg.model import spec_of
from gateleg.model.planning import plan_delete, plan_put, plan_update
from gateleg.model.stored_forms import upcast_steps
from tests.model.seeds.rag import (
    Collection,
    CollectionStatus,
    Document,
    Metadata,
    Pipeline,
    RecursiveChunking,
    VectorStore,
    VectorStoreConfig,
    collections,
    documents,
)

ID = UUID("550e8400-e29b-41d4-a716-446655440000")
AT = datetime(2025, 10, 13, 10, 30, tzinfo=UTC)
AT_TEXT = {"S": "2025-10-13T10:30:00.000000Z"}
KEY = {"collectionId": {"S": str(ID)}, "repositoryId": {"S": "repo-123"}}


def collection(**values: Any) -> Collection:
    defaults: dict[str, Any] = {
        "collection_id": ID,
        "repository_id": "repo-123",
        "name": "Legal Documents",
        "embedding_model": "amazon.titan-embed-text-v1",
        "created_by": "user-456",
        "created_at": AT,
        "updated_at": AT,
    }
    return Collection(**(defaults | values))


def test_the_collection_of_the_document() -> None:
    whole = collection(
        chunking_strategy=RecursiveChunking(chunk_size=1000, chunk_overlap=200, separators=["\n\n", " "]),
        metadata=Metadata(tags=["legal"], custom_fields={"department": "legal"}),
        allowed_groups=["legal-team"],
        pipelines=[
            Pipeline(auto_remove=True, chunk_overlap=200, chunk_size=1000, s3_bucket="docs", s3_prefix="legal/", trigger="event"),
        ],
    )
    item = spec_of(Collection).encode(whole)
    assert item == {
        **KEY,
        "name": {"S": "Legal Documents"},
        "chunkingStrategy": {
            "M": {
                "type": {"S": "RECURSIVE"},
                "chunkSize": {"N": "1000"},
                "chunkOverlap": {"N": "200"},
                "separators": {"L": [{"S": "\n\n"}, {"S": " "}]},
            }
        },
        "allowChunkingOverride": {"BOOL": True},
        "metadata": {"M": {"tags": {"L": [{"S": "legal"}]}, "customFields": {"M": {"department": {"S": "legal"}}}}},
        "allowedGroups": {"L": [{"S": "legal-team"}]},
        "embeddingModel": {"S": "amazon.titan-embed-text-v1"},
        "createdBy": {"S": "user-456"},
        "createdAt": AT_TEXT,
        "updatedAt": AT_TEXT,
        "status": {"S": "ACTIVE"},
        "private": {"BOOL": False},
        "pipelines": {
            "L": [
                {
                    "M": {
                        "autoRemove": {"BOOL": True},
                        "chunkOverlap": {"N": "200"},
                        "chunkSize": {"N": "1000"},
                        "s3Bucket": {"S": "docs"},
                        "s3Prefix": {"S": "legal/"},
                        "trigger": {"S": "event"},
                    }
                }
            ]
        },
    }
    assert spec_of(Collection).decode(item) == whole


def test_pattern_1_create() -> None:
    write = plan_put(collection(), now=AT, create=True)
    assert write.parameters["ConditionExpression"] == "attribute_not_exists(#collectionId) OR #deletedAt <= :0"
    (marker,) = write.markers
    assert marker.parameters["Item"]["collectionId"] == {"S": "~unique#Collection#one_name#repo-123#legal%20documents"}


def test_pattern_2_get() -> None:
    assert Collection.key(collection_id=ID, repository_id="repo-123").key == KEY


def test_pattern_3_list_in_a_repository() -> None:
    (request,) = Collection.in_repository(repository_id="repo-123").requests(limit=20)
    assert request == {
        "TableName": "LisaRagCollectionsTable",
        "IndexName": "RepositoryIndex",
        "KeyConditionExpression": "#repositoryId = :0",
        "ExpressionAttributeNames": {"#repositoryId": "repositoryId"},
        "ExpressionAttributeValues": {":0": {"S": "repo-123"}},
        "ScanIndexForward": False,
        "Limit": 20,
    }


def test_collections_in_a_status_and_of_a_creator() -> None:
    (request,) = Collection.with_status(repository_id="repo-123", status="ACTIVE").requests()
    assert request["IndexName"] == "StatusIndex"
    assert request["KeyConditionExpression"] == "#repositoryId = :0 AND #status = :1"
    assert Collection.by_creator(created_by="user-456").requests()[0]["IndexName"] == "CreatorIndex"


def test_pattern_4_update() -> None:
    write = plan_update(Collection.key(collection_id=ID, repository_id="repo-123"), [Collection.description.set("New")], now=AT)
    assert write.parameters["UpdateExpression"] == "SET #description = :0, #updatedAt = :1"
    assert write.parameters["Key"] == KEY


def test_pattern_5_soft_delete_and_restore() -> None:
    gone = AT + timedelta(days=90)
    write = plan_update(collection(), [Collection.status.to(CollectionStatus.DELETED), Collection.deleted_at.set(gone)], now=AT)
    values = write.parameters["ExpressionAttributeValues"]
    assert write.parameters["UpdateExpression"] == "SET #status = :0, #deletedAt = :1, #updatedAt = :2"
    assert values[":1"] == {"N": str(int(gone.timestamp()))}
    back = plan_update(
        collection(status=CollectionStatus.DELETED), [Collection.status.to(CollectionStatus.ACTIVE), Collection.deleted_at.remove()], now=AT
    )
    assert "REMOVE #deletedAt" in back.parameters["UpdateExpression"]


def test_pattern_5_hard_delete_frees_the_name() -> None:
    write = plan_delete(collection())
    assert write.parameters["Key"] == KEY
    assert [marker.purpose for marker in write.markers] == ["release Collection.one_name"]


def test_pattern_6_count_documents() -> None:
    (request,) = Document.in_collection(collection_id="coll-456").requests(select="COUNT")
    assert request["Select"] == "COUNT"
    assert request["IndexName"] == "CollectionIndex"


def test_pattern_7_the_keys_of_all_documents() -> None:
    (request,) = Document.in_collection(collection_id="coll-456").requests(project=[Document.document_id])
    assert request["ProjectionExpression"] == "#document_id"
    document = Document(document_id="d", repository_id="repo-123", collection_id="coll-456", upload_date=5)
    item = spec_of(Document).encode(document)
    assert {name: item[name] for name in documents.attributes} == {"pk": {"S": "repo-123#coll-456"}, "document_id": {"S": "d"}}


def test_the_ttl_attribute_and_number_key() -> None:
    assert collections.ttl() == "deletedAt"
    assert {"AttributeName": "upload_date", "AttributeType": "N"} in documents.definition()["AttributeDefinitions"]


def test_a_document_that_is_older_than_collections_is_read() -> None:
    old = {"pk": {"S": "repo-123"}, "document_id": {"S": "doc-789"}, "repository_id": {"S": "repo-123"}, "upload_date": {"N": "7"}}
    asked = upcast_steps(old, spec_of(Document))
    assert next(asked).key == {"repositoryId": {"S": "repo-123"}}
    config = VectorStoreConfig(repository_id="repo-123", embedding_model_id="titan", type="opensearch")
    with pytest.raises(StopIteration) as end:
        asked.send(VectorStore(repository_id="repo-123", config=config, status="CREATE_COMPLETE"))
    document = spec_of(Document).decode(end.value.value)
    assert document.collection_id == "titan"
    assert document.key.legacy() == [{"pk": {"S": "repo-123"}, "document_id": {"S": "doc-789"}}]


def test_a_vector_store_of_the_document() -> None:
    store = VectorStore(
        repository_id="repo-123",
        config=VectorStoreConfig(
            repository_id="repo-123", embedding_model_id="titan", type="opensearch", metadata=Metadata(tags=["production"])
        ),
        status="CREATE_COMPLETE",
        stack_name="lisa-rag-repo-123",
    )
    item = spec_of(VectorStore).encode(store)
    assert item["config"]["M"]["allowUserCollections"] == {"BOOL": True}
    assert item["stackName"] == {"S": "lisa-rag-repo-123"}
    assert spec_of(VectorStore).decode(item) == store


def test_limits_of_the_document() -> None:
    with pytest.raises(ValidationError):
        collection(name="x" * 101)
    with pytest.raises(ValidationError):
        Metadata(tags=["x"] * 51)
