"""A host with a repository and a collection, and a worker that ingests into it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.application import application
from gateleg.apps.rag.collections import OpenedCollection, create_collection
from gateleg.apps.rag.drafts import NewCollection, NewRepository
from gateleg.apps.rag.index.registry import indexes_of
from gateleg.apps.rag.ingesting.job_types import IngestResult
from gateleg.apps.rag.ingesting.submission import NewDocument, SubmittedDocument, ingest_document
from gateleg.apps.rag.repositories import create_repository
from gateleg.apps.rag.settings import RagSettings
from gateleg.apps.rag.tables import Chunk, Document
from gateleg.host import Principal, Resources, Role
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from gateleg.jobs import Job, Worker, follow_async

MODEL = "local:minilm"
ADMIN = Caller(Principal("ada", Role.ADMIN))


@dataclass
class Library:
    """The host's resources, a repository and a collection."""

    host: Host
    resources: Resources[RagSettings]
    opened: OpenedCollection

    @property
    def collection_id(self) -> str:
        return self.opened.collection.collection_id

    async def submit(self, new: NewDocument, caller: Caller = ADMIN) -> SubmittedDocument:
        return await ingest_document(self.resources, caller, "books", self.collection_id, new)

    async def ingest(self, new: NewDocument) -> tuple[Document, Job]:
        """Ingest a document to the end of its job."""
        submitted = await self.submit(new)
        job = await self.work(submitted.job.job_id)
        return await self.document(submitted.document.document_id), job

    async def document(self, document_id: str) -> Document:
        return await self.resources.store.get(
            Document, repository_id="books", collection_id=self.collection_id, document_id=document_id, consistent=True
        )

    async def chunks(self, document: Document) -> list[Chunk]:
        query = Chunk.of_document(document_id=document.document_id, generation=document.generation or 0)
        return [chunk async for chunk in self.resources.store.query(query)]

    async def work(self, job_id: UUID) -> Job:
        """Work until a job has ended."""
        worker = Worker(self.host.queue, concurrency=4)
        running = asyncio.ensure_future(worker.run())
        try:
            async for _ in follow_async(self.host.queue, job_id):
                pass
        finally:
            worker.stop()
            await running
        return await self.host.queue.get(job_id)

    async def indexed(self) -> dict[str, set[int]]:
        found: dict[str, set[int]] = await indexes_of(self.resources).run("books", self.collection_id, lambda index: index.generations())
        return found


@asynccontextmanager
async def open_library(
    folder: Path,
    store: str = "embedded::memory:",
    environ: dict[str, str] | None = None,
    file: Path | None = None,
    objects: str | None = None,
    **changes: Any,
) -> AsyncIterator[Library]:
    """A library in memory, unless another process is to read its store. `file` has further settings."""
    flags = {"store": store, "objects": objects or f"dir:{folder}/objects", "data": folder}
    async with Host.open(load_settings(flags=flags, environ=environ or {}, file=file), [application]) as host:
        ((_, resources),) = host.applications_with_resources
        await create_repository(host.store, ADMIN, NewRepository(repository_id="books"), MODEL)
        opened = await create_collection(host.store, ADMIN, "books", NewCollection(name="Shelf", **changes))
        yield Library(host, resources, opened)


def result(job: Job) -> IngestResult:
    assert job.job_results is not None, job.attempts
    return IngestResult.model_validate(job.job_results.value)
