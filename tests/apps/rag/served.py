"""A host that serves document collections, with everybody of `people.PEOPLE` as its callers."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from fastapi import FastAPI

from gateleg.apps.rag.application import application
from gateleg.apps.rag.index.registry import Indexes, indexes_of
from gateleg.apps.rag.ingesting.fingerprints import write_fingerprint
from gateleg.apps.rag.object_keys import source_key
from gateleg.apps.rag.tables import Chunk, Document, DocumentStatus
from gateleg.host import Application
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from gateleg.jobs import Worker, follow_async
from gateleg.web.app import create_app
from tests.apps.rag.people import ADMIN_GROUP, PEOPLE

ROOT = "/api/rag/repository"


@dataclass(frozen=True)
class Served:
    """The host and its callers by name."""

    host: Host
    app: FastAPI
    callers: dict[str, httpx.AsyncClient]

    def __getitem__(self, name: str) -> httpx.AsyncClient:
        return self.callers[name]

    @property
    def indexes(self) -> Indexes:
        return indexes_of(self.host.resources["rag"])

    async def repository(self, repository_id: str, **fields: Any) -> dict[str, Any]:
        """A repository."""
        answer = await self["admin"].post(ROOT, json={"repositoryId": repository_id, "embeddingModelId": "local:minilm", **fields})
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def collection(self, who: str, repository_id: str, name: str, **fields: Any) -> str:
        """A collection of somebody; its id."""
        answer = await self[who].post(f"{ROOT}/{repository_id}/collections", json={"name": name, **fields})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["collectionId"])

    async def document(
        self, repository_id: str, collection_id: str, name: str = "a.txt", username: str = "ann", text: str = "Passage", **fields: Any
    ) -> Document:
        """A document that is ingested: its row, two chunks of two generations, their vectors, and its object."""
        made = Document(repository_id=repository_id, collection_id=collection_id, document_name=name, username=username, **fields)
        key = source_key(repository_id, collection_id, made.document_id, name)
        info = await self.host.objects.put(key, f"The text of {name}.".encode(), content_type="text/plain")
        await self.host.objects.put(key.replace("/source/", "/text/"), b"text")
        for generation in (1, 2):
            chunks = [self._chunk(made, generation, ordinal, text) for ordinal in range(2)]
            for chunk in chunks:
                await self.host.store.create(chunk)
            index = self.indexes.open(repository_id, collection_id)
            await asyncio.to_thread(index.add, made.document_id, generation, chunks)
        made.source, made.generation, made.last_generation, made.chunks = key, 2, 2, 2
        made.status, made.content_hash, made.simhash = DocumentStatus.COMPLETED, info.sha256, "0123456789abcdef"
        await write_fingerprint(self.host.store, made)
        return await self.host.store.create(made)

    @staticmethod
    def _chunk(document: Document, generation: int, ordinal: int, text: str = "Passage") -> Chunk:
        return Chunk(
            document_id=document.document_id,
            generation=generation,
            ordinal=ordinal,
            repository_id=document.repository_id,
            collection_id=document.collection_id,
            text=f"{text} {ordinal}",
            start=ordinal * 10,
            end=ordinal * 10 + 9,
            page=1,
            content_hash=f"{generation}{ordinal}",
            embedding_model="local:minilm",
            vector=b"\x00\x00\x80\x3f" + bytes(4 * 383),
        )

    async def work(self, *job_ids: str) -> None:
        """Work until jobs have ended."""
        worker = Worker(self.host.queue, concurrency=2)
        running = asyncio.ensure_future(worker.run())
        try:
            for job_id in job_ids:
                async for _ in follow_async(self.host.queue, UUID(job_id)):
                    pass
        finally:
            worker.stop()
            await running


@asynccontextmanager
async def serving(folder: Path, others: Sequence[Application] = (), **own: object) -> AsyncIterator[Served]:
    """A host in memory, with `others` beside the application. `own` are settings of the application."""
    flags = {"store": "embedded::memory:", "objects": f"dir:{folder}/objects", "data": folder}
    environ = {f"GATELEG_RAG__{name.upper()}": str(value) for name, value in {"admin_group": ADMIN_GROUP, **own}.items()}
    async with Host.open(load_settings(flags=flags, environ=environ), [application, *others]) as host:
        app = create_app(host, console=False)
        callers = {"nobody": _client(app, {})}
        for name, person in PEOPLE.items():
            key = await host.keys.create(person.name, person.role, groups=person.groups, tenant=person.tenant)
            callers[name] = _client(app, {"authorization": f"Bearer {key.token}"})
        yield Served(host, app, callers)
        for client in callers.values():
            await client.aclose()


def _client(app: Any, headers: dict[str, str]) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 50_000))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=headers)
