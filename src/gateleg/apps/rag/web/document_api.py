"""The routes of `/api/rag` for documents and their chunks, and for signed uploads and downloads."""

from typing import Annotated
from uuid import UUID, uuid4

from fastapi import APIRouter, Body, Query, Response
from pydantic import Field

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.api import IfMatch, PageSize, Token, caller_of, clamp_page_size, expected_version, resources_of, set_etag
from gateleg.apps.rag.collections import DEFAULT_ALIAS, open_collection
from gateleg.apps.rag.deleting.submission import MOST_DOCUMENTS, DocumentOutcome, start_document_deletion
from gateleg.apps.rag.documents import (
    DocumentChanges,
    DocumentFilter,
    OpenedDocument,
    download_url,
    list_documents,
    open_document,
    update_document,
)
from gateleg.apps.rag.drafts import Draft
from gateleg.apps.rag.ingesting.job_failures import reconcile_with_job
from gateleg.apps.rag.ingesting.reingestion import submit_again
from gateleg.apps.rag.object_keys import source_key
from gateleg.apps.rag.reading_log import note_read
from gateleg.apps.rag.rules import check_accepts_documents
from gateleg.apps.rag.tables import Chunk, CollectionStatus, Document, DocumentStatus
from gateleg.apps.rag.web.fields import CollectionFields, PlaceFields
from gateleg.apps.rag.web.views import DocumentsView, DocumentView, View
from gateleg.host.errors import BadRequest
from gateleg.objects import plain_name
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter()
#: Paths of the public system for one document. They are included last, because they match any segment.
older = APIRouter(include_in_schema=False)
_MANY = "/repository/{repository_id}/document"
_ONE = "/repository/{repository_id}/document/{document_id}"
CollectionId = Annotated[
    str | None, Query(alias="collectionId", max_length=200, description="The id or name of a collection; by default, all of them.")
]


ContentHash = Annotated[
    str | None,
    Query(
        alias="contentHash",
        pattern="^[0-9a-f]{64}$",
        description="The version that a hit or citation names; by default, the current one.",
    ),
]


class DocumentDeletionRequest(Draft):
    """The documents to delete."""

    document_ids: list[str] = Field(min_length=1, max_length=MOST_DOCUMENTS)


class DocumentDeletionView(View):
    """The outcome of a deletion for one document."""

    document_id: str
    job_id: UUID | None = None
    status: str
    s3_path: str = ""
    error: str | None = Field(default=None, description="The error code, if the document was refused.")
    message: str | None = None


class DeletionsView(View):
    """The outcome of a deletion for each document."""

    jobs: list[DocumentDeletionView]


class NewUpload(Draft):
    """A file to be uploaded directly to the object store."""

    name: str = Field(min_length=1, max_length=1_024)
    collection_id: str | None = Field(default=None, max_length=200)


#: Clients of the public system send the name as plain text, not as JSON.
Wanted = Annotated[NewUpload | Annotated[str, Field(min_length=1, max_length=1_024)], Body()]


class SignedUpload(View):
    """How to upload the file: with `fields`, as a form whose last field is `file`; without, as the body of the request."""

    url: str
    method: str
    fields: dict[str, str]


class UploadView(View):
    """A signed upload, and the key to ingest afterwards (`POST .../bulk`)."""

    response: SignedUpload
    key: str
    document_id: str
    collection_id: str


class ChunkView(View):
    """A chunk of a document, with the version of the document that it is from."""

    document_id: str
    generation: int
    revision: int
    content_hash: str | None = Field(description="SHA-256 of the file that the chunk is from.")
    ordinal: int
    text: str
    start: int
    end: int
    page: int | None
    boxes: list[list[float]] | None
    heading: str | None
    metadata: dict[str, object]
    embedding_model: str

    @classmethod
    def of(cls, chunk: Chunk, document: Document) -> "ChunkView":
        """The view of a chunk."""
        own = {name: getattr(chunk, name) for name in cls.model_fields if name not in ("revision", "content_hash")}
        return cls(revision=document.revision, content_hash=document.content_hash, **own)


@router.get(_MANY)
async def list_all(
    call: Using,
    repository_id: str,
    collection_id: CollectionId = None,
    page_size: PageSize = 10,
    text: Annotated[str | None, Query(alias="filter", max_length=200, description="Substring of the name, ignoring case.")] = None,
    status: DocumentStatus | None = None,
    label: Annotated[str | None, Query(alias="tag", max_length=50)] = None,
    order: Annotated[str, Query(alias="sortOrder", pattern="^(?i:asc|desc)$", description="Order by upload date.")] = "desc",
    token: Token = None,
) -> DocumentsView:
    """List the documents of a collection, or of all readable collections of the repository."""
    wanted = DocumentFilter(text, status, label, descending=order.lower() == "desc")
    size = clamp_page_size(page_size)
    found = await list_documents(
        call.host.store, caller_of(call), repository_id, wanted, collection_id=collection_id, size=size, token=token
    )
    return DocumentsView(
        documents=[DocumentView.of(row) for row in found.page.rows],
        last_evaluated=found.page.next,
        total_documents=found.total,
        has_next_page=found.page.next is not None,
        has_previous_page=token is not None,
    )


@router.delete(_MANY, status_code=202)
async def delete_many(call: Using, repository_id: str, doomed: DocumentDeletionRequest) -> DeletionsView:
    """Start a job that deletes up to 100 documents. Each has its own outcome. Searches stop finding them at once."""
    started, outcomes = await start_document_deletion(call.host.queue, caller_of(call), repository_id, doomed.document_ids)
    refused = [one.error for one in outcomes if one.error is not None]
    if started is None:
        raise refused[0]
    await call.note("rag.delete-documents", repository_id, job=str(started.job.job_id), count=len(outcomes) - len(refused))
    return DeletionsView(jobs=[_outcome(one, started.job.job_id) for one in outcomes])


def _outcome(one: DocumentOutcome, job_id: UUID) -> DocumentDeletionView:
    if one.error is None:
        return DocumentDeletionView(document_id=one.document_id, job_id=job_id, status="DELETE_PENDING", s3_path=one.source)
    return DocumentDeletionView(document_id=one.document_id, status="REFUSED", error=one.error.code, message=one.error.message)


async def _opened(call: ApiCall, repository_id: str, document_id: str) -> OpenedDocument:
    return await open_document(call.host.store, caller_of(call), repository_id, document_id)


@older.get("/repository/{repository_id}/{document_id}")
@router.get(_ONE)
async def get_one(call: Using, repository_id: str, document_id: str, response: Response) -> DocumentView:
    """Read a document."""
    found = (await _opened(call, repository_id, document_id)).document
    found = await reconcile_with_job(call.host.store, call.host.queue, found)
    set_etag(response, found.version)
    return DocumentView.of(found)


@router.patch(_ONE)
async def update(
    call: Using, repository_id: str, document_id: str, changes: DocumentChanges, response: Response, if_match: IfMatch = None
) -> DocumentView:
    """Change the name or the metadata of a document; null clears the metadata. A job then updates its chunks."""
    caller = caller_of(call)
    opened = await update_document(call.host.store, caller, repository_id, document_id, changes, expected_version(if_match))
    found = opened.document
    await call.note("rag.update-document", f"{repository_id}/{document_id}", fields=sorted(changes.model_fields_set))
    if found.generation is not None and found.source and opened.collection.status is CollectionStatus.ACTIVE:
        # Searches filter by and show the metadata of the chunks. Their vectors are reused, so this is cheap.
        found = (await submit_again(resources_of(call), found, caller=caller)).document
    set_etag(response, found.version)
    return DocumentView.of(found)


@router.delete(_ONE, status_code=202)
async def delete_one(call: Using, repository_id: str, document_id: str) -> DocumentDeletionView:
    """Start a job that deletes a document. Searches stop finding it at once."""
    return (await delete_many(call, repository_id, DocumentDeletionRequest(document_ids=[document_id]))).jobs[0]


@older.get("/repository/{repository_id}/{document_id}/download")
@router.get(_ONE + "/download")
async def download(call: Using, repository_id: str, document_id: str, content_hash: ContentHash = None) -> str:
    """Return a link to the file that was ingested, which expires after 300 seconds. A file that was replaced since is refused (409)."""
    return await download_url(resources_of(call), caller_of(call), repository_id, document_id, content_hash)


@router.get(_ONE + "/chunks")
async def list_chunks(call: Using, repository_id: str, document_id: str, limit: Limit = 50, cursor: Cursor = None) -> Listing[ChunkView]:
    """List the current chunks of a document, in order; empty until it is ingested."""
    document = (await _opened(call, repository_id, document_id)).document
    if document.generation is None:
        return Listing(items=[])
    chunks = Chunk.of_document(document_id=document.document_id, generation=document.generation)
    page = await call.host.store.page(chunks, limit=limit, cursor=cursor)
    await note_read(resources_of(call), call.principal, "rag.read-chunks", document, chunks=len(page.items))
    return Listing(items=[ChunkView.of(chunk, document) for chunk in page], next=page.next)


@router.post("/repository/presigned-url", status_code=201, include_in_schema=False)
async def sign_upload_anywhere(
    call: Using,
    wanted: Wanted,
    query: Annotated[PlaceFields, Query()],
) -> UploadView:
    """The legacy path without a repository, which must be named in the query: keys outside of repositories are not signed."""
    if query.repository_id is None:
        raise BadRequest("An upload needs the id of a repository.", fix="Send ?repositoryId=..., or POST /repository/{id}/presigned-url.")
    return await sign_upload(call, query.repository_id, wanted, query)


@router.post("/repository/{repository_id}/presigned-url", status_code=201)
async def sign_upload(call: Using, repository_id: str, wanted: Wanted, query: Annotated[CollectionFields, Query()]) -> UploadView:
    """Sign the upload of one new file into a collection to which the caller may add documents. The link is valid for an hour.

    The body is JSON, or the file name as plain text.
    """
    resources = resources_of(call)
    if isinstance(wanted, str):
        wanted = NewUpload(name=wanted)
    where = query.agreeing(wanted.collection_id) or DEFAULT_ALIAS
    opened = await open_collection(call.host.store, caller_of(call), repository_id, where, Action.INGEST)
    check_accepts_documents(opened.repository, opened.collection)
    name = plain_name(wanted.name)
    if not name:
        raise BadRequest(f"{wanted.name!r} is not a valid file name.")
    document_id = str(uuid4())
    key = source_key(repository_id, opened.collection.collection_id, document_id, name)
    own = resources.settings
    most = min(own.upload_bytes, call.host.settings.upload_limit)
    form = await resources.objects.presign_upload(key, max_bytes=most, expires=own.upload_seconds, once=True)
    signed = SignedUpload(url=form.url, method=form.method, fields=dict(form.fields))
    return UploadView(response=signed, key=key, document_id=document_id, collection_id=opened.collection.collection_id)
