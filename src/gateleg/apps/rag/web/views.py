"""Response models of repositories, collections and documents, with the names of the public system."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from gateleg.apps.rag.collections import OpenedCollection
from gateleg.apps.rag.keyset import KeysetPage
from gateleg.apps.rag.rules import is_default
from gateleg.apps.rag.tables import (
    CollectionStatus,
    Document,
    DocumentStatus,
    IngestionType,
    Metadata,
    Pipeline,
    Repository,
    RepositoryStatus,
    Revision,
)


class View(BaseModel):
    """The base of response models, with names in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class MetadataView(View):
    """Tags and custom fields."""

    tags: list[str] = Field(default_factory=list)
    custom_fields: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def of(cls, metadata: Metadata | None) -> "MetadataView":
        """The view of metadata; empty for None."""
        return cls() if metadata is None else cls(tags=metadata.tags, custom_fields=metadata.custom_fields)


class PipelineView(View):
    """A pipeline."""

    pipeline_id: str
    collection_id: str | None
    auto_remove: bool
    s3_bucket: str
    s3_prefix: str
    folder: str | None
    trigger: str
    cron: str | None
    timezone: str | None
    include: list[str]
    exclude: list[str]
    paused: bool
    chunk_size: int | None
    chunk_overlap: int | None
    chunking_strategy: dict[str, Any] | None
    metadata: MetadataView

    @classmethod
    def of(cls, pipeline: Pipeline) -> "PipelineView":
        """The view of a pipeline."""
        own = {name: getattr(pipeline, name) for name in cls.model_fields if name != "metadata"}
        return cls(**own, metadata=MetadataView.of(pipeline.metadata))


class RepositoryView(View):
    """A repository: its config and status."""

    repository_id: str
    repository_name: str | None
    description: str | None
    embedding_model_id: str
    type: str
    allowed_groups: list[str]
    allow_user_collections: bool
    metadata: MetadataView
    pipelines: list[PipelineView]
    created_by: str | None
    created_at: datetime | None
    updated_at: datetime | None
    status: RepositoryStatus
    tenant: str | None = Field(default=None, description="If set, only members of this tenant can see it.")
    version: int

    @classmethod
    def of(cls, repository: Repository) -> "RepositoryView":
        """The view of a repository."""
        config = repository.config
        names = ("repository_id", "repository_name", "description", "embedding_model_id", "type", "allow_user_collections")
        own = {name: getattr(config, name) for name in (*names, "created_by", "created_at", "updated_at")}
        return cls(
            **own,
            allowed_groups=config.allowed_groups or [],
            metadata=MetadataView.of(config.metadata),
            pipelines=[PipelineView.of(one) for one in config.pipelines or ()],
            status=repository.status,
            tenant=repository.tenant,
            version=repository.version,
        )


class CollectionView(View):
    """A collection."""

    collection_id: str
    repository_id: str
    repository_name: str
    name: str | None
    description: str | None
    chunking_strategy: dict[str, Any] | None
    allow_chunking_override: bool
    metadata: MetadataView
    allowed_groups: list[str] | None
    embedding_model: str
    created_by: str
    created_at: datetime
    updated_at: datetime
    status: CollectionStatus
    private: bool
    pipelines: list[PipelineView]
    deleted_at: datetime | None
    default: bool = Field(description="Whether it is the default collection, which contains documents without a collection.")
    delete_job_id: UUID | None
    shadow_model: str | None = Field(description="The model with which a job is re-embedding the collection; null if none.")
    shadow_job_id: UUID | None = Field(description="That job.")
    version: int
    warnings: list[str] = Field(default_factory=list, description="Warnings about a change, and why the embedding model cannot be used.")

    @classmethod
    def of(cls, opened: OpenedCollection, warnings: tuple[str, ...] = ()) -> "CollectionView":
        """The view of a collection."""
        row, repository = opened.collection, opened.repository
        derived = {"repository_name", "metadata", "pipelines", "default", "warnings"}
        own = {name: getattr(row, name) for name in cls.model_fields if name not in derived}
        return cls(
            **own,
            repository_name=repository.config.repository_name or repository.repository_id,
            metadata=MetadataView.of(row.metadata),
            pipelines=[PipelineView.of(one) for one in row.pipelines or ()],
            default=is_default(row, repository),
            warnings=list(warnings),
        )


class PaginationView(View):
    """The position of a page among all pages; null if they are not counted."""

    total_count: int | None = None
    current_page: int | None = None
    total_pages: int | None = None


class CollectionsView(View):
    """A page of collections."""

    collections: list[CollectionView]
    pagination: PaginationView
    last_evaluated_key: str | None = Field(description="The token of the next page; null on the last page.")
    has_next_page: bool
    has_previous_page: bool

    @classmethod
    def of(cls, page: KeysetPage[OpenedCollection], size: int, token: str | None) -> "CollectionsView":
        """The view of a page."""
        pagination = PaginationView()
        if page.total is not None and page.before is not None:
            pagination = PaginationView(total_count=page.total, current_page=page.before // size + 1, total_pages=-(-page.total // size))
        return cls(
            collections=[CollectionView.of(row) for row in page.rows],
            pagination=pagination,
            last_evaluated_key=page.next,
            has_next_page=page.next is not None,
            has_previous_page=token is not None,
        )


class RevisionView(View):
    """A previous content of a document."""

    number: int
    content_hash: str
    size: int
    upload_date: int
    username: str

    @classmethod
    def of(cls, revision: Revision) -> "RevisionView":
        """The view of a revision."""
        return cls(**{name: getattr(revision, name) for name in cls.model_fields})


class DocumentView(BaseModel):
    """A document. The names of the public system are in snake case, later ones in camel case."""

    model_config = ConfigDict(populate_by_name=True)

    document_id: str
    repository_id: str
    collection_id: str
    document_name: str
    source: str
    username: str
    ingestion_type: IngestionType
    upload_date: int = Field(description="Milliseconds since 1970.")
    chunks: int
    chunk_strategy: dict[str, Any] | None
    status: DocumentStatus
    error_message: str | None = Field(serialization_alias="errorMessage")
    content_hash: str | None = Field(serialization_alias="contentHash", description="SHA-256 of the file.")
    size: int | None
    content_type: str | None = Field(serialization_alias="contentType")
    pages: int | None
    language: str | None
    metadata: MetadataView
    generation: int | None = Field(description="Increases whenever its chunks are replaced; null until it can be searched.")
    job_id: UUID | None = Field(serialization_alias="jobId")
    title: str | None
    url: str | None = Field(description="The URL it was fetched from.")
    warnings: list[str] = Field(description="Parts that the parser skipped.")
    keywords_only: str | None = Field(
        serialization_alias="keywordsOnly",
        description="Why its chunks have no vectors, and only keywords find them; null if they have.",
    )
    revision: int = Field(description="The number of the current content, starting at 1.")
    revisions: list[RevisionView] = Field(description="The kept earlier contents, newest first.")
    version: int

    @classmethod
    def of(cls, document: Document) -> "DocumentView":
        """The view of a document."""
        own = {name: getattr(document, name) for name in cls.model_fields if name not in ("metadata", "revisions")}
        return cls(**own, metadata=MetadataView.of(document.metadata), revisions=[RevisionView.of(one) for one in document.revisions])


class DocumentsView(View):
    """A page of documents."""

    documents: list[DocumentView]
    last_evaluated: str | None = Field(description="The token of the next page, to send as `lastEvaluatedKey`; null on the last page.")
    total_documents: int | None
    has_next_page: bool
    has_previous_page: bool
