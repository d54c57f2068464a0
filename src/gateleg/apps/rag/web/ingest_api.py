"""The routes of `/api/rag` that ingest files, uploaded objects, texts, URLs and pre-made chunks."""

import asyncio
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request
from pydantic import Field

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.api import caller_of, resources_of
from gateleg.apps.rag.chunking import legacy_strategy, parse_strategy, preview
from gateleg.apps.rag.collections import DEFAULT_ALIAS, OpenedCollection, open_collection
from gateleg.apps.rag.drafts import Draft, MetadataDraft
from gateleg.apps.rag.host_checks import model_problem
from gateleg.apps.rag.ingesting.job_types import DocumentMetadata
from gateleg.apps.rag.ingesting.originals import store_original
from gateleg.apps.rag.ingesting.premade import PremadeChunk
from gateleg.apps.rag.ingesting.submission import (
    MAX_BATCH_DOCUMENTS,
    MAX_TEXT_CHARACTERS,
    NewDocument,
    SubmittedDocument,
    document_id_of,
    ingest_batch,
)
from gateleg.apps.rag.object_keys import original_key
from gateleg.apps.rag.repositories import get_repository
from gateleg.apps.rag.rules import check_accepts_documents
from gateleg.apps.rag.web.fields import CollectionFields
from gateleg.apps.rag.web.views import View
from gateleg.errors import GatelegError
from gateleg.objects import plain_name
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.bodies import body_limit
from gateleg.web.uploads import ReceivedFile, UploadRules, form_body, receive_form, upload_folder, upload_slot

router = APIRouter()
Once = Annotated[
    str | None,
    Header(alias="Idempotency-Key", max_length=200, description="A repeated request with the same key returns the jobs of the first."),
]


class BulkQuery(CollectionFields):
    """The collection and, as older clients send them, the sizes of chunks."""

    chunk_size: int | None = None
    chunk_overlap: int | None = None


class ModelName(Draft):
    """The name of an embedding model."""

    model_name: str


class Bulk(Draft):
    """The keys of uploaded objects to ingest."""

    keys: list[str] = Field(min_length=1, max_length=MAX_BATCH_DOCUMENTS)
    collection_id: str | None = Field(default=None, max_length=200)
    #: ignored: the collection's model is used, but clients of the public system send it
    embedding_model: ModelName | None = None
    chunking_strategy: dict[str, Any] | None = None
    metadata: MetadataDraft | None = None


class NewContent(Draft):
    """A document: one of `key`, `text`, `url` and `chunks` is its content."""

    key: str | None = Field(default=None, max_length=1_024)
    text: str | None = Field(default=None, max_length=MAX_TEXT_CHARACTERS)
    url: str | None = Field(default=None, max_length=8_000)
    chunks: list[PremadeChunk] | None = Field(default=None, max_length=100_000)
    document_name: str | None = Field(default=None, max_length=1_024)
    document_id: str | None = Field(default=None, max_length=200, description="The document to replace.")
    chunking_strategy: dict[str, Any] | None = None
    metadata: MetadataDraft | None = None
    force: bool = Field(default=False, description="Ingest even if nothing has changed.")


class Batch(Draft):
    """Documents to ingest. A document that is refused does not stop the others."""

    documents: list[NewContent] = Field(min_length=1, max_length=MAX_BATCH_DOCUMENTS)
    collection_id: str | None = Field(default=None, max_length=200)


class IngestView(View):
    """The outcome for one document."""

    job_id: UUID | None = None
    document_id: str | None = None
    status: str
    s3_path: str = ""
    error: str | None = Field(default=None, description="The error code, if the document was refused.")
    message: str | None = None


class IngestsView(View):
    """The outcome for each document, in the order of the request."""

    jobs: list[IngestView]
    collection_id: str
    collection_name: str | None
    warnings: list[str] = Field(
        default_factory=list, description="Why the embedding model cannot be used. New documents are found by keywords only."
    )


class PreviewBody(Draft):
    """A text, and a chunking strategy."""

    text: str = Field(min_length=1, max_length=500_000)
    chunking_strategy: dict[str, Any] | None = None


class Piece(View):
    """A chunk of a preview: the range [start, end) of the text."""

    start: int
    end: int
    text: str
    heading: str | None = None


class PreviewView(View):
    """The first chunks that a strategy produces, and the sizes of all chunks in characters."""

    count: int
    shortest: int
    longest: int
    mean: float
    chunks: list[Piece]


async def _target(call: ApiCall, repository_id: str, collection_id: str | None) -> OpenedCollection:
    opened = await open_collection(call.host.store, caller_of(call), repository_id, collection_id or DEFAULT_ALIAS, Action.INGEST)
    check_accepts_documents(opened.repository, opened.collection)
    return opened


def _metadata(draft: MetadataDraft | None) -> DocumentMetadata | None:
    return None if draft is None else DocumentMetadata(tags=draft.tags, custom_fields=draft.custom_fields)


async def _ingested(call: ApiCall, opened: OpenedCollection, batch: list[NewDocument]) -> IngestsView:
    collection = opened.collection
    result = await ingest_batch(resources_of(call), caller_of(call), collection.repository_id, collection.collection_id, batch)
    if result.refused == len(batch) == 1:
        raise next(one for one in result.results if isinstance(one, GatelegError))
    where = f"{collection.repository_id}/{collection.collection_id}"
    await call.note("rag.ingest", where, count=len(batch) - result.refused, refused=result.refused)
    rows = [_one(new, found) for new, found in zip(batch, result.results, strict=True)]
    problem = model_problem(resources_of(call), collection.embedding_model)
    warnings = [] if problem is None else [problem]
    return IngestsView(jobs=rows, collection_id=collection.collection_id, collection_name=collection.name, warnings=warnings)


def _one(new: NewDocument, found: SubmittedDocument | GatelegError) -> IngestView:
    if isinstance(found, GatelegError):
        return IngestView(status="REFUSED", s3_path=new.key or "", document_id=new.document_id, error=found.code, message=found.message)
    document = found.document
    return IngestView(job_id=found.job.job_id, document_id=document.document_id, status=document.status.value, s3_path=document.source)


@router.post("/repository/{repository_id}/bulk", status_code=202)
async def ingest_keys(
    call: Using,
    repository_id: str,
    body: Bulk,
    query: Annotated[BulkQuery, Query()],
    once: Once = None,
) -> IngestsView:
    """Ingest objects that were uploaded with `presigned-url`. Each is one job."""
    opened = await _target(call, repository_id, query.agreeing(body.collection_id))
    older = legacy_strategy(query.chunk_size, query.chunk_overlap)
    strategy = body.chunking_strategy or (None if older is None else older.stored())
    batch = [NewDocument(key=key, strategy=strategy, metadata=_metadata(body.metadata), once=once) for key in dict.fromkeys(body.keys)]
    return await _ingested(call, opened, batch)


@router.post("/repository/{repository_id}/ingest", status_code=202)
@body_limit("upload")
async def ingest_contents(
    call: Using, repository_id: str, body: Batch, query: Annotated[CollectionFields, Query()], once: Once = None
) -> IngestsView:
    """Ingest texts, URLs, pre-made chunks or uploaded objects. Each is one job."""
    opened = await _target(call, repository_id, query.agreeing(body.collection_id))
    batch = [
        NewDocument(
            key=one.key,
            text=one.text,
            url=one.url,
            chunks=one.chunks,
            name=one.document_name,
            document_id=one.document_id,
            strategy=one.chunking_strategy,
            metadata=_metadata(one.metadata),
            once=once,
            force=one.force,
        )
        for one in body.documents
    ]
    return await _ingested(call, opened, batch)


@router.post("/repository/{repository_id}/document", status_code=202, openapi_extra=form_body(CollectionFields, many=True))
@body_limit("upload")
async def upload(call: Using, repository_id: str, request: Request, query: Annotated[CollectionFields, Query()]) -> IngestsView:
    """Upload files as a form, or one file as the body, and ingest them. A file with the same name from the same caller is replaced."""
    # Callers who may not use the repository, or a collection that the query names, are refused before the body is read.
    if query.collection_id is None:
        await get_repository(call.host.store, caller_of(call), repository_id)
    else:
        await _target(call, repository_id, query.collection_id)
    own = resources_of(call).settings
    rules = UploadRules(min(own.upload_bytes, call.host.settings.upload_limit), files=own.upload_files)
    async with upload_slot(call.principal), upload_folder() as folder:
        form = await receive_form(request, folder, rules, query)
        opened = await _target(call, repository_id, form.fields.collection_id)
        batch = [NewDocument(key=await _store_file(call, opened, file), name=file.name) for file in form.files]
    return await _ingested(call, opened, batch)


async def _store_file(call: ApiCall, opened: OpenedCollection, file: ReceivedFile) -> str:
    """Store an uploaded file and return its key. The document id depends on user and name, the object key also on the content."""
    repository_id, collection_id = opened.repository.repository_id, opened.collection.collection_id
    document_id = document_id_of(repository_id, collection_id, f"upload:{caller_of(call).user}:{file.name}")
    key = original_key(repository_id, collection_id, document_id, file.sha256, plain_name(file.name))
    await store_original(call.host.objects, key, file.path, file.sha256, file.content_type)
    return key


@router.post("/chunking/preview")
async def preview_chunks(call: Using, body: PreviewBody) -> PreviewView:
    """Show the chunks that a strategy would make of a text. Nothing is stored."""
    found = await asyncio.to_thread(preview, body.text, parse_strategy(body.chunking_strategy))
    pieces = [Piece(start=one.start, end=one.end, text=one.of(body.text), heading=one.heading) for one in found.spans]
    return PreviewView(count=found.count, shortest=found.shortest, longest=found.longest, mean=found.mean, chunks=pieces)
