"""Documents that are older than collections, for tests of legacy keys: their key contains the repository only."""

from typing import Any

from gateleg.model import GSI, LSI, Attr, Collection, Entity, Item, Key, Pattern, Ref, Table, field, required, upcaster
from gateleg.store import Store

repositories = Table("Repositories", hash="repositoryId")
documents = Table(
    "Documents",
    hash="pk",
    range="document_id",
    indexes=[
        GSI("CollectionIndex", hash="collectionId", range="upload_date"),
        GSI("RepositoryIndex", hash="repository_id", range="upload_date"),
        GSI("DocumentIndex", hash="document_id", project="keys"),
        LSI("BySize", range="size"),
    ],
)


class Repository(Entity, table=repositories):
    repository_id: Attr[str] = required(name="repositoryId")
    model: Attr[str]

    key = Key("{repository_id}")


class Document(Entity, table=documents, schema=2):
    document_id: Attr[str]
    repository_id: Attr[str]
    collection_id: Attr[str] = required(name="collectionId")
    upload_date: Attr[int]
    title: Attr[str] = field("none")
    size: Attr[int] = field(0)
    note: Attr[str | None] = field(None)

    key = Key("{repository_id}#{collection_id}", "{document_id}", legacy=["{repository_id}"])
    in_partition = Pattern(title="Documents of a collection")
    newest = Pattern("CollectionIndex", title="Documents of a collection, newest first", within="repository_id", order="desc")
    in_repository = Pattern("RepositoryIndex", title="Documents of a repository, oldest first", legacy_indexed=True)
    all_in_repository = Pattern("RepositoryIndex", title="The same, with old ones read from the table")
    with_id = Pattern("DocumentIndex", title="Documents with an id")
    by_size = Pattern("BySize", title="Documents of a collection by size")


whole = Collection(Document, title="All of a collection")


def _repository_of(item: Item) -> Ref[Repository]:
    return Repository.key(repository_id=item["repository_id"]["S"])


@upcaster(Document, to=2, asks=_repository_of)
def into_default_collection(item: Item, repository: Repository | None) -> Item:
    """Put a document without a collection into the collection named after the repository's model."""
    assert repository is not None
    return item if "collectionId" in item else {**item, "collectionId": {"S": repository.model}}


def old_item(document: Document) -> Item:
    """A document as the older program wrote it."""
    item: Item = {
        "pk": {"S": document.repository_id},
        "document_id": {"S": document.document_id},
        "repository_id": {"S": document.repository_id},
        "upload_date": {"N": str(document.upload_date)},
        "title": {"S": document.title},
        "size": {"N": str(document.size)},
    }
    return item if document.note is None else {**item, "note": {"S": document.note}}


def put_old(store: Store, document: Document, **more: Any) -> None:
    store.transport.call("PutItem", {"TableName": store.setup.name_of(documents), "Item": old_item(document) | more})
