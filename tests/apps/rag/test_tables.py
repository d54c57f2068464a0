"""The tables of document collections, attribute by attribute as the design document has them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from gateleg.apps.rag.tables import (
    TABLES,
    Chunk,
    Collection,
    CollectionStatus,
    Document,
    DocumentStatus,
    Metadata,
    Pipeline,
    Repository,
    RepositoryConfig,
    chunks_table,
    collections_table,
    documents_table,
    repositories_table,
)
from gateleg.model import Table, spec_of
from gateleg.store import AlreadyExists, IllegalTransition, Store, UniqueTaken

#: The collection of the design's example.
EXAMPLE: dict[str, Any] = {
    "collectionId": {"S": "550e8400-e29b-41d4-a716-446655440000"},
    "repositoryId": {"S": "repo-123"},
    "name": {"S": "Legal Documents"},
    "description": {"S": "Collection for legal contracts and agreements"},
    "chunkingStrategy": {
        "M": {
            "type": {"S": "RECURSIVE"},
            "chunkSize": {"N": "1000"},
            "chunkOverlap": {"N": "200"},
            "separators": {"L": [{"S": "\n\n"}, {"S": "\n"}, {"S": ". "}, {"S": " "}]},
        }
    },
    "allowChunkingOverride": {"BOOL": True},
    "metadata": {
        "M": {
            "tags": {"L": [{"S": "legal"}, {"S": "contracts"}, {"S": "confidential"}]},
            "customFields": {"M": {"department": {"S": "legal"}, "classification": {"S": "internal"}}},
        }
    },
    "allowedGroups": {"L": [{"S": "legal-team"}, {"S": "compliance"}]},
    "embeddingModel": {"S": "amazon.titan-embed-text-v1"},
    "createdBy": {"S": "user-456"},
    "createdAt": {"S": "2025-10-13T10:30:00.000Z"},
    "updatedAt": {"S": "2025-10-13T10:30:00.000Z"},
    "status": {"S": "ACTIVE"},
    "private": {"BOOL": False},
    "pipelines": {
        "L": [
            {
                "M": {
                    "autoRemove": {"BOOL": True},
                    "chunkOverlap": {"N": "200"},
                    "chunkSize": {"N": "1000"},
                    "s3Bucket": {"S": "lisa-rag-documents"},
                    "s3Prefix": {"S": "legal/contracts/"},
                    "trigger": {"S": "event"},
                }
            }
        ]
    },
}


def collection(name: str = "Legal", repository: str = "repo-123", **others: Any) -> Collection:
    return Collection(repository_id=repository, name=name, embedding_model="local:minilm", created_by="ann", **others)


def indexes_of(table: Table) -> dict[str, list[str]]:
    definition = table.definition()
    found = definition.get("GlobalSecondaryIndexes", [])
    return {index["IndexName"]: [key["AttributeName"] for key in index["KeySchema"]] for index in found}


def keys_of(table: Table) -> list[str]:
    return [key["AttributeName"] for key in table.definition()["KeySchema"]]


@pytest.fixture
def tables() -> Any:
    with Store.embedded() as store:
        store.create_tables(*TABLES)
        yield store


def test_collections_table_has_the_keys_and_indexes_of_the_design() -> None:
    assert collections_table.name == "LisaRagCollectionsTable"
    assert keys_of(collections_table) == ["collectionId", "repositoryId"]
    assert indexes_of(collections_table) == {
        "RepositoryIndex": ["repositoryId", "createdAt"],
        "StatusIndex": ["repositoryId", "status"],
        "CreatorIndex": ["createdBy", "createdAt"],
    }
    assert {index["Projection"]["ProjectionType"] for index in collections_table.definition()["GlobalSecondaryIndexes"]} == {"ALL"}
    assert collections_table.ttl() == "deletedAt"


def test_documents_table_has_the_keys_and_the_index_of_the_design() -> None:
    assert documents_table.name == "LisaRagDocumentTable"
    assert keys_of(documents_table) == ["pk", "document_id"]
    assert indexes_of(documents_table)["CollectionIndex"] == ["collectionId", "upload_date"]
    types = {each["AttributeName"]: each["AttributeType"] for each in documents_table.definition()["AttributeDefinitions"]}
    assert types["upload_date"] == "N"


def test_repositories_table_has_the_key_of_the_design() -> None:
    assert (repositories_table.name, keys_of(repositories_table)) == ("LisaRagVectorStoreTable", ["repositoryId"])


def test_example_of_a_collection_is_read_and_written_back_unchanged() -> None:
    found = spec_of(Collection).decode(EXAMPLE)
    assert (found.name, found.private, found.status) == ("Legal Documents", False, CollectionStatus.ACTIVE)
    assert found.allowed_groups == ["legal-team", "compliance"]
    assert found.metadata is not None
    assert found.metadata.tags == ["legal", "contracts", "confidential"]
    written = spec_of(Collection).encode(found)
    assert {name: written[name] for name in EXAMPLE if name not in ("createdAt", "updatedAt", "pipelines")} == {
        name: value for name, value in EXAMPLE.items() if name not in ("createdAt", "updatedAt", "pipelines")
    }
    assert EXAMPLE["pipelines"]["L"][0]["M"].items() <= written["pipelines"]["L"][0]["M"].items()
    assert found.created_at == datetime(2025, 10, 13, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "name",
    ["collectionId", "repositoryId", "allowChunkingOverride", "embeddingModel", "createdBy", "createdAt", "updatedAt", "status", "private"],
)
def test_required_attributes_are_always_written(name: str) -> None:
    assert name in spec_of(Collection).encode(Collection(repository_id="repo-123", embedding_model="m", created_by="ann"))


@pytest.mark.parametrize("name", ["name", "description", "chunkingStrategy", "metadata", "allowedGroups", "pipelines", "deletedAt"])
def test_optional_attributes_are_absent_until_they_have_a_value(name: str) -> None:
    item = spec_of(Collection).encode(Collection(repository_id="repo-123", embedding_model="m", created_by="ann"))
    assert name not in item
    assert name in {attribute.wire for attribute in spec_of(Collection).attributes.values()}


@pytest.mark.parametrize(
    ("what", "bound"),
    [
        ({"pipelines": [Pipeline(s3_bucket="b") for _ in range(11)]}, "10"),
        ({"name": "x" * 101}, "100"),
        ({"name": "a/b"}, "pattern"),
        ({"name": " a"}, "pattern"),
        ({"allowed_groups": [str(n) for n in range(101)]}, "100"),
    ],
)
def test_caps_of_a_collection(what: dict[str, Any], bound: str) -> None:
    with pytest.raises(ValidationError, match=bound):
        collection(**{"name": "Legal", **what})


def test_fifty_first_tag_is_refused() -> None:
    Metadata(tags=[f"t{n}" for n in range(50)])
    with pytest.raises(ValidationError, match="50"):
        Metadata(tags=[f"t{n}" for n in range(51)])


@pytest.mark.parametrize("name", ["a", "Legal Documents", "Ünïcode", "法律", "R&D (2026), v1.2", "x" * 100])
def test_names_in_all_scripts(name: str) -> None:
    assert collection(name).name == name


def test_names_are_unique_in_a_repository_without_regard_to_case(tables: Store) -> None:
    tables.create(collection("Secret"))
    with pytest.raises(UniqueTaken):
        tables.create(collection("SECRET"))
    tables.create(collection("secret", repository="repo-456"))


def test_name_is_free_again_once_its_collection_is_gone(tables: Store) -> None:
    tables.delete(tables.create(collection("Secret")))
    tables.create(collection("secret"))


def test_pattern_1_creates_only_what_is_absent(tables: Store) -> None:
    first = tables.create(collection("One", collection_id="c"))
    with pytest.raises(AlreadyExists):
        tables.create(collection("Two", collection_id=first.collection_id))


def test_patterns_2_and_4_get_and_update_by_both_keys(tables: Store) -> None:
    tables.create(collection("One", collection_id="c"))
    tables.patch(Collection, Collection.description.set("Updated description"), collection_id="c", repository_id="repo-123")
    found = tables.get(Collection, collection_id="c", repository_id="repo-123")
    assert found.description == "Updated description"
    assert found.updated_at >= found.created_at
    assert tables.find(Collection, collection_id="c", repository_id="repo-456") is None


def test_pattern_3_lists_a_repository_newest_first_and_in_pages(tables: Store) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(45):
        tables.create(collection(f"c{number}", created_at=start + timedelta(minutes=number)))
    names, cursor = [], None
    while True:
        page = tables.page(Collection.in_repository, repository_id="repo-123", limit=20, cursor=cursor)
        names += [found.name for found in page]
        if (cursor := page.next) is None:
            break
    assert names == [f"c{number}" for number in reversed(range(45))]


def test_pattern_5_soft_delete_keeps_the_row_until_its_date(tables: Store) -> None:
    row = tables.create(collection("One"))
    gone = datetime.now(UTC) + timedelta(days=90)
    tables.patch(row, Collection.status.to(CollectionStatus.DELETED), Collection.deleted_at.set(gone))
    (found,) = tables.query(Collection.with_status, repository_id="repo-123", status=CollectionStatus.DELETED)
    assert found.deleted_at is not None
    assert abs(found.deleted_at - gone) < timedelta(seconds=1)
    assert list(tables.query(Collection.with_status, repository_id="repo-123", status=CollectionStatus.ACTIVE)) == []


def test_collections_of_a_creator_newest_first(tables: Store) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for number, repository in enumerate(["repo-123", "repo-456"]):
        tables.create(collection(f"c{number}", repository=repository, created_at=start + timedelta(minutes=number)))
    assert [found.name for found in tables.query(Collection.of_creator, created_by="ann")] == ["c1", "c0"]


def test_patterns_6_and_7_count_and_delete_every_document_of_a_collection(tables: Store) -> None:
    # More than one page of 1 MB, where the design reads only the first.
    long = "x" * 2_000
    rows = [Document(repository_id="repo-123", collection_id="coll-456", upload_date=n, source=long) for n in range(700)]
    tables.batch_write(rows, check_version=False)
    assert tables.count(Document.in_collection, repository_id="repo-123", collection_id="coll-456") == 700
    tables.delete_all(Document.in_partition, repository_id="repo-123", collection_id="coll-456")
    assert tables.count(Document.in_collection, repository_id="repo-123", collection_id="coll-456") == 0


def test_documents_of_a_collection_newest_first(tables: Store) -> None:
    for when in (1, 3, 2):
        tables.create(Document(repository_id="repo-123", collection_id="coll-456", upload_date=when))
    assert [found.upload_date for found in tables.query(Document.in_collection, repository_id="repo-123", collection_id="coll-456")] == [
        3,
        2,
        1,
    ]
    assert [found.upload_date for found in tables.query(Document.in_repository, repository_id="repo-123")] == [3, 2, 1]


def test_document_is_keyed_by_repository_and_collection() -> None:
    item = spec_of(Document).encode(Document(document_id="doc-789", repository_id="repo-123", collection_id="coll-456", upload_date=7))
    assert item["pk"] == {"S": "repo-123#coll-456"}
    assert (item["document_id"], item["collectionId"], item["upload_date"]) == ({"S": "doc-789"}, {"S": "coll-456"}, {"N": "7"})


def test_document_whose_collection_is_written_as_the_sample_code_has_it(tables: Store) -> None:
    item = {"pk": {"S": "r#c"}, "document_id": {"S": "d"}, "repository_id": {"S": "r"}, "collection_id": {"S": "c"}}
    tables.transport.call("PutItem", {"TableName": "LisaRagDocumentTable", "Item": item})
    found = tables.get(Document, repository_id="r", collection_id="c", document_id="d")
    assert (found.collection_id, found.status) == ("c", DocumentStatus.COMPLETED)


def test_repository_of_the_example_is_read() -> None:
    config: dict[str, Any] = {
        "repositoryId": {"S": "repo-123"},
        "embeddingModelId": {"S": "amazon.titan-embed-text-v1"},
        "allowedGroups": {"L": [{"S": "engineering"}, {"S": "data-science"}]},
        "type": {"S": "opensearch"},
        "allowUserCollections": {"BOOL": False},
        "metadata": {"M": {"tags": {"L": [{"S": "production"}]}, "customFields": {"M": {"owner": {"S": "ml-team"}}}}},
        "opensearchConfig": {"M": {"endpoint": {"S": "x"}}},
    }
    item: dict[str, Any] = {
        "repositoryId": {"S": "repo-123"},
        "config": {"M": config},
        "status": {"S": "CREATE_COMPLETE"},
        "stackName": {"S": "s"},
    }
    found = spec_of(Repository).decode(item)
    assert found.config.allowed_groups == ["engineering", "data-science"]
    assert not found.config.allow_user_collections
    assert found.config.metadata is not None
    assert found.config.metadata.tags == ["production"]
    assert spec_of(Repository).encode(found)["config"]["M"].items() >= config.items()


def test_settings_of_a_repository_beside_its_config_are_read_and_written_inside() -> None:
    item: dict[str, Any] = {
        "repositoryId": {"S": "repo-123"},
        "config": {"M": {"embeddingModelId": {"S": "m"}, "type": {"S": "pgvector"}}},
        "allowUserCollections": {"BOOL": False},
        "metadata": {"M": {"tags": {"L": [{"S": "v2"}]}}},
        "status": {"S": "CREATE_COMPLETE"},
    }
    found = spec_of(Repository).decode(item)
    assert not found.config.allow_user_collections
    assert found.config.metadata is not None
    assert found.config.metadata.tags == ["v2"]
    written = spec_of(Repository).encode(found)
    assert written["config"]["M"]["allowUserCollections"] == {"BOOL": False}
    assert "allowUserCollections" not in written


def test_repository_allows_user_collections_unless_it_says_otherwise() -> None:
    assert RepositoryConfig(repository_id="r", embedding_model_id="m").allow_user_collections


def test_chunks_of_a_generation_come_in_order(tables: Store) -> None:
    for generation, ordinal in [(1, 10), (1, 2), (2, 0)]:
        tables.create(
            Chunk(
                document_id="d", generation=generation, ordinal=ordinal, repository_id="r", collection_id="c",
                text="x", start=0, end=1, content_hash="h", embedding_model="m", vector=b"\x00\x3c",
            )
        )  # fmt: skip
    found = list(tables.query(Chunk.of_document, document_id="d", generation=1))
    assert [chunk.ordinal for chunk in found] == [2, 10]
    assert found[0].vector == b"\x00\x3c"
    assert tables.count(Chunk.in_collection, repository_id="r", collection_id="c") == 3
    assert chunks_table.definition()["GlobalSecondaryIndexes"][0]["Projection"] == {"ProjectionType": "KEYS_ONLY"}


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (CollectionStatus.ACTIVE, CollectionStatus.ARCHIVED),
        (CollectionStatus.ARCHIVED, CollectionStatus.ACTIVE),
        (CollectionStatus.ACTIVE, CollectionStatus.DELETED),
        (CollectionStatus.DELETED, CollectionStatus.ACTIVE),
        (CollectionStatus.DELETED, CollectionStatus.DELETE_IN_PROGRESS),
        (CollectionStatus.DELETE_IN_PROGRESS, CollectionStatus.DELETE_FAILED),
        (CollectionStatus.DELETE_FAILED, CollectionStatus.DELETE_IN_PROGRESS),
    ],
)
def test_transitions_of_a_collection(now: CollectionStatus, then: CollectionStatus) -> None:
    assert now.may_become(then)


def test_collection_that_is_being_removed_is_not_archived(tables: Store) -> None:
    row = tables.create(collection("One"))
    tables.patch(row.key, Collection.status.to(CollectionStatus.DELETE_IN_PROGRESS))
    with pytest.raises(IllegalTransition):
        tables.patch(row.key, Collection.status.to(CollectionStatus.ARCHIVED))
