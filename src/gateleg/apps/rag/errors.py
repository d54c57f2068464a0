"""The errors of document collections, each with a code, an HTTP status and a suggested fix."""

from typing import Any, Self

from gateleg.errors import GatelegError


class RagError(GatelegError):
    """The base of all errors of document collections."""

    status = 422


class UnknownRepository(RagError):
    """The repository does not exist, or the caller may not read it."""

    status = 404
    fix = "List the repositories that you can read with GET /repository."


class UnknownCollection(RagError):
    """The collection does not exist in its repository, or the caller may not read it."""

    status = 404
    fix = "List the collections that you can read with GET /repository/{repositoryId}/collections."


class UnknownDocument(RagError):
    """The document does not exist in its repository, or the caller may not read it."""

    status = 404
    fix = "List the documents that you can read with GET /repository/{repositoryId}/document."


class RagAccessDenied(RagError):
    """The caller can read the item but may not take this action on it."""

    status = 403
    fix = "Ask the creator, a RAG administrator of the repository, or an administrator of the host."


class RepositoryExists(RagError):
    """The repository id is taken."""

    status = 409
    fix = "Choose another repositoryId."


class NameTaken(RagError):
    """Another collection of the repository has this name. Names ignore case."""

    status = 409
    fix = "Choose another name. Deleted collections keep their names until they are purged."


class NotActive(RagError):
    """The status of the collection, document or repository does not allow the request."""

    status = 409
    fix = "Unarchive or restore the collection first, or wait for its deletion to end."


class StaleVersion(RagError):
    """The change was based on an older version."""

    status = 412
    fix = "Read it again, and send the change with the new ETag in If-Match."


class ImmutableField(RagError):
    """The field is fixed when its item is created and cannot be changed."""

    status = 422
    fix = "Leave the field out, or create a new collection and ingest its documents there."


class BadValue(RagError):
    """The field does not accept this value."""

    status = 422


class BadGroups(RagError):
    """The collection names groups that its repository does not have."""

    status = 422
    fix = "Name groups of the repository only, or leave allowedGroups out to inherit them."


class DefaultCollection(RagError):
    """The default collection of a repository does not support this action."""

    status = 409
    fix = "Delete it with hardDelete=true to purge its documents, or delete its repository."


class BadChunking(RagError):
    """The chunking strategy is invalid. `field` names the invalid field."""

    status = 422
    fix = "Give type, chunkSize (100 to 10000), chunkOverlap (at most half of chunkSize) and, for RECURSIVE, separators."

    def __init__(self, message: str, *, field: str, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.field = field
        self.details = {"field": field}


class DocumentRefused(RagError):
    """The file cannot be ingested."""

    status = 422


class UnreadableDocument(DocumentRefused):
    """The file is damaged: its content does not match its format."""

    fix = "Open the file in the program that created it, save it again, and upload the new file."


class EncryptedDocument(DocumentRefused):
    """The file is protected by a password."""

    fix = "Save the file without a password, and upload the new file."


class EmptyDocument(DocumentRefused):
    """The file contains no text."""

    fix = "Upload a file with text. Scanned pages are read by OCR if their text is printed and large enough."


class UnsupportedDocument(DocumentRefused):
    """The format of the file is not supported."""

    status = 415
    fix = "Upload PDF, DOCX, PPTX, XLSX, HTML, Markdown, e-mail, RTF, CSV, JSON, XML, plain text, source code or a picture of a page."


class DocumentTooLarge(DocumentRefused):
    """Parsing the file exceeds the limit of time, memory, pages or characters."""

    status = 413
    fix = "Split the file. The operator of the host can raise parse_seconds, parse_memory, parse_pages and parse_characters."


class PageNotDrawn(RagError):
    """The page of the document cannot be rendered as an image."""

    status = 404
    fix = "Read the text of its passages, or download the document. Only pages of PDF files and images can be rendered."


class BadFilter(RagError):
    """The metadata filter is invalid."""

    status = 422
    fix = 'Write {"field": value} or {"field": {"gte": value}}; operators: eq ne in nin gt gte lt lte contains exists, and or not.'


class BadSearch(RagError):
    """The search request is invalid."""

    status = 422


class BadVector(RagError):
    """The vector does not match the other vectors of its collection."""

    status = 422
    fix = "Embed the document with the embedding model of its collection, or re-embed the collection."


class IndexDamaged(RagError):
    """The file of the search index cannot be read."""

    status = 503
    fix = "Try again: the next search rebuilds the index from the chunks table. If the error comes back, check the disk."


class IndexUnavailable(RagError):
    """The object store of the search index did not respond."""

    status = 503
    fix = "Try again. If it persists, check that the object store is reachable and that the host's credentials can read and write it."


class SourceMissing(RagError):
    """The content of the document is missing."""

    status = 404
    fix = "Upload the file first, then ingest it by the key that the upload returned."


class SourceChanged(RagError):
    """The file of a document is not the one that was announced, or that was ingested and cited."""

    status = 409
    fix = "Upload the file again, or restore it from a backup."


class OverrideRefused(RagError):
    """The collection does not allow another chunking strategy for a single ingestion."""

    status = 409
    fix = "Leave chunkingStrategy out, or set allowChunkingOverride on the collection."


class PipelineRefused(RagError):
    """The pipeline's source does not exist, or the pipeline may not read it."""

    status = 409


class FolderRefused(PipelineRefused):
    """The pipeline reads a folder that the operator of the host has not allowed."""

    status = 400
    fix = "Ask the operator of the host to add the folder to pipeline_folders."


class UnknownPipeline(RagError):
    """The pipeline does not exist."""

    status = 404
    fix = "Read the repository or the collection: its field pipelines lists them."


class IndexRebuilding(RagError):
    """The search index was lost and is being rebuilt from the chunks table."""

    status = 503
    fix = "Try again in a minute; nothing is lost."


class IndexReplaced(RagError):
    """Another search index, with the vectors of another model, has replaced this one."""

    status = 503
    fix = "Search again; the new index is ready."


class Reembedding(RagError):
    """Another job is already re-embedding the collection."""

    status = 409
    fix = "Wait for that job, or cancel it, and try again."


class UnknownGoldenSet(RagError):
    """The collection has no such golden set."""

    status = 404
    fix = "List the golden sets of the collection."


class RefusedByHost(RagError):
    """The host has refused a request of `RagClient`."""

    fix = "See the host's code and message."
    #: the host's error code, such as `unknown-collection`
    host_code = ""

    @classmethod
    def of(cls, status: int, body: Any) -> Self:
        """The error for an error response."""
        found = body.get("error", {}) if isinstance(body, dict) else {}
        error = cls(str(found.get("message") or f"The host responded with status {status}."), fix=(found.get("details") or {}).get("fix"))
        error.status, error.host_code = status, str(found.get("code", ""))
        return error


class JobFailed(RagError):
    """A job that `RagClient` waited for failed, was cancelled or did not end in time."""

    code = "rag-job-failed"
