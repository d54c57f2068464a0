"""`/api/rag`: making documents anew: one, all of a collection, or an earlier content of one; and vectors by another model."""

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query
from pydantic import Field

from gateleg.apps.rag.api import JobStarted, caller_of, resources_of
from gateleg.apps.rag.drafts import Draft
from gateleg.apps.rag.ingesting.reembedding import start_reembedding
from gateleg.apps.rag.ingesting.reingestion import restore_revision, retry_document, start_reingestion
from gateleg.apps.rag.ingesting.submitting import SubmittedDocument
from gateleg.web.api.calls import Using

router = APIRouter()
Force = Annotated[bool, Query(description="Also what is up to date.")]
Once = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200, description="Sent again, it gives the first job back.")]


def _started(submitted: SubmittedDocument) -> JobStarted:
    return JobStarted(job_id=submitted.job.job_id, status=submitted.job.status.value)


@router.post("/repository/{repository_id}/collections/{collection_id:path}/reingest", status_code=202)
async def reingest_collection(call: Using, repository_id: str, collection_id: str, force: Force = False, once: Once = None) -> JobStarted:
    """Make all documents of a collection anew with its present chunking strategy and metadata. Searches find the old chunks of each
    until its new ones are complete."""
    job = await start_reingestion(resources_of(call), caller_of(call), repository_id, collection_id, force=force, once=once)
    await call.note("rag.reingest", f"{repository_id}/{collection_id}", job=str(job.job_id))
    return JobStarted(job_id=job.job_id, status=job.status.value)


class Reembed(Draft):
    """The model that embeds a collection from now on."""

    embedding_model: str = Field(min_length=1, max_length=200, description="The address of an embedding model, such as local:minilm.")


@router.post("/repository/{repository_id}/collections/{collection_id}/reembed", status_code=202)
async def reembed_collection(call: Using, repository_id: str, collection_id: str, body: Reembed, once: Once = None) -> JobStarted:
    """Embed all chunks of a collection by another model, into an index that takes the place of the present one when it is complete.

    Searches use the present one until then. Chunks that have a vector by the model are not embedded again."""
    job = await start_reembedding(resources_of(call), caller_of(call), repository_id, collection_id, body.embedding_model, once=once)
    await call.note("rag.reembed", f"{repository_id}/{collection_id}", job=str(job.job_id), model=body.embedding_model)
    return JobStarted(job_id=job.job_id, status=job.status.value)


@router.post("/repository/{repository_id}/document/{document_id}/reingest", status_code=202)
async def reingest_document(call: Using, repository_id: str, document_id: str, force: Force = False) -> JobStarted:
    """Ingest a document again: after it has failed, or to make it anew."""
    return _started(await retry_document(resources_of(call), caller_of(call), repository_id, document_id, force=force))


@router.post("/repository/{repository_id}/document/{document_id}/revisions/{number}/restore", status_code=202)
async def restore_document(call: Using, repository_id: str, document_id: str, number: Annotated[int, Path(ge=1)]) -> JobStarted:
    """Make an earlier content of a document the present one."""
    return _started(await restore_revision(resources_of(call), caller_of(call), repository_id, document_id, number))
