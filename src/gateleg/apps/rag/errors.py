"""What document collections refuse: one class for each kind of failure, with a code, an HTTP status, what happened and what to do."""

from typing import Any, Self

from gateleg.errors import GatelegError


class RagError(GatelegError):
    """Something that document collections refuse, or could not do."""

    code = "rag"
    status = 422


class UnknownRepository(RagError):
    """A repository that does not exist, or that the caller may not know of."""

    code = "unknown-repository"
    status = 404
    fix = "List the repositories that you can read with GET /repository."


class UnknownCollection(RagError):
    """A collection that does not exist in its repository, or that the caller may not know of."""

    code = "unknown-collection"
    status = 404
    fix = "List the collections that you can read with GET /repository/{repositoryId}/collections."


class UnknownDocument(RagError):
    """A document that does not exist in its repository, or that the caller may not know of."""

    code = "unknown-document"
    status = 404
    fix = "List the documents that you can read with GET /repository/{repositoryId}/document."


class AccessDenied(RagError):
    """Something that the caller may read, but not do."""

    code = "rag-access-denied"
    status = 403
    fix = "Ask the creator, a RAG administrator of the repository, or an administrator of the host."


class RepositoryExists(RagError):
    """A repository id that is taken."""

    code = "repository-exists"
    status = 409
    fix = "Choose another repositoryId."


class NameTaken(RagError):
    """A collection name that another collection of the repository has, in whatever letter case."""

    code = "name-taken"
    status = 409
    fix = "Choose another name. Collections that were deleted keep their names until they are purged."


class NotActive(RagError):
    """A collection or repository in a status that does not allow what was asked."""

    code = "not-active"
    status = 409
    fix = "Unarchive or restore the collection first, or wait for its deletion to end."


class StaleVersion(RagError):
    """A change that was based on an older version."""

    code = "stale-version"
    status = 412
    fix = "Read it again, and send the change with the new ETag in If-Match."


class ImmutableField(RagError):
    """A change of a field that is fixed when its item is created."""

    code = "immutable-field"
    status = 422
    fix = "Leave the field out, or create a new collection and ingest its documents there."


class BadField(RagError):
    """A value that a field does not accept."""

    code = "bad-value"
    status = 422


class BadGroups(RagError):
    """Groups of a collection that its repository does not have."""

    code = "bad-groups"
    status = 422
    fix = "Name groups of the repository only, or leave allowedGroups out to inherit them."


class DefaultCollection(RagError):
    """Something that cannot be done with the default collection of a repository."""

    code = "default-collection"
    status = 409
    fix = "Delete it with hardDelete=true to purge its documents, or delete its repository."


class BadChunking(RagError):
    """A chunking strategy that cannot be followed. `field` names what is wrong with it."""

    code = "bad-chunking"
    status = 422
    fix = "Give type, chunkSize (100 to 10000), chunkOverlap (at most half of chunkSize) and, for RECURSIVE, separators."

    def __init__(self, message: str, *, field: str, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.field = field
        self.details = {"field": field}


class DocumentRefused(RagError):
    """A file that cannot be ingested."""

    code = "document-refused"
    status = 422


class UnreadableDocument(DocumentRefused):
    """A file that is broken: its content is not what its format says."""

    code = "unreadable-document"
    fix = "Open the file in the program that made it, save it again and send that."


class EncryptedDocument(DocumentRefused):
    """A file that can only be read with a password."""

    code = "encrypted-document"
    fix = "Save the file without a password and send that."


class EmptyDocument(DocumentRefused):
    """A file without any text."""

    code = "empty-document"
    fix = "Send a file that has text. Pages that are pictures are read if their text is printed and large enough."


class UnsupportedDocument(DocumentRefused):
    """A file of a format that is not read."""

    code = "unsupported-document"
    status = 415
    fix = "Send PDF, DOCX, PPTX, XLSX, HTML, Markdown, e-mail, RTF, CSV, JSON, XML, plain text, source code or a picture of a page."


class DocumentTooLarge(DocumentRefused):
    """A file that takes more time, memory or room to read than is allowed."""

    code = "document-too-large"
    status = 413
    fix = "Split the file. The operator of the host can raise parse_seconds, parse_memory, parse_pages and parse_characters."


class PageNotDrawn(RagError):
    """A page of a document that cannot be shown as a picture."""

    code = "page-not-drawn"
    status = 404
    fix = "Read the text of its passages, or download the document. Pages of PDF files and of pictures can be drawn."


class BadFilter(RagError):
    """A metadata filter that cannot be understood."""

    code = "bad-filter"
    status = 422
    fix = 'Write {"field": value} or {"field": {"gte": value}}; operators: eq ne in nin gt gte lt lte contains exists, and or not.'


class BadSearch(RagError):
    """A search that cannot be carried out as it was asked."""

    code = "bad-search"
    status = 422


class BadVector(RagError):
    """A vector that does not fit the others of its collection."""

    code = "bad-vector"
    status = 422
    fix = "Embed the document with the embedding model of its collection, or re-embed the collection."


class IndexDamaged(RagError):
    """A search index whose file cannot be read."""

    code = "index-damaged"
    status = 503
    fix = "The index is rebuilt from the chunks table when the collection is searched; try again. Check the disk if it happens again."


class IndexUnavailable(RagError):
    """A search index in an object store that did not answer."""

    code = "index-unavailable"
    status = 503
    fix = "Try again. If it stays, see that the object store answers and that the credentials of the host may read and write it."


class SourceMissing(RagError):
    """The content of a document that is not where it should be."""

    code = "source-missing"
    status = 404
    fix = "Upload the file first, and ingest it by the key that the upload has given."


class OverrideRefused(RagError):
    """A chunking strategy for one ingestion, in a collection that does not allow it."""

    code = "override-refused"
    status = 409
    fix = "Leave chunkingStrategy out, or set allowChunkingOverride of the collection."


class PipelineRefused(RagError):
    """A pipeline that looks where it may not, or where nothing is."""

    code = "pipeline-refused"
    status = 409


class FolderRefused(PipelineRefused):
    """A pipeline names a folder of the host that its operator has not allowed."""

    code = "folder-refused"
    status = 400
    fix = "The operator of the host allows folders with pipeline_folders."


class UnknownPipeline(RagError):
    """A pipeline that does not exist."""

    code = "unknown-pipeline"
    status = 404
    fix = "The pipelines are in the collection or the repository: GET /repository/{repositoryId}."


class IndexRebuilding(RagError):
    """A search index that was lost and is being filled again from the chunks table."""

    code = "index-rebuilding"
    status = 503
    fix = "Try again in a minute; nothing is lost."


class IndexReplaced(RagError):
    """A search index whose place another one has taken, with the vectors of another model."""

    code = "index-replaced"
    status = 503
    fix = "Search again; the new index is ready."


class Reembedding(RagError):
    """A collection that another job is embedding anew."""

    code = "reembedding"
    status = 409
    fix = "Wait for that job, or cancel it, and try again."


class UnknownGoldenSet(RagError):
    """A golden set that does not exist for its collection."""

    code = "unknown-golden-set"
    status = 404
    fix = "List the golden sets of the collection."


class RefusedByHost(RagError):
    """What a host has answered a client with, in place of what was asked for."""

    code = "refused-by-host"
    fix = "See the code and the message of the host."
    #: the code that the host gave, such as `unknown-collection`
    host_code = ""

    @classmethod
    def of(cls, status: int, body: Any) -> Self:
        """The error of an answer."""
        found = body.get("error", {}) if isinstance(body, dict) else {}
        error = cls(str(found.get("message") or f"The host answers with status {status}."), fix=(found.get("details") or {}).get("fix"))
        error.status, error.host_code = status, str(found.get("code", ""))
        return error


class JobFailed(RagError):
    """A job that a client waited for was not completed."""

    code = "rag-job-failed"
