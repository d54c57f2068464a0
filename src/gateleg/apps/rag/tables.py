"""The tables: repositories, collections, documents, chunks, and the state of ingestion.

The tables of repositories, collections and documents have the keys, indexes and attributes of the public design. `DocumentIndex`,
`RepositoryDocumentIndex` and the other tables are additions. Documents from before collections existed have the bare `repositoryId` as
partition key and belong to the default collection. Its id is the id of the repository's embedding model.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID, uuid4

from gateleg.ai import DEFAULT_MODEL
from gateleg.model import (
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
    Version,
    field,
    required,
    stamp,
    state,
    upcaster,
)
from gateleg.model.wire import Value

MOST_PIPELINES = 10
MOST_TAGS = 50
MOST_GROUPS = 100
LONGEST_TAG = 50
LONGEST_FIELD = 100
#: Maximum size of an item's custom fields, in bytes of compact JSON.
MOST_CUSTOM_BYTES = 10 * 1024
LONGEST_NAME = 100
#: Letters of all scripts, digits and common punctuation; no slash, because names occur in paths.
NAME_PATTERN = r"^[\w(](?:[\w .,()&'+-]*[\w.)])?$"
REPOSITORY_ID_PATTERN = r"^[a-z0-9](?:[a-z0-9-]{1,18}[a-z0-9])$"
TAG_PATTERN = r"^[A-Za-z0-9_-]+$"

collections_table = Table(
    "LisaRagCollectionsTable",
    hash="collectionId",
    range="repositoryId",
    indexes=[
        GSI("RepositoryIndex", hash="repositoryId", range="createdAt"),
        GSI("StatusIndex", hash="repositoryId", range="status"),
        GSI("CreatorIndex", hash="createdBy", range="createdAt"),
    ],
)
documents_table = Table(
    "LisaRagDocumentTable",
    hash="pk",
    range="document_id",
    indexes=[
        GSI("CollectionIndex", hash="collectionId", range="upload_date"),
        GSI("DocumentIndex", hash="document_id"),
        GSI("RepositoryDocumentIndex", hash="repository_id", range="upload_date"),
    ],
)
repositories_table = Table("LisaRagVectorStoreTable", hash="repositoryId")
chunks_table = Table(
    "LisaRagChunkTable",
    hash="pk",
    range="sk",
    indexes=[GSI("CollectionChunkIndex", hash="collectionKey", range="documentId", project="keys")],
)
ingestion_table = Table("LisaRagIngestionTable", hash="pk", range="sk")
TABLES = (collections_table, documents_table, repositories_table, chunks_table, ingestion_table)


class CollectionStatus(States):
    """The status of a collection."""

    ACTIVE = state("ACTIVE", to=["ARCHIVED", "DELETED", "DELETE_IN_PROGRESS"])
    ARCHIVED = state("ARCHIVED", to=["ACTIVE", "DELETED", "DELETE_IN_PROGRESS"])
    #: soft-deleted: it can be restored until `deletedAt`
    DELETED = state("DELETED", to=["ACTIVE", "DELETE_IN_PROGRESS"])
    #: a job is removing it; a default collection becomes active again once its documents are gone
    DELETE_IN_PROGRESS = state("DELETE_IN_PROGRESS", to=["DELETE_FAILED", "ACTIVE"])
    DELETE_FAILED = state("DELETE_FAILED", to=["DELETE_IN_PROGRESS"])


class RepositoryStatus(States):
    """The status of a repository, with the names of CloudFormation: the public system deploys a stack for each repository."""

    CREATE_COMPLETE = state("CREATE_COMPLETE", to=["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE", "DELETE_IN_PROGRESS", "UNKNOWN"])
    CREATE_IN_PROGRESS = state("CREATE_IN_PROGRESS", to=["CREATE_COMPLETE", "CREATE_FAILED", "DELETE_IN_PROGRESS"])
    CREATE_FAILED = state("CREATE_FAILED", to=["DELETE_IN_PROGRESS", "CREATE_IN_PROGRESS"])
    UPDATE_IN_PROGRESS = state("UPDATE_IN_PROGRESS", to=["UPDATE_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "DELETE_IN_PROGRESS"])
    UPDATE_COMPLETE = state("UPDATE_COMPLETE", to=["UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS", "UNKNOWN"])
    UPDATE_COMPLETE_CLEANUP_IN_PROGRESS = state("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", to=["UPDATE_COMPLETE", "DELETE_IN_PROGRESS"])
    UNKNOWN = state("UNKNOWN", to=["CREATE_IN_PROGRESS", "UPDATE_COMPLETE", "DELETE_IN_PROGRESS"])
    DELETE_IN_PROGRESS = state("DELETE_IN_PROGRESS", to=["DELETE_FAILED"])
    DELETE_FAILED = state("DELETE_FAILED", to=["DELETE_IN_PROGRESS"])


#: Statuses in which documents can be read and added.
READY = frozenset(
    {
        RepositoryStatus.CREATE_COMPLETE,
        RepositoryStatus.UPDATE_IN_PROGRESS,
        RepositoryStatus.UPDATE_COMPLETE,
        RepositoryStatus.UPDATE_COMPLETE_CLEANUP_IN_PROGRESS,
    }
)


class DocumentStatus(States):
    """The status of a document's ingestion. The current chunks stay searchable while the document is ingested again."""

    PENDING = state("INGESTION_PENDING", to=["INGESTION_IN_PROGRESS", "INGESTION_FAILED", "INGESTION_COMPLETED", "DELETE_IN_PROGRESS"])
    IN_PROGRESS = state("INGESTION_IN_PROGRESS", to=["INGESTION_COMPLETED", "INGESTION_FAILED", "INGESTION_PENDING", "DELETE_IN_PROGRESS"])
    COMPLETED = state("INGESTION_COMPLETED", to=["INGESTION_PENDING", "INGESTION_IN_PROGRESS", "INGESTION_FAILED", "DELETE_IN_PROGRESS"])
    FAILED = state("INGESTION_FAILED", to=["INGESTION_PENDING", "INGESTION_IN_PROGRESS", "INGESTION_COMPLETED", "DELETE_IN_PROGRESS"])
    DELETE_IN_PROGRESS = state("DELETE_IN_PROGRESS", to=["DELETE_FAILED"])
    DELETE_FAILED = state("DELETE_FAILED", to=["DELETE_IN_PROGRESS"])


class IngestionType(StrEnum):
    """How a document was added."""

    #: uploaded by a user
    MANUAL = "manual"
    #: found by a pipeline
    AUTO = "auto"
    #: existed before its pipeline; not removed with its collection
    EXISTING = "existing"


class Metadata(Record, case="camel"):
    """Tags and custom fields of a repository, collection, pipeline or document. `rules.check_metadata` checks the limits."""

    tags: Attr[list[str]] = field(factory=list, max_length=MOST_TAGS)
    custom_fields: Attr[dict[str, Any]] = field(factory=dict)


class Pipeline(Record, case="camel"):
    """Automatic ingestion of the objects below a prefix of a bucket, or of a folder."""

    auto_remove: Attr[bool] = field(True)
    chunk_overlap: Attr[int | None] = field(None, ge=0)
    chunk_size: Attr[int | None] = field(None, ge=0)
    s3_bucket: Attr[str] = field("")
    s3_prefix: Attr[str] = field("")
    trigger: Attr[Literal["event", "schedule", "daily"]] = field("event")

    #: an addition to the public design: identifies the pipeline's state even if other fields change
    pipeline_id: Attr[str] = field(factory=lambda: str(uuid4()))
    #: for pipelines of a repository: the id or name of the collection
    collection_id: Attr[str | None] = field(None)
    chunking_strategy: Attr[dict[str, Any] | None] = field(None)
    metadata: Attr[Metadata | None] = field(None)
    #: a folder on the host, instead of a bucket
    folder: Attr[str | None] = field(None)
    #: for trigger `schedule`: a cron expression and the name of a time zone
    cron: Attr[str | None] = field(None)
    timezone: Attr[str | None] = field(None)
    #: glob patterns of keys to include and exclude
    include: Attr[list[str]] = field(factory=list)
    exclude: Attr[list[str]] = field(factory=list)
    paused: Attr[bool] = field(False)


class RepositoryConfig(Record, case="camel"):
    """The configuration of a repository."""

    repository_id: Attr[str]
    repository_name: Attr[str | None] = field(None, max_length=LONGEST_NAME)
    description: Attr[str | None] = field(None, max_length=2_000)
    #: immutable, because it is also the id of the default collection; rows of the public system may lack it
    embedding_model_id: Attr[str] = field(DEFAULT_MODEL)
    #: the type of vector store; Gateleg's is "embedded"
    type: Attr[str] = field("embedded")
    #: the groups that can read it; if None, all members can
    allowed_groups: Attr[list[str] | None] = field(None, max_length=MOST_GROUPS)
    allow_user_collections: Attr[bool] = field(True)
    metadata: Attr[Metadata | None] = field(None)
    pipelines: Attr[list[Pipeline] | None] = field(None, max_length=MOST_PIPELINES)
    created_by: Attr[str | None] = field(None)
    created_at: Attr[datetime | None] = field(None)
    updated_at: Attr[datetime | None] = field(None)


class Repository(Entity, table=repositories_table, case="camel", schema=2):
    """A repository, which contains collections."""

    repository_id: Attr[str] = required(read_only=True, max_length=100)
    config: Attr[RepositoryConfig]
    status: Attr[RepositoryStatus] = field(RepositoryStatus.CREATE_COMPLETE)
    stack_name: Attr[str | None] = field(None)

    #: if set, only members of this tenant can see it
    tenant: Attr[str | None] = field(None)
    #: the job that deletes it
    delete_job_id: Attr[UUID | None] = field(None)
    version: Attr[Version] = field(0)

    key = Key("{repository_id}")


@upcaster(Repository, to=2)
def move_settings_into_config(item: Item) -> Item:
    """Move `allowUserCollections` and `metadata` of older rows into `config`."""
    config = dict(item.get("config", {}).get("M", {}))
    outer = {name: item[name] for name in ("allowUserCollections", "metadata") if name in item and name not in config}
    kept = {name: value for name, value in item.items() if name not in outer}
    return {**kept, "config": {"M": {"repositoryId": item["repositoryId"], **config, **outer}}}


class RepositoryEntry(Entity, table=ingestion_table, case="camel"):
    """An entry in the list of repositories, for which the public design has no index. Written in the same transaction as its repository.

    All entries are in one partition, so that listing is one query. Sharding is unnecessary: an entry is written only when a repository is
    created or deleted, not when it changes.
    """

    #: the sort key in the list: the tenant or `-`, then the id; see `repository_list.place_of`
    place: Attr[str] = required(max_length=1_000)
    repository_id: Attr[str]

    key = Key("REPOSITORIES", "{place}")
    by_place = Pattern(title="Repositories by tenant and id")


class Collection(Entity, table=collections_table, case="camel"):
    """A collection of documents in a repository."""

    #: a UUID, or the embedding model's id for the default collection
    collection_id: Attr[str] = field(factory=lambda: str(uuid4()), read_only=True)
    repository_id: Attr[str] = required(read_only=True)
    #: required for new collections; rows of the public system may lack it
    name: Attr[str | None] = field(None, min_length=1, max_length=LONGEST_NAME, pattern=NAME_PATTERN)
    description: Attr[str | None] = field(None, max_length=2_000)
    #: the stored form of `chunking`: {type, chunkSize, chunkOverlap, separators, ...}
    chunking_strategy: Attr[dict[str, Any] | None] = field(None)
    allow_chunking_override: Attr[bool] = field(True)
    metadata: Attr[Metadata | None] = field(None)
    #: groups of the repository that can read it; None inherits all of them
    allowed_groups: Attr[list[str] | None] = field(None, max_length=MOST_GROUPS)
    #: changes together with `index_number`, when all chunks have been embedded with another model
    embedding_model: Attr[str]
    created_by: Attr[str] = required(read_only=True)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")
    status: Attr[CollectionStatus] = field(CollectionStatus.ACTIVE)
    #: visible only to its creator and administrators
    private: Attr[bool] = field(False)
    pipelines: Attr[list[Pipeline] | None] = field(None, max_length=MOST_PIPELINES)
    #: when a deleted collection can no longer be restored
    deleted_at: Attr[TTL | None] = field(None)

    #: the job that deletes it
    delete_job_id: Attr[UUID | None] = field(None)
    #: the number of the index that searches use, starting at 0
    index_number: Attr[int] = field(0, ge=0)
    #: the index that a job is filling with the vectors of another model, to replace the current one
    shadow_number: Attr[int | None] = field(None, ge=1)
    shadow_model: Attr[str | None] = field(None)
    shadow_job_id: Attr[UUID | None] = field(None)
    #: increases when a shadow index begins or ends, and numbers them; an ingestion that started at another value starts again
    index_changes: Attr[int] = field(0, ge=0)
    version: Attr[Version] = field(0)

    key = Key("{collection_id}", "{repository_id}")
    in_repository = Pattern("RepositoryIndex", title="Collections of a repository, newest first", order="desc")
    with_status = Pattern("StatusIndex", by=["repository_id", "status"], title="Collections of a repository in a status")
    of_creator = Pattern("CreatorIndex", title="Collections that a user created, newest first", order="desc")
    one_name = Unique("repository_id", "name", ignore_case=True)


class Revision(Record, case="camel"):
    """A previous content of a document."""

    number: Attr[int] = required(ge=1)
    content_hash: Attr[str]
    size: Attr[int] = field(0, ge=0)
    #: the key of its object
    source: Attr[str]
    bucket: Attr[str | None] = field(None)
    #: milliseconds since 1970
    upload_date: Attr[int] = field(0, ge=0)
    username: Attr[str] = field("")


class Document(Entity, table=documents_table, schema=2):
    """A document of a collection. `generation` selects the chunks that searches find."""

    document_id: Attr[str] = field(factory=lambda: str(uuid4()), read_only=True)
    repository_id: Attr[str] = required(read_only=True)
    collection_id: Attr[str] = required(name="collectionId")
    document_name: Attr[str] = field("", max_length=1_024)
    #: the key of its object; an S3 URI in rows of the public system
    source: Attr[str] = field("", max_length=2_048)
    #: the user who added it
    username: Attr[str] = field("")
    ingestion_type: Attr[IngestionType] = field(IngestionType.MANUAL)
    #: milliseconds since 1970
    upload_date: Attr[int] = field(0, ge=0)
    #: the number of chunks in the current generation
    chunks: Attr[int] = field(0, ge=0)
    chunk_strategy: Attr[dict[str, Any] | None] = field(None)

    status: Attr[DocumentStatus] = field(DocumentStatus.PENDING)
    #: why the last ingestion failed
    error_message: Attr[str | None] = field(None, name="errorMessage", max_length=4_000)
    #: SHA-256 of the object's bytes, in hexadecimal
    content_hash: Attr[str | None] = field(None, name="contentHash")
    size: Attr[int | None] = field(None, ge=0)
    content_type: Attr[str | None] = field(None, name="contentType")
    pages: Attr[int | None] = field(None, ge=0)
    language: Attr[str | None] = field(None)
    metadata: Attr[Metadata | None] = field(None)
    #: the object store of the source, for documents of a pipeline that reads a bucket
    bucket: Attr[str | None] = field(None)
    #: the generation of chunks that searches find; None until the first ingestion is complete
    generation: Attr[int | None] = field(None, ge=1)
    #: the highest generation given to any ingestion
    last_generation: Attr[int] = field(0, name="lastGeneration", ge=0)
    #: all chunks of generations below this one have been removed
    first_generation: Attr[int] = field(1, name="firstGeneration", ge=1)
    #: digest of the content, strategy, model and metadata of the current generation; if it is unchanged, an ingestion is skipped
    ingestion_digest: Attr[str | None] = field(None, name="ingestionDigest")
    #: 64-bit simhash of the text, in hexadecimal; similar texts differ in few bits
    simhash: Attr[str | None] = field(None)
    title: Attr[str | None] = field(None, max_length=300)
    #: the chunking strategy requested for its ingestion, instead of the collection's
    strategy_override: Attr[dict[str, Any] | None] = field(None, name="strategyOverride")
    #: parts that the parser skipped
    warnings: Attr[list[str]] = field(factory=list)
    #: why its chunks have no vectors, so that searches find them by keywords only; None if they have
    keywords_only: Attr[str | None] = field(None, name="keywordsOnly", max_length=4_000)
    #: the URL it was fetched from
    url: Attr[str | None] = field(None, max_length=8_000)
    #: the pipeline that found it, and the entity tag of the object when it was last found
    pipeline_id: Attr[str | None] = field(None, name="pipelineId")
    source_etag: Attr[str | None] = field(None, name="sourceEtag")
    #: the number of the content, starting at 1
    revision: Attr[int] = field(0, ge=0)
    #: the kept earlier contents, newest first
    revisions: Attr[list[Revision]] = field(factory=list)
    #: the job that ingests or deletes it
    job_id: Attr[UUID | None] = field(None, name="jobId")
    version: Attr[Version] = field(0)

    key = Key("{repository_id}#{collection_id}", "{document_id}", legacy=["{repository_id}"])
    #: `within`, because default collections of repositories with the same embedding model have the same id
    in_collection = Pattern("CollectionIndex", title="Documents of a collection, newest first", order="desc", within="repository_id")
    in_partition = Pattern(title="Documents of a collection of a repository, by id")
    with_id = Pattern("DocumentIndex", title="The document with an id", legacy_indexed=True)
    in_repository = Pattern("RepositoryDocumentIndex", title="Documents of a repository, newest first", order="desc")


def repository_of(item: Item) -> Ref[Repository] | None:
    """The repository to read for the collection of an older document; None if the document has a collection."""
    return None if "collectionId" in item or "collection_id" in item else Repository.key(repository_id=_repository_id(item))


def _repository_id(item: Item) -> str:
    return str(item["repository_id"]["S"] if "repository_id" in item else item["pk"]["S"].partition("#")[0])


@upcaster(Document, to=2, asks=repository_of)
def name_collection(item: Item, repository: Repository | None) -> Item:
    """Upgrade rows of the public system, which writes `collection_id` or no collection, and writes a document only after its ingestion."""
    added = {"status": {"S": DocumentStatus.COMPLETED.value}, "repository_id": {"S": _repository_id(item)}}
    if "collectionId" not in item:
        added["collectionId"] = item.get("collection_id") or _default_collection(item, repository)
    return {**added, **item}


def _default_collection(item: Item, repository: Repository | None) -> Value:
    if repository is None:
        raise LookupError(f"the repository {_repository_id(item)!r} of the document no longer exists")
    return {"S": repository.config.embedding_model_id}


class Chunk(Entity, table=chunks_table, case="camel"):
    """A chunk of a document, with its position in the text and its vector."""

    document_id: Attr[str]
    generation: Attr[int] = required(ge=1)
    #: 0-based
    ordinal: Attr[int] = required(ge=0, le=999_999)
    repository_id: Attr[str]
    collection_id: Attr[str]
    text: Attr[str]
    #: the characters [start, end) of the document's extracted text
    start: Attr[int] = required(ge=0)
    end: Attr[int] = required(ge=0)
    #: 1-based
    page: Attr[int | None] = field(None, ge=1)
    #: [page, start] of each further page that the chunk reaches into; `start` counts characters of the extracted text
    page_starts: Attr[list[list[int]] | None] = field(None)
    #: [page, left, top, right, bottom] of each line, in points from the page's top left corner
    boxes: Attr[list[list[float]] | None] = field(None, max_length=500)
    heading: Attr[str | None] = field(None)
    content_hash: Attr[str]
    #: the merged metadata of repository, collection and document, which filters use
    metadata: Attr[dict[str, Any]] = field(factory=dict)
    #: float16 or float32, little-endian
    vector: Attr[bytes | None] = field(None)
    embedding_model: Attr[str]
    #: the vector for a shadow index; it replaces `vector` when the shadow index becomes the current one
    shadow_vector: Attr[bytes | None] = field(None)
    shadow_model: Attr[str | None] = field(None)

    key = Key("{document_id}#{generation}", "{ordinal:06d}")
    collection_key = Key("{repository_id}#{collection_id}", "{document_id}", index="CollectionChunkIndex")
    of_document = Pattern(title="The chunks of one generation of a document, in order")
    in_collection = Pattern("CollectionChunkIndex", title="The chunks of a collection, all generations")


class Fingerprint(Entity, table=ingestion_table, case="camel"):
    """A band of a document's simhash. Similar documents have at least one band in common."""

    repository_id: Attr[str]
    collection_id: Attr[str]
    #: the number of the band, and its bits
    band: Attr[str]
    document_id: Attr[str]
    #: the whole simhash
    simhash: Attr[str]

    key = Key("FINGERPRINT#{repository_id}#{collection_id}#{band}", "{document_id}")
    in_band = Pattern(by=["repository_id", "collection_id", "band"], title="Documents of a collection that share a part of their simhash")


class Orphan(Entity, table=ingestion_table, case="camel"):
    """A collection whose row was removed by another program or by TTL, while documents of it are left."""

    repository_id: Attr[str]
    collection_id: Attr[str]
    seen_at: Attr[datetime]

    key = Key("ORPHAN#{repository_id}", "{collection_id}")


class PipelineState(Entity, table=ingestion_table, case="camel"):
    """The progress of a pipeline."""

    pipeline_id: Attr[str]
    repository_id: Attr[str]
    #: the key after which an interrupted run continues
    cursor: Attr[str | None] = field(None)
    #: when the last complete run began
    looked_at: Attr[datetime | None] = field(None)
    last_job_id: Attr[UUID | None] = field(None)
    found: Attr[int] = field(0, ge=0)
    ingested: Attr[int] = field(0, ge=0)
    removed: Attr[int] = field(0, ge=0)
    error_message: Attr[str | None] = field(None, max_length=4_000)
    version: Attr[Version] = field(0)

    key = Key("PIPELINE#{pipeline_id}", "STATE")
