"""The job types of ingestion, with their configs and results."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gateleg.apps.rag.tables import IngestionType

INGEST, REINGEST, REEMBED = "rag.ingest", "rag.reingest", "rag.reembed"
#: The queue of ingestions. It has its own concurrency limit, so that small jobs need not wait for large documents.
INGESTION_QUEUE = "rag-ingestion"


class SourceConfig(BaseModel):
    """The location of a document's content."""

    model_config = ConfigDict(extra="forbid")

    #: an object, or a URL or a file whose content is copied to one
    kind: Literal["object", "url", "folder"] = "object"
    #: the key of the object; the path below the pipeline's folder
    key: str = ""
    #: the name of an object store in the settings; None for the host's own
    bucket: str | None = None
    url: str | None = None
    #: a folder on this machine
    folder: str | None = None
    etag: str | None = None


class DocumentMetadata(BaseModel):
    """Tags and custom fields sent with a document."""

    model_config = ConfigDict(extra="forbid")

    tags: list[str] = Field(default_factory=list)
    custom_fields: dict[str, Any] = Field(default_factory=dict)


class IngestConfig(BaseModel):
    """One document to ingest."""

    model_config = ConfigDict(extra="forbid")

    repository_id: str
    collection_id: str
    document_id: str
    name: str
    source: SourceConfig
    #: overrides the collection's strategy, if the collection allows it
    strategy: dict[str, Any] | None = None
    #: None keeps the document's metadata
    metadata: DocumentMetadata | None = None
    ingestion_type: IngestionType = IngestionType.MANUAL
    pipeline_id: str | None = None
    username: str = ""
    #: ingest even if nothing has changed, with new vectors for all chunks
    force: bool = False


class IngestResult(BaseModel):
    """The result of an ingestion."""

    document_id: str
    outcome: Literal["ingested", "unchanged", "superseded"]
    chunks: int = 0
    pages: int | None = None
    #: chunks whose vectors were reused from the previous generation
    reused: int = 0
    #: documents of the collection with the same content, and with almost the same text
    duplicates: list[str] = Field(default_factory=list)
    similar: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    #: why the chunks have no vectors; None if they have
    keywords_only: str | None = None


class ReingestConfig(BaseModel):
    """A collection whose documents are to be ingested again with its current strategy, model and metadata."""

    model_config = ConfigDict(extra="forbid")

    repository_id: str
    collection_id: str
    username: str = ""
    #: also ingest documents that are up to date
    force: bool = False


class ReingestResult(BaseModel):
    """The result of ingesting a collection again."""

    documents: int
    failed: list[str] = Field(default_factory=list)


class ReembedConfig(BaseModel):
    """A collection whose chunks are to be embedded with another model."""

    model_config = ConfigDict(extra="forbid")

    repository_id: str
    collection_id: str
    model: str
    username: str = ""


class ReembedResult(BaseModel):
    """The result of embedding a collection with another model."""

    outcome: Literal["reembedded", "unchanged"]
    documents: int = 0
    chunks: int = 0
    #: chunks embedded by this attempt; the others already had a vector by the new model
    embedded: int = 0
