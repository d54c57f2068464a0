"""The routes of `/api/rag` that ingest documents again, restore revisions, and re-embed a collection with another model."""

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query
from pydantic import Field

from gateleg.apps.rag.api import JobStarted, caller_of, resources_of
from gateleg.apps.rag.drafts import Draft
from gateleg.apps.rag.ingesting.reembedding import start_reembedding
from gateleg.apps.rag.ingesting.reingestion import restore_revision, retry_document, start_reingestion
from gateleg.apps.rag.ingesting.submission import SubmittedDocument
from gateleg.web.api.calls import Using

router = APIRouter()
Force = Annotated[bool, Query(description="Include documents that are up to date.")]
Once = Annotated[
    str | None,
    Header(alias="Idempotency-Key", max_length=200, description="A repeated request with the same key returns the job of the first."),
]


def _started(submitted: SubmittedDocument) -> JobStarted:
    return JobStarted(job_id=submitted.job.job_id, status=submitted.job.status.value)


@router.post("/repository/{repository_id}/collections/{collection_id:path}/reingest", status_code=202)
async def reingest_collection(call: Using, repository_id: str, collection_id: str, force: Force = False, once: Once = None) -> JobStarted:
    """Start a job that ingests all documents of a collection again, with its current chunking strategy and metadata.

    Searches find the old chunks of each document until its new ones are complete."""
    job = await start_reingestion(resources_of(call), caller_of(call), repository_id, collection_id, force=force, once=once)
    await call.note("rag.reingest", f"{repository_id}/{collection_id}", job=str(job.job_id))
    return JobStarted(job_id=job.job_id, status=job.status.value)


class Reembed(Draft):
    """The new embedding model of a collection."""

    embedding_model: str = Field(min_length=1, max_length=200, description="The name of an embedding model, such as local:minilm.")


@router.post("/repository/{repository_id}/collections/{collection_id}/reembed", status_code=202)
async def reembed_collection(call: Using, repository_id: str, collection_id: str, body: Reembed, once: Once = None) -> JobStarted:
    """Start a job that embeds all chunks of a collection with another model, into an index that replaces the current one when complete.

    Searches use the current index until then. Chunks that already have a vector by the new model are not embedded again."""
    job = await start_reembedding(resources_of(call), caller_of(call), repository_id, collection_id, body.embedding_model, once=once)
    await call.note("rag.reembed", f"{repository_id}/{collection_id}", job=str(job.job_id), model=body.embedding_model)
    return JobStarted(job_id=job.job_id, status=job.status.value)


@router.post("/repository/{repository_id}/document/{document_id}/reingest", status_code=202)
async def reingest_document(call: Using, repository_id: str, document_id: str, force: Force = False) -> JobStarted:
    """Ingest a document again, for example after a failure."""
    return _started(await retry_document(resources_of(call), caller_of(call), repository_id, document_id, force=force))


@router.post("/repository/{repository_id}/document/{document_id}/revisions/{number}/restore", status_code=202)
async def restore_document(call: Using, repository_id: str, document_id: str, number: Annotated[int, Path(ge=1)]) -> JobStarted:
    """Restore an earlier content of a document."""
    return _started(await restore_revision(resources_of(call), caller_of(call), repository_id, document_id, number))
