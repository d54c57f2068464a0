"""The settings of document collections: `[rag]` in `gateleg.toml`, and `GATELEG_RAG__FIELD`."""

from pydantic import BaseModel, ConfigDict, Field


class RagSettings(BaseModel):
    """Settings of the host's operator for document collections."""

    model_config = ConfigDict(extra="forbid")

    admin_group: str = Field(
        default="", description="the group of RAG administrators, who manage the collections of repositories they can read; none when empty"
    )
    embedding_model: str = Field(
        default="", description="the embedding model for repositories that name none; when empty, the host's default"
    )
    upload_bytes: int = Field(
        default=52_428_800, ge=1_000, description="maximum size of a document in bytes; the host's upload_limit also applies"
    )
    upload_files: int = Field(default=20, ge=1, le=1_000, description="maximum number of files in one upload request")
    upload_seconds: int = Field(default=3_600, ge=10, le=604_800, description="seconds for which a presigned upload is valid")
    download_seconds: int = Field(default=300, ge=10, le=604_800, description="seconds for which a presigned download is valid")
    audit_reads: bool = Field(
        default=True, description="whether the audit log has searches, questions, downloads, and reads of passages and pages"
    )
    audit_queries: bool = Field(default=False, description="whether these entries have the text of searches and questions")
    restore_days: int = Field(default=90, ge=1, le=3_650, description="days for which a deleted collection can be restored")
    index: str = Field(
        default="",
        description="where search indexes are kept: in the data folder when empty, or s3://bucket/prefix for hosts on several machines "
        "(LanceDB; install gateleg[rag-s3])",
    )
    index_endpoint: str = Field(default="", description="the S3 endpoint for index, if it is not Amazon's")
    index_region: str = Field(default="", description="the region of the bucket in index")
    rerank_model: str = Field(
        default="", description="the model that reranks the best hits of a search, such as cohere:rerank-v3.5; none when empty"
    )
    answer_model: str = Field(
        default="", description="the chat model that writes answers; when empty, answers are sentences from the documents"
    )
    most_results: int = Field(default=100, ge=1, le=1_000, description="maximum number of chunks that one search returns")
    parse_seconds: float = Field(default=120.0, gt=0, le=3_600, description="maximum seconds for parsing a document")
    parse_memory: int = Field(default=1_500_000_000, ge=200_000_000, description="maximum bytes of memory for parsing a document")
    parse_pages: int = Field(default=5_000, ge=1, description="maximum number of pages, slides or sheets in a document")
    parse_characters: int = Field(default=20_000_000, ge=1_000, description="maximum number of characters in a document")
    ocr: bool = Field(default=True, description="whether scanned pages and images are read by OCR")
    ingestions_per_worker: int | None = Field(
        default=None, ge=1, le=256, description="documents that a worker ingests concurrently; by default, its number of cores"
    )
    pipeline_seconds: int = Field(default=60, ge=5, le=86_400, description="seconds between two checks of pipelines with trigger: event")
    pipeline_folders: tuple[str, ...] = Field(
        default=(), description="folders of this machine that pipelines may read, including subfolders"
    )
