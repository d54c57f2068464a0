"""The job types of ingestion: their names, what they are asked for and what they answer."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gateleg.apps.rag.tables import IngestionType

INGEST, REINGEST, REEMBED = "rag.ingest", "rag.reingest", "rag.reembed"
#: The queue of ingestion: it has a limit of its own, so that small jobs need not wait for large documents.
INGESTION_QUEUE = "rag-ingestion"


class SourceConfig(BaseModel):
    """Where the content of a document is."""

    model_config = ConfigDict(extra="forbid")

    #: an object, or an address that is fetched into one
    kind: Literal["object", "url", "folder"] = "object"
    #: the key of the object; the path below the pipeline's folder
    key: str = ""
    #: the object store of the settings that has it; None for the host's own
    bucket: str | None = None
    url: str | None = None
    #: a folder of this machine
    folder: str | None = None
    etag: str | None = None


class DocumentMetadata(BaseModel):
    """Tags and custom fields that somebody gives to a document."""

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
    #: in place of the collection's strategy, where it allows that
    strategy: dict[str, Any] | None = None
    #: None keeps those that the document has
    metadata: DocumentMetadata | None = None
    ingestion_type: IngestionType = IngestionType.MANUAL
    pipeline_id: str | None = None
    username: str = ""
    #: also when nothing has changed, and with new vectors for all chunks
    force: bool = False


class IngestResult(BaseModel):
    """What became of a document."""

    document_id: str
    outcome: Literal["ingested", "unchanged", "superseded"]
    chunks: int = 0
    pages: int | None = None
    #: chunks whose vectors were taken from the generation before
    reused: int = 0
    #: documents of the collection with the same content, and with almost the same text
    duplicates: list[str] = Field(default_factory=list)
    similar: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)


class ReingestConfig(BaseModel):
    """All documents of a collection to be made anew: with its present strategy, model and metadata."""

    model_config = ConfigDict(extra="forbid")

    repository_id: str
    collection_id: str
    username: str = ""
    #: also documents that are up to date
    force: bool = False


class ReingestResult(BaseModel):
    """What became of a collection."""

    documents: int
    failed: list[str] = Field(default_factory=list)


class ReembedConfig(BaseModel):
    """A collection whose chunks are to be embedded by another model."""

    model_config = ConfigDict(extra="forbid")

    repository_id: str
    collection_id: str
    model: str
    username: str = ""


class ReembedResult(BaseModel):
    """What became of a collection's vectors."""

    outcome: Literal["reembedded", "unchanged"]
    documents: int = 0
    chunks: int = 0
    #: chunks that were embedded; the others had a vector by the model, from an attempt before
    embedded: int = 0
