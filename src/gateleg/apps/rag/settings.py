"""The settings of document collections: `[rag]` in `gateleg.toml`, and `GATELEG_RAG__FIELD`."""

from pydantic import BaseModel, ConfigDict, Field


class RagSettings(BaseModel):
    """Decisions of the operator of a host about document collections."""

    model_config = ConfigDict(extra="forbid")

    admin_group: str = Field(
        default="", description="the group whose members are RAG administrators of the repositories they can read; none when empty"
    )
    embedding_model: str = Field(default="", description="the embedding model of repositories that name none; the host's own when empty")
    upload_bytes: int = Field(
        default=52_428_800, ge=1_000, description="bytes that a document may have; upload_limit of the host holds as well"
    )
    upload_files: int = Field(default=20, ge=1, le=1_000, description="files that one request may upload")
    upload_seconds: int = Field(default=3_600, ge=10, le=604_800, description="seconds for which a presigned upload is valid")
    download_seconds: int = Field(default=300, ge=10, le=604_800, description="seconds for which a presigned download is valid")
    restore_days: int = Field(
        default=90, ge=1, le=3_650, description="days for which a deleted collection can be restored before it is purged"
    )
    rerank_model: str = Field(
        default="", description="the model that orders the best hits of a search, such as cohere:rerank-v3.5; none when empty"
    )
    answer_model: str = Field(
        default="", description="the chat model that writes answers; when empty, answers are made of sentences of the documents"
    )
    most_results: int = Field(default=100, ge=1, le=1_000, description="chunks that one search may return")
    parse_seconds: float = Field(default=120.0, gt=0, le=3_600, description="seconds that reading a document may take")
    parse_memory: int = Field(default=1_500_000_000, ge=200_000_000, description="bytes of memory that reading a document may take")
    parse_pages: int = Field(default=5_000, ge=1, description="pages, slides or sheets that a document may have")
    parse_characters: int = Field(default=20_000_000, ge=1_000, description="characters of text that a document may have")
    ocr: bool = Field(default=True, description="whether pages that are pictures are read")
    ingestions_per_worker: int | None = Field(
        default=None, ge=1, le=256, description="documents that a worker ingests side by side; as many as it has cores, when left out"
    )
    pipeline_seconds: int = Field(default=60, ge=5, le=86_400, description="seconds between two looks of pipelines that follow events")
    pipeline_folders: tuple[str, ...] = Field(
        default=(), description="folders of this machine that pipelines may read, with all below them"
    )
