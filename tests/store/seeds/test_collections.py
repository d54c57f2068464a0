"""Collections of documents: seven access patterns, expiry, unique names, and documents that are older than collections."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from gateleg.model import Item
from gateleg.store import AlreadyExists, IllegalTransition, Store, UniqueTaken
from tests.model.seeds.rag import (
    Collection,
    CollectionStatus,
    Document,
    VectorStore,
    VectorStoreConfig,
    collections,
    documents,
    vector_stores,
)

START = datetime(2025, 9, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _tables(store: Store) -> None:
    store.create_tables(collections, documents, vector_stores)


def collection(**values: object) -> Collection:
    made = {"repository_id": "repo-1", "embedding_model": "titan", "created_by": "ann", **values}
    return Collection(**made)  # type: ignore[arg-type]


def document(of: UUID | str, number: int) -> Document:
    return Document(document_id=f"d{number:03}", repository_id="repo-1", collection_id=str(of), upload_date=1_700_000_000_000 + number)


def test_pattern_one_creates_a_collection_once(store: Store) -> None:
    made = store.create(collection())
    with pytest.raises(AlreadyExists):
        store.create(collection(collection_id=made.collection_id))


def test_pattern_two_gets_a_collection(store: Store) -> None:
    made = store.create(collection(name="Legal"))
    assert store.get(Collection, collection_id=made.collection_id, repository_id="repo-1") == made


def test_pattern_three_lists_the_collections_of_a_repository_page_by_page(store: Store) -> None:
    made = [store.create(collection(created_at=START - timedelta(days=age))) for age in range(5)]
    store.create(collection(repository_id="repo-2"))
    first = store.page(Collection.in_repository, repository_id="repo-1", limit=2)
    second = store.page(Collection.in_repository, repository_id="repo-1", limit=2, cursor=first.next)
    third = store.page(Collection.in_repository, repository_id="repo-1", limit=2, cursor=second.next)
    assert [*first, *second, *third] == made
    assert (first.previous, third.next) == (None, None)


def test_pattern_four_updates_a_collection(store: Store) -> None:
    made = store.create(collection())
    changed = store.patch(made, Collection.description.set("Contracts"))
    assert changed.description == "Contracts"
    assert changed.updated_at >= made.updated_at


def test_pattern_five_deletes_softly_with_an_expiry_and_restores(store: Store) -> None:
    made = store.create(collection(name="Legal"))
    end = store.setup.now().replace(microsecond=0) + timedelta(days=90)
    gone = store.patch(made, Collection.status.to(CollectionStatus.DELETED), Collection.deleted_at.set(end))
    assert gone.deleted_at == end
    back = store.patch(gone, Collection.status.to(CollectionStatus.ACTIVE), Collection.deleted_at.set(None))
    assert back.deleted_at is None
    with pytest.raises(IllegalTransition):
        store.patch(back, Collection.status.to(CollectionStatus.ACTIVE))


def test_pattern_five_deletes_for_good_and_frees_the_name(store: Store) -> None:
    made = store.create(collection(name="Legal"))
    store.delete(made)
    assert store.find(made) is None
    assert store.create(collection(name="LEGAL")).name == "LEGAL"


def test_pattern_six_counts_the_documents_of_a_collection(store: Store) -> None:
    one, other = uuid4(), uuid4()
    store.batch_write([*(document(one, number) for number in range(30)), document(other, 1)])
    assert store.count(Document.in_collection, collection_id=str(one)) == 30


def test_pattern_seven_deletes_all_documents_of_a_collection(store: Store) -> None:
    one, other = uuid4(), uuid4()
    store.batch_write([*(document(one, number) for number in range(60)), document(other, 1)])
    assert store.delete_all(Document.in_collection, collection_id=str(one)) == 60
    assert [found.document_id for found in store.export(Document)] == ["d001"]


def test_collections_are_listed_by_status_and_by_creator(store: Store) -> None:
    old = store.create(collection(created_at=START))
    new = store.create(collection(created_at=START + timedelta(days=1)))
    shelved = store.patch(old, Collection.status.to(CollectionStatus.ARCHIVED))
    assert list(store.query(Collection.with_status, repository_id="repo-1", status="ARCHIVED")) == [shelved]
    assert list(store.query(Collection.by_creator, created_by="ann")) == [new, shelved]


def test_documents_come_newest_first(store: Store) -> None:
    one = uuid4()
    store.batch_write([document(one, number) for number in range(3)])
    assert [found.document_id for found in store.query(Document.in_collection, collection_id=str(one))] == [
        "d002",
        "d001",
        "d000",
    ]


def test_names_are_unique_in_a_repository_whatever_their_case(store: Store) -> None:
    store.create(collection(name="Legal"))
    with pytest.raises(UniqueTaken, match=r"Another Collection has repository_id 'repo-1' and name 'legal'\.") as caught:
        store.create(collection(name="lEGAL"))
    assert caught.value.constraint == "Collection.one_name"
    assert store.create(collection(name="Legal", repository_id="repo-2")).name == "Legal"


def test_renaming_takes_the_new_name_and_frees_the_old(store: Store) -> None:
    made = store.create(collection(name="Legal"))
    renamed = store.patch(made, Collection.name.set("Contracts"))
    assert renamed.name == "Contracts"
    store.create(collection(name="Legal"))
    with pytest.raises(UniqueTaken):
        store.create(collection(name="contracts"))


def test_expiry_is_switched_on_for_collections_only(store: Store) -> None:
    def status(name: str) -> dict[str, str]:
        reply = store.transport.call("DescribeTimeToLive", {"TableName": name})
        description: dict[str, str] = reply["TimeToLiveDescription"]
        return description

    assert status(collections.name)["AttributeName"] == "deletedAt"
    assert status(documents.name)["TimeToLiveStatus"] == "DISABLED"


def legacy_document(store: Store, number: int) -> Item:
    config = VectorStoreConfig(repository_id="repo-1", embedding_model_id="titan", type="opensearch")
    store.put(VectorStore(repository_id="repo-1", config=config, status="CREATE_COMPLETE"))
    item = {
        "pk": {"S": "repo-1"},
        "document_id": {"S": f"old{number}"},
        "repository_id": {"S": "repo-1"},
        "upload_date": {"N": "1600000000000"},
        "chunks": {"N": "12"},
    }
    store.transport.call("PutItem", {"TableName": store.setup.name_of(documents), "Item": item})
    return item


def test_document_older_than_collections_is_found_in_the_default_one(store: Store) -> None:
    legacy_document(store, 1)
    found = store.get(Document, repository_id="repo-1", collection_id="titan", document_id="old1")
    assert found.collection_id == "titan"
    refs = [Document.key(repository_id="repo-1", collection_id="titan", document_id=name) for name in ("old1", "new")]
    assert store.batch_get(refs) == [found, None]


def test_documents_older_than_collections_are_listed_and_counted_in_the_default_one(store: Store) -> None:
    place = {"repository_id": "repo-1", "collection_id": "titan"}
    legacy_document(store, 1)
    legacy_document(store, 2)
    store.put(document("titan", 3))
    assert [found.document_id for found in store.query(Document.in_collection_of(**place))] == ["d003", "old2", "old1"]
    assert [found.document_id for found in store.page(Document.in_partition(**place), limit=2)] == ["d003", "old1"]
    assert store.count(Document.in_collection_of(**place)) == 3
    assert store.delete_all(Document.in_collection_of(**place)) == 3
    assert list(store.scan(documents)) == []


def test_document_older_than_collections_is_in_no_other_collection(store: Store) -> None:
    legacy_document(store, 1)
    assert store.find(Document, repository_id="repo-1", collection_id="another", document_id="old1") is None


def test_old_document_keeps_unknown_attributes(store: Store) -> None:
    legacy_document(store, 1)
    found = store.get(Document, repository_id="repo-1", collection_id="titan", document_id="old1")
    store.put(found)
    key = {"pk": {"S": "repo-1#titan"}, "document_id": {"S": "old1"}}
    item = store.transport.call("GetItem", {"TableName": store.setup.name_of(documents), "Key": key})["Item"]
    assert item["chunks"] == {"N": "12"}
    assert item["_schema"] == {"N": "2"}


def test_vector_store_keeps_its_nested_configuration(store: Store) -> None:
    config = VectorStoreConfig(repository_id="repo-1", embedding_model_id="titan", type="opensearch")
    stored = store.put(VectorStore(repository_id="repo-1", config=config, status="CREATE_COMPLETE"))
    assert store.get(VectorStore, repository_id="repo-1") == stored
