"""Repositories, their collections, the documents in these and the chunks of each document.

The first three tables, their keys, indexes and attributes are those of the public design; `DocumentIndex`, `RepositoryDocumentIndex` and
the table of chunks are ours. Documents from before there were collections lie under the bare `repositoryId` and belong to the default
collection, whose id is the id of the repository's embedding model.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID, uuid4

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
from gateleg.model.codec.wire import Value

MOST_PIPELINES = 10
MOST_TAGS = 50
MOST_GROUPS = 100
LONGEST_TAG = 50
#: bytes of the custom fields of one item, as compact JSON
MOST_CUSTOM_BYTES = 10 * 1024
LONGEST_NAME = 100
#: letters of all scripts, digits and the punctuation of titles; no slash, since a name may stand in a path
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
    """Whether a collection is in use, put away, deleted until its date, or being removed."""

    ACTIVE = state("ACTIVE", to=["ARCHIVED", "DELETED", "DELETE_IN_PROGRESS"])
    ARCHIVED = state("ARCHIVED", to=["ACTIVE", "DELETED", "DELETE_IN_PROGRESS"])
    #: deleted softly: it can be restored until `deletedAt`
    DELETED = state("DELETED", to=["ACTIVE", "DELETE_IN_PROGRESS"])
    #: a job removes it; a default collection is active again when its documents are gone
    DELETE_IN_PROGRESS = state("DELETE_IN_PROGRESS", to=["DELETE_FAILED", "ACTIVE"])
    DELETE_FAILED = state("DELETE_FAILED", to=["DELETE_IN_PROGRESS"])


class RepositoryStatus(States):
    """From creation to removal, in the words of the stacks that the public system deploys for each repository."""

    CREATE_COMPLETE = state("CREATE_COMPLETE", to=["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE", "DELETE_IN_PROGRESS", "UNKNOWN"])
    CREATE_IN_PROGRESS = state("CREATE_IN_PROGRESS", to=["CREATE_COMPLETE", "CREATE_FAILED", "DELETE_IN_PROGRESS"])
    CREATE_FAILED = state("CREATE_FAILED", to=["DELETE_IN_PROGRESS", "CREATE_IN_PROGRESS"])
    UPDATE_IN_PROGRESS = state("UPDATE_IN_PROGRESS", to=["UPDATE_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "DELETE_IN_PROGRESS"])
    UPDATE_COMPLETE = state("UPDATE_COMPLETE", to=["UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS", "UNKNOWN"])
    UPDATE_COMPLETE_CLEANUP_IN_PROGRESS = state("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", to=["UPDATE_COMPLETE", "DELETE_IN_PROGRESS"])
    UNKNOWN = state("UNKNOWN", to=["CREATE_IN_PROGRESS", "UPDATE_COMPLETE", "DELETE_IN_PROGRESS"])
    DELETE_IN_PROGRESS = state("DELETE_IN_PROGRESS", to=["DELETE_FAILED"])
    DELETE_FAILED = state("DELETE_FAILED", to=["DELETE_IN_PROGRESS"])


#: Repositories that can be read and filled.
READY = frozenset(
    {
        RepositoryStatus.CREATE_COMPLETE,
        RepositoryStatus.UPDATE_IN_PROGRESS,
        RepositoryStatus.UPDATE_COMPLETE,
        RepositoryStatus.UPDATE_COMPLETE_CLEANUP_IN_PROGRESS,
    }
)


class DocumentStatus(States):
    """Where the ingestion of a document stands. What was ingested stays searchable while it is ingested again."""

    PENDING = state("INGESTION_PENDING", to=["INGESTION_IN_PROGRESS", "INGESTION_FAILED", "INGESTION_COMPLETED", "DELETE_IN_PROGRESS"])
    IN_PROGRESS = state("INGESTION_IN_PROGRESS", to=["INGESTION_COMPLETED", "INGESTION_FAILED", "INGESTION_PENDING", "DELETE_IN_PROGRESS"])
    COMPLETED = state("INGESTION_COMPLETED", to=["INGESTION_PENDING", "INGESTION_IN_PROGRESS", "INGESTION_FAILED", "DELETE_IN_PROGRESS"])
    FAILED = state("INGESTION_FAILED", to=["INGESTION_PENDING", "INGESTION_IN_PROGRESS", "INGESTION_COMPLETED", "DELETE_IN_PROGRESS"])
    DELETE_IN_PROGRESS = state("DELETE_IN_PROGRESS", to=["DELETE_FAILED"])
    DELETE_FAILED = state("DELETE_FAILED", to=["DELETE_IN_PROGRESS"])


class IngestionType(StrEnum):
    """How a document came in."""

    #: uploaded by somebody
    MANUAL = "manual"
    #: found by a pipeline
    AUTO = "auto"
    #: was there before its pipeline; never removed with its collection
    EXISTING = "existing"


class Metadata(Record, case="camel"):
    """Tags and custom fields of a repository, a collection, a pipeline or a document. `rules.check_metadata` bounds what is written."""

    tags: Attr[list[str]] = field(factory=list, max_length=MOST_TAGS)
    custom_fields: Attr[dict[str, Any]] = field(factory=dict)


class Pipeline(Record, case="camel"):
    """Automated ingestion of what lies under a prefix of a bucket."""

    auto_remove: Attr[bool] = field(True)
    chunk_overlap: Attr[int | None] = field(None, ge=0)
    chunk_size: Attr[int | None] = field(None, ge=0)
    s3_bucket: Attr[str] = field("")
    s3_prefix: Attr[str] = field("")
    trigger: Attr[Literal["event", "schedule", "daily"]] = field("event")

    #: ours: names the pipeline's cursor, whatever else of it changes
    pipeline_id: Attr[str] = field(factory=lambda: str(uuid4()))
    #: the collection by id or name, for pipelines of a repository
    collection_id: Attr[str | None] = field(None)
    chunking_strategy: Attr[dict[str, Any] | None] = field(None)
    metadata: Attr[Metadata | None] = field(None)
    #: a folder on the host in place of a bucket
    folder: Attr[str | None] = field(None)
    #: when a schedule runs: a cron expression and the name of a time zone
    cron: Attr[str | None] = field(None)
    timezone: Attr[str | None] = field(None)
    #: patterns of the keys to take and to leave out
    include: Attr[list[str]] = field(factory=list)
    exclude: Attr[list[str]] = field(factory=list)
    paused: Attr[bool] = field(False)


class RepositoryConfig(Record, case="camel"):
    """How a repository is set up."""

    repository_id: Attr[str]
    repository_name: Attr[str | None] = field(None, max_length=LONGEST_NAME)
    description: Attr[str | None] = field(None, max_length=2_000)
    #: also the id of the default collection, so it never changes
    embedding_model_id: Attr[str]
    #: the vector store; ours is "embedded"
    type: Attr[str] = field("embedded")
    #: the groups that can read it; everybody when there are none
    allowed_groups: Attr[list[str] | None] = field(None, max_length=MOST_GROUPS)
    allow_user_collections: Attr[bool] = field(True)
    metadata: Attr[Metadata | None] = field(None)
    pipelines: Attr[list[Pipeline] | None] = field(None, max_length=MOST_PIPELINES)
    created_by: Attr[str | None] = field(None)
    created_at: Attr[datetime | None] = field(None)
    updated_at: Attr[datetime | None] = field(None)


class Repository(Entity, table=repositories_table, case="camel", schema=2):
    """A vector store with its collections."""

    repository_id: Attr[str] = required(read_only=True, max_length=100)
    config: Attr[RepositoryConfig]
    status: Attr[RepositoryStatus] = field(RepositoryStatus.CREATE_COMPLETE)
    stack_name: Attr[str | None] = field(None)

    #: the tenant whose members alone can see it
    tenant: Attr[str | None] = field(None)
    #: the job that removes it
    delete_job_id: Attr[UUID | None] = field(None)
    version: Attr[Version] = field(0)

    key = Key("{repository_id}")


@upcaster(Repository, to=2)
def move_settings_into_config(item: Item) -> Item:
    """Rows that have `allowUserCollections` and `metadata` beside `config`, and not in it."""
    config = dict(item.get("config", {}).get("M", {}))
    outer = {name: item[name] for name in ("allowUserCollections", "metadata") if name in item and name not in config}
    kept = {name: value for name, value in item.items() if name not in outer}
    return {**kept, "config": {"M": {"repositoryId": item["repositoryId"], **config, **outer}}}


class RepositoryEntry(Entity, table=ingestion_table, case="camel"):
    """An entry of the list of repositories, which the design's table has no index for. It is written with its repository.

    All entries are in one partition, so that a list is one query. It is not sharded: repositories are created and deleted rarely, and
    changes of a repository do not touch its entry.
    """

    #: the tenant, or `-` for a repository without one, then the id: `repository_list.place_of` builds it
    place: Attr[str] = required(max_length=1_000)
    repository_id: Attr[str]

    key = Key("REPOSITORIES", "{place}")
    by_place = Pattern(title="Repositories by tenant and id")


class Collection(Entity, table=collections_table, case="camel"):
    """Documents of a repository that belong together."""

    #: a UUID, or the embedding model's id for the default collection
    collection_id: Attr[str] = field(factory=lambda: str(uuid4()), read_only=True)
    repository_id: Attr[str] = required(read_only=True)
    #: required when it is created; rows of the public system may lack it
    name: Attr[str | None] = field(None, min_length=1, max_length=LONGEST_NAME, pattern=NAME_PATTERN)
    description: Attr[str | None] = field(None, max_length=2_000)
    #: as `chunking` writes it: {type, chunkSize, chunkOverlap, separators, ...}
    chunking_strategy: Attr[dict[str, Any] | None] = field(None)
    allow_chunking_override: Attr[bool] = field(True)
    metadata: Attr[Metadata | None] = field(None)
    #: groups of the repository that can read it; None inherits them all
    allowed_groups: Attr[list[str] | None] = field(None, max_length=MOST_GROUPS)
    #: changes with `index_number`, when all of its chunks have been embedded by another model
    embedding_model: Attr[str]
    created_by: Attr[str] = required(read_only=True)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")
    status: Attr[CollectionStatus] = field(CollectionStatus.ACTIVE)
    #: for its creator and administrators only
    private: Attr[bool] = field(False)
    pipelines: Attr[list[Pipeline] | None] = field(None, max_length=MOST_PIPELINES)
    #: when a deleted collection is gone for good
    deleted_at: Attr[TTL | None] = field(None)

    #: the job that removes it
    delete_job_id: Attr[UUID | None] = field(None)
    #: which of its indexes is searched: the first is 0
    index_number: Attr[int] = field(0, ge=0)
    #: the index that a job fills with the vectors of another model, to be searched in place of the present one
    shadow_number: Attr[int | None] = field(None, ge=1)
    shadow_model: Attr[str | None] = field(None)
    shadow_job_id: Attr[UUID | None] = field(None)
    #: counts the beginnings and ends of shadow indexes, and numbers them: an ingestion that has seen another count begins again
    index_changes: Attr[int] = field(0, ge=0)
    version: Attr[Version] = field(0)

    key = Key("{collection_id}", "{repository_id}")
    in_repository = Pattern("RepositoryIndex", title="Collections of a repository, newest first", order="desc")
    with_status = Pattern("StatusIndex", by=["repository_id", "status"], title="Collections of a repository in a status")
    of_creator = Pattern("CreatorIndex", title="Collections that a user created, newest first", order="desc")
    one_name = Unique("repository_id", "name", ignore_case=True)


class Revision(Record, case="camel"):
    """An earlier content of a document."""

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
    """One document of a collection, and which generation of its chunks is found by searches."""

    document_id: Attr[str] = field(factory=lambda: str(uuid4()), read_only=True)
    repository_id: Attr[str] = required(read_only=True)
    collection_id: Attr[str] = required(name="collectionId")
    document_name: Attr[str] = field("", max_length=1_024)
    #: the key of its object; rows of the public system hold a URI of S3
    source: Attr[str] = field("", max_length=2_048)
    #: who sent it
    username: Attr[str] = field("")
    ingestion_type: Attr[IngestionType] = field(IngestionType.MANUAL)
    #: milliseconds since 1970
    upload_date: Attr[int] = field(0, ge=0)
    #: how many chunks the current generation has
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
    #: the object store that holds the source, for documents of a pipeline with a bucket of its own
    bucket: Attr[str | None] = field(None)
    #: the chunks that searches may find; None until the first ingestion is complete
    generation: Attr[int | None] = field(None, ge=1)
    #: the highest generation that an ingestion was ever given
    last_generation: Attr[int] = field(0, name="lastGeneration", ge=0)
    #: generations below this one have no chunks left
    first_generation: Attr[int] = field(1, name="firstGeneration", ge=1)
    #: what the current generation was made of: content, strategy, model and metadata. The same again costs nothing
    ingestion_digest: Attr[str | None] = field(None, name="ingestionDigest")
    #: 64 bits, in hexadecimal, of which few differ between texts that are alike
    simhash: Attr[str | None] = field(None)
    title: Attr[str | None] = field(None, max_length=300)
    #: the strategy that was asked for in its ingestion, in place of the collection's
    strategy_override: Attr[dict[str, Any] | None] = field(None, name="strategyOverride")
    #: what its parser left out
    warnings: Attr[list[str]] = field(factory=list)
    #: the address that it was fetched from
    url: Attr[str | None] = field(None, max_length=8_000)
    #: the pipeline that found it, and the entity tag of the object as it was found last
    pipeline_id: Attr[str | None] = field(None, name="pipelineId")
    source_etag: Attr[str | None] = field(None, name="sourceEtag")
    #: counts contents: 1 is the first
    revision: Attr[int] = field(0, ge=0)
    #: earlier contents that are kept, newest first
    revisions: Attr[list[Revision]] = field(factory=list)
    #: the job that ingests or removes it
    job_id: Attr[UUID | None] = field(None, name="jobId")
    version: Attr[Version] = field(0)

    key = Key("{repository_id}#{collection_id}", "{document_id}", legacy=["{repository_id}"])
    #: repositories with one embedding model have default collections with one id
    in_collection = Pattern("CollectionIndex", title="Documents of a collection, newest first", order="desc", within="repository_id")
    in_partition = Pattern(title="Documents of a collection of a repository, by id")
    with_id = Pattern("DocumentIndex", title="The document with an id", legacy_indexed=True)
    in_repository = Pattern("RepositoryDocumentIndex", title="Documents of a repository, newest first", order="desc")


def repository_of(item: Item) -> Ref[Repository] | None:
    """The repository that says to which collection an older document belongs; None for one that says so itself."""
    return None if "collectionId" in item or "collection_id" in item else Repository.key(repository_id=_repository_id(item))


def _repository_id(item: Item) -> str:
    return str(item["repository_id"]["S"] if "repository_id" in item else item["pk"]["S"].partition("#")[0])


@upcaster(Document, to=2, asks=repository_of)
def name_collection(item: Item, repository: Repository | None) -> Item:
    """Rows of the public system: it writes `collection_id`, or no collection at all, and ingests before it writes."""
    added = {"status": {"S": DocumentStatus.COMPLETED.value}, "repository_id": {"S": _repository_id(item)}}
    if "collectionId" not in item:
        added["collectionId"] = item.get("collection_id") or _default_collection(item, repository)
    return {**added, **item}


def _default_collection(item: Item, repository: Repository | None) -> Value:
    if repository is None:
        raise LookupError(f"the repository {_repository_id(item)!r} is gone, which has the embedding model of the document")
    return {"S": repository.config.embedding_model_id}


class Chunk(Entity, table=chunks_table, case="camel"):
    """A passage of a document, with its place in the document's text and its vector."""

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
    #: [page, start] of the further pages that the chunk reaches into, as characters of the document's extracted text
    page_starts: Attr[list[list[int]] | None] = field(None)
    #: [page, left, top, right, bottom] of each line, in points from the page's top left corner
    boxes: Attr[list[list[float]] | None] = field(None, max_length=500)
    heading: Attr[str | None] = field(None)
    content_hash: Attr[str]
    #: of repository, collection and document together: what filters see
    metadata: Attr[dict[str, Any]] = field(factory=dict)
    #: float16 or float32, little-endian
    vector: Attr[bytes | None] = field(None)
    embedding_model: Attr[str]
    #: the vector by the model of a shadow index; it takes the place of the other when that index does
    shadow_vector: Attr[bytes | None] = field(None)
    shadow_model: Attr[str | None] = field(None)

    key = Key("{document_id}#{generation}", "{ordinal:06d}")
    collection_key = Key("{repository_id}#{collection_id}", "{document_id}", index="CollectionChunkIndex")
    of_document = Pattern(title="The chunks of one generation of a document, in order")
    in_collection = Pattern("CollectionChunkIndex", title="The chunks of a collection, all generations")


class Fingerprint(Entity, table=ingestion_table, case="camel"):
    """A part of a document's simhash. Documents that are alike have at least one part in common."""

    repository_id: Attr[str]
    collection_id: Attr[str]
    #: which part, and its bits
    band: Attr[str]
    document_id: Attr[str]
    #: the whole simhash
    simhash: Attr[str]

    key = Key("FINGERPRINT#{repository_id}#{collection_id}#{band}", "{document_id}")
    in_band = Pattern(by=["repository_id", "collection_id", "band"], title="Documents of a collection that share a part of their simhash")


class PipelineState(Entity, table=ingestion_table, case="camel"):
    """How far a pipeline is."""

    pipeline_id: Attr[str]
    repository_id: Attr[str]
    #: the key behind which the run that was interrupted goes on
    cursor: Attr[str | None] = field(None)
    #: when the last complete look began
    looked_at: Attr[datetime | None] = field(None)
    last_job_id: Attr[UUID | None] = field(None)
    found: Attr[int] = field(0, ge=0)
    ingested: Attr[int] = field(0, ge=0)
    removed: Attr[int] = field(0, ge=0)
    error_message: Attr[str | None] = field(None, max_length=4_000)
    version: Attr[Version] = field(0)

    key = Key("PIPELINE#{pipeline_id}", "STATE")
