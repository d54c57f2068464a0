"""Collections of documents: three tables, with documents that are older than collections."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from gateleg.model import (
    ANY,
    GSI,
    TTL,
    Attr,
    Entity,
    Item,
    Key,
    Pattern,
    Record,
    Ref,
    States,
    Table,
    Unique,
    field,
    new_uuid,
    required,
    stamp,
    state,
    upcaster,
)

collections = Table(
    "LisaRagCollectionsTable",
    hash="collectionId",
    range="repositoryId",
    indexes=[
        GSI("RepositoryIndex", hash="repositoryId", range="createdAt"),
        GSI("StatusIndex", hash="repositoryId", range="status"),
        GSI("CreatorIndex", hash="createdBy", range="createdAt"),
    ],
)
documents = Table(
    "LisaRagDocumentTable",
    hash="pk",
    range="document_id",
    indexes=[GSI("CollectionIndex", hash="collectionId", range="upload_date")],
)
vector_stores = Table("LisaRagVectorStoreTable", hash="repositoryId")


class CollectionStatus(States):
    """Whether a collection is in use."""

    ACTIVE = state("ACTIVE", to=["ARCHIVED"])
    ARCHIVED = state("ARCHIVED", to=["ACTIVE"])
    DELETED = state("DELETED", from_=ANY, to=["ACTIVE"])


class FixedChunking(Record, case="camel"):
    """Chunks of one size."""

    type: Attr[Literal["FIXED"]] = field("FIXED")
    chunk_size: Attr[int]
    chunk_overlap: Attr[int]


class RecursiveChunking(Record, case="camel"):
    """Chunks that end where the text does."""

    type: Attr[Literal["RECURSIVE"]] = field("RECURSIVE")
    chunk_size: Attr[int]
    chunk_overlap: Attr[int]
    separators: Attr[list[str]] = field(factory=list)


class Metadata(Record, case="camel"):
    """Tags and fields of the user's own."""

    tags: Attr[list[str]] = field(factory=list, max_length=50)
    custom_fields: Attr[dict[str, Any]] = field(factory=dict)


class Pipeline(Record, case="camel"):
    """A pipeline that ingests documents automatically."""

    auto_remove: Attr[bool]
    chunk_overlap: Attr[int]
    chunk_size: Attr[int]
    s3_bucket: Attr[str]
    s3_prefix: Attr[str]
    trigger: Attr[Literal["event", "schedule"]]


class Collection(Entity, table=collections, case="camel"):
    """Documents that belong together in a repository."""

    collection_id: Attr[UUID] = new_uuid()
    repository_id: Attr[str]
    name: Attr[str | None] = field(None, min_length=1, max_length=100)
    description: Attr[str | None] = field(None)
    chunking_strategy: Attr[FixedChunking | RecursiveChunking | None] = field(None, discriminator="type")
    allow_chunking_override: Attr[bool] = field(True)
    metadata: Attr[Metadata | None] = field(None)
    allowed_groups: Attr[list[str] | None] = field(None)
    embedding_model: Attr[str]
    created_by: Attr[str]
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")
    status: Attr[CollectionStatus] = field(CollectionStatus.ACTIVE)
    private: Attr[bool] = field(False)
    pipelines: Attr[list[Pipeline]] = field(factory=list, max_length=10)
    deleted_at: Attr[TTL | None] = field(None)

    key = Key("{collection_id}", "{repository_id}")
    in_repository = Pattern("RepositoryIndex", title="Collections of a repository, newest first", order="desc")
    with_status = Pattern("StatusIndex", by=("repository_id", "status"), title="Collections of a repository in a status")
    by_creator = Pattern("CreatorIndex", title="Collections that a user created, newest first", order="desc")
    one_name = Unique("repository_id", "name", ignore_case=True)


class VectorStoreConfig(Record, case="camel"):
    """How a repository is set up."""

    repository_id: Attr[str]
    embedding_model_id: Attr[str]
    allowed_groups: Attr[list[str]] = field(factory=list)
    type: Attr[str]
    allow_user_collections: Attr[bool] = field(True)
    metadata: Attr[Metadata | None] = field(None)


class VectorStore(Entity, table=vector_stores, case="camel"):
    """A repository of vectors."""

    repository_id: Attr[str]
    config: Attr[VectorStoreConfig]
    status: Attr[str]
    stack_name: Attr[str | None] = field(None)

    key = Key("{repository_id}")


class Document(Entity, table=documents, schema=2):
    """One ingested document."""

    document_id: Attr[str]
    repository_id: Attr[str]
    collection_id: Attr[str] = required(name="collectionId")
    #: milliseconds since 1970, as the existing table has it
    upload_date: Attr[int]

    key = Key("{repository_id}#{collection_id}", "{document_id}", legacy=["{repository_id}"])
    in_collection = Pattern("CollectionIndex", title="Documents of a collection, newest first", order="desc")
    in_collection_of = Pattern("CollectionIndex", title="The same, with documents under older keys", order="desc", within="repository_id")
    in_partition = Pattern(title="Documents of a collection in a repository")


def _vector_store_of(item: Item) -> Ref[VectorStore]:
    return VectorStore.key(repository_id=item["repository_id"]["S"])


@upcaster(Document, to=2, asks=_vector_store_of)
def into_default_collection(item: Item, vector_store: VectorStore | None) -> Item:
    """Put a document without a collection into the collection named after the repository's embedding model."""
    if "collectionId" in item:
        return item
    if vector_store is None:
        raise LookupError(f"there is no vector store {item['repository_id']['S']}")
    return {**item, "collectionId": {"S": vector_store.config.embedding_model_id}}
