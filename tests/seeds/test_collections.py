"""Seed 004: collections, documents and vector stores, with boto3."""

import time
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}


def index(name: str, *keys: str) -> dict[str, Any]:
    schema = [{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)]
    return {"IndexName": name, "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": UNITS}


def create(dynamodb: Any, name: str, keys: list[str], attributes: dict[str, str], indexes: list[dict[str, Any]]) -> Any:
    table = dynamodb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": type_} for key, type_ in attributes.items()],
        ProvisionedThroughput=UNITS,
        **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
    )
    table.wait_until_exists()
    return table


@pytest.fixture(scope="module")
def collections(dynamodb: Any) -> Any:
    """The collections table, with recovery and expiry on, and three collections of a repository."""
    table = create(
        dynamodb,
        "LisaRagCollectionsTable",
        ["collectionId", "repositoryId"],
        dict.fromkeys(("collectionId", "repositoryId", "createdAt", "status", "createdBy"), "S"),
        [
            index("RepositoryIndex", "repositoryId", "createdAt"),
            index("StatusIndex", "repositoryId", "status"),
            index("CreatorIndex", "createdBy", "createdAt"),
        ],
    )
    client = table.meta.client
    client.update_time_to_live(TableName=table.name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "deletedAt"})
    client.update_continuous_backups(TableName=table.name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
    for day, (name, status) in enumerate([("coll-1", "ACTIVE"), ("coll-2", "ARCHIVED"), ("coll-456", "ACTIVE")], 13):
        table.put_item(Item=collection(name, status=status, createdAt=f"2025-10-{day}T10:30:00.000Z"))
    return table


def collection(collection_id: str, **more: Any) -> dict[str, Any]:
    """The seed's example."""
    return {
        "collectionId": collection_id,
        "repositoryId": "repo-123",
        "name": "Legal Documents",
        "description": "Collection for legal contracts and agreements",
        "chunkingStrategy": {"type": "RECURSIVE", "chunkSize": 1000, "chunkOverlap": 200, "separators": ["\n\n", "\n", ". ", " "]},
        "allowChunkingOverride": True,
        "metadata": {"tags": ["legal", "contracts"], "customFields": {"department": "legal", "classification": "internal"}},
        "allowedGroups": ["legal-team", "compliance"],
        "embeddingModel": "amazon.titan-embed-text-v1",
        "createdBy": "user-456",
        "createdAt": "2025-10-13T10:30:00.000Z",
        "updatedAt": "2025-10-13T10:30:00.000Z",
        "status": "ACTIVE",
        "private": False,
        "pipelines": [{"autoRemove": True, "chunkOverlap": 200, "chunkSize": 1000, "s3Bucket": "lisa-rag-documents", "trigger": "event"}],
        **more,
    }


@pytest.fixture
def documents(dynamodb: Any) -> Any:
    """The documents table with an old document, without a collection, and three of a collection."""
    table = create(
        dynamodb,
        "LisaRagDocumentTable",
        ["pk", "document_id"],
        {"pk": "S", "document_id": "S", "collectionId": "S", "upload_date": "N"},
        [index("CollectionIndex", "collectionId", "upload_date")],
    )
    table.put_item(Item={"pk": "repo-123", "document_id": "doc-789", "repository_id": "repo-123", "upload_date": 1})
    for number in (2, 10, 3):
        item = {"pk": "repo-123#coll-456", "document_id": f"doc-{number}", "collectionId": "coll-456", "upload_date": number}
        table.put_item(Item=item)
    yield table
    table.delete()
    table.wait_until_not_exists()


def test_collections_of_a_repository_newest_first(collections: Any) -> None:
    table = collections
    response = table.query(
        IndexName='RepositoryIndex',
        KeyConditionExpression='repositoryId = :repo_id',
        ExpressionAttributeValues={':repo_id': 'repo-123'},
        ScanIndexForward=False,  # Descending order (newest first)
        Limit=20
    )  # fmt: skip
    assert [item["collectionId"] for item in response["Items"]] == ["coll-456", "coll-2", "coll-1"]


def test_collections_by_status(collections: Any) -> None:
    table = collections
    response = table.query(
        IndexName='StatusIndex',
        KeyConditionExpression='repositoryId = :repo_id AND #status = :status',
        ExpressionAttributeNames={'#status': 'status'},
        ExpressionAttributeValues={
            ':repo_id': 'repo-123',
            ':status': 'ACTIVE'
        }
    )  # fmt: skip
    assert {item["collectionId"] for item in response["Items"]} == {"coll-1", "coll-456"}


def test_documents_of_a_collection_newest_first(documents: Any) -> None:
    table = documents
    response = table.query(
        IndexName='CollectionIndex',
        KeyConditionExpression='collectionId = :coll_id',
        ExpressionAttributeValues={':coll_id': 'coll-456'},
        ScanIndexForward=False  # Newest first
    )  # fmt: skip
    assert [item["document_id"] for item in response["Items"]] == ["doc-10", "doc-3", "doc-2"]


def test_a_collection_is_created_once(collections: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = collections
    new = uuid4()
    monkeypatch.setitem(globals(), "uuid4", lambda: new)

    def create_collection() -> None:
        table.put_item(
            Item={
                'collectionId': str(uuid4()),
                'repositoryId': 'repo-123-of-one',
                'name': 'Legal Documents',
                # ... other attributes
            },
            ConditionExpression='attribute_not_exists(collectionId)'
        )  # fmt: skip

    create_collection()
    with pytest.raises(ClientError, match="ConditionalCheckFailedException"):
        create_collection()


def test_a_collection_is_read(collections: Any) -> None:
    table = collections
    response = table.get_item(
        Key={
            'collectionId': 'coll-456',
            'repositoryId': 'repo-123'
        }
    )  # fmt: skip
    assert response["Item"]["chunkingStrategy"]["separators"] == ["\n\n", "\n", ". ", " "]


def test_collections_are_listed_page_by_page(collections: Any) -> None:
    table = collections
    first = table.query(
        IndexName="RepositoryIndex",
        KeyConditionExpression="repositoryId = :repo_id",
        ExpressionAttributeValues={":repo_id": "repo-123"},
        Limit=2,
    )
    last_evaluated_key = first["LastEvaluatedKey"]
    response = table.query(
        IndexName='RepositoryIndex',
        KeyConditionExpression='repositoryId = :repo_id',
        ExpressionAttributeValues={':repo_id': 'repo-123'},
        Limit=20,
        ExclusiveStartKey=last_evaluated_key  # For pagination
    )  # fmt: skip
    assert [item["collectionId"] for item in first["Items"] + response["Items"]] == ["coll-1", "coll-2", "coll-456"]
    assert "LastEvaluatedKey" not in response


def test_a_collection_is_updated(collections: Any) -> None:
    table = collections
    table.update_item(
        Key={
            'collectionId': 'coll-456',
            'repositoryId': 'repo-123'
        },
        UpdateExpression='SET #desc = :desc, updatedAt = :now',
        ExpressionAttributeNames={'#desc': 'description'},
        ExpressionAttributeValues={
            ':desc': 'Updated description',
            ':now': datetime.now(timezone.utc).isoformat()  # noqa: UP017
        }
    )  # fmt: skip
    item = table.get_item(Key={"collectionId": "coll-456", "repositoryId": "repo-123"})["Item"]
    assert item["description"] == "Updated description"
    assert item["updatedAt"] > "2025-10-13T10:30:00.000Z"


@pytest.fixture
def doomed(dynamodb: Any) -> Any:
    """The table, with only the collection that the seed deletes."""
    table = create(
        dynamodb,
        "LisaRagCollectionsTable-doomed",
        ["collectionId", "repositoryId"],
        dict.fromkeys(("collectionId", "repositoryId", "status"), "S"),
        [index("StatusIndex", "repositoryId", "status")],
    )
    table.put_item(Item=collection("coll-456"))
    yield table
    table.delete()
    table.wait_until_not_exists()


def test_a_collection_is_deleted_softly_and_hard(doomed: Any) -> None:
    table = doomed
    # Soft delete (update status)
    table.update_item(
        Key={
            'collectionId': 'coll-456',
            'repositoryId': 'repo-123'
        },
        UpdateExpression='SET #status = :deleted, updatedAt = :now',
        ExpressionAttributeNames={'#status': 'status'},
        ExpressionAttributeValues={
            ':deleted': 'DELETED',
            ':now': datetime.now(timezone.utc).isoformat()  # noqa: UP017
        }
    )  # fmt: skip
    assert table.scan(IndexName="StatusIndex")["Items"][0]["status"] == "DELETED"

    # Hard delete
    table.delete_item(
        Key={
            'collectionId': 'coll-456',
            'repositoryId': 'repo-123'
        }
    )  # fmt: skip
    assert table.scan()["Items"] == table.scan(IndexName="StatusIndex")["Items"] == []


def test_a_soft_deletion_says_when_it_expires(doomed: Any) -> None:
    table = doomed
    # Set TTL when soft-deleting
    table.update_item(
        Key={'collectionId': 'coll-456', 'repositoryId': 'repo-123'},
        UpdateExpression='SET #status = :deleted, deletedAt = :ttl',
        ExpressionAttributeNames={'#status': 'status'},
        ExpressionAttributeValues={
            ':deleted': 'DELETED',
            ':ttl': int(time.time()) + (90 * 24 * 60 * 60)  # 90 days
        }
    )  # fmt: skip
    item = table.get_item(Key={"collectionId": "coll-456", "repositoryId": "repo-123"})["Item"]
    assert item["deletedAt"] > time.time()


def test_expiry_and_recovery_are_on(collections: Any) -> None:
    client = collections.meta.client
    expiry = client.describe_time_to_live(TableName=collections.name)["TimeToLiveDescription"]
    assert expiry == {"TimeToLiveStatus": "ENABLED", "AttributeName": "deletedAt"}
    recovery = client.describe_continuous_backups(TableName=collections.name)["ContinuousBackupsDescription"][
        "PointInTimeRecoveryDescription"
    ]
    assert (recovery["PointInTimeRecoveryStatus"], recovery["RecoveryPeriodInDays"]) == ("ENABLED", 35)


def test_documents_of_a_collection_are_counted(documents: Any) -> None:
    table = documents
    response = table.query(
        IndexName='CollectionIndex',
        KeyConditionExpression='collectionId = :coll_id',
        ExpressionAttributeValues={':coll_id': 'coll-456'},
        Select='COUNT'
    )  # fmt: skip
    document_count = response['Count']  # fmt: skip
    assert document_count == 3
    assert "Items" not in response


def test_all_documents_of_a_collection_are_deleted(documents: Any) -> None:
    table = documents
    # Query all documents
    response = table.query(
        IndexName='CollectionIndex',
        KeyConditionExpression='collectionId = :coll_id',
        ExpressionAttributeValues={':coll_id': 'coll-456'},
        ProjectionExpression='pk, document_id'
    )  # fmt: skip

    # Batch delete
    with table.batch_writer() as batch:
        for item in response['Items']:  # fmt: skip
            batch.delete_item(
                Key={
                    'pk': item['pk'],
                    'document_id': item['document_id']
                }
            )  # fmt: skip
    assert [item["document_id"] for item in table.scan()["Items"]] == ["doc-789"]


def test_an_old_document_is_found_under_its_old_key(documents: Any) -> None:
    item = documents.get_item(Key={"pk": "repo-123", "document_id": "doc-789"})["Item"]
    assert "collectionId" not in item


def test_a_vector_store_holds_its_settings(dynamodb: Any) -> None:
    table = create(dynamodb, "LisaRagVectorStoreTable", ["repositoryId"], {"repositoryId": "S"}, [])
    item = {
        "repositoryId": "repo-123",
        "config": {
            "repositoryId": "repo-123",
            "embeddingModelId": "amazon.titan-embed-text-v1",
            "allowedGroups": ["engineering", "data-science"],
            "type": "opensearch",
            "allowUserCollections": True,
            "metadata": {"tags": ["production"], "customFields": {"owner": "ml-team"}},
        },
        "status": "CREATE_COMPLETE",
        "stackName": "lisa-rag-repo-123",
    }
    table.put_item(Item=item)
    assert table.get_item(Key={"repositoryId": "repo-123"})["Item"] == item
