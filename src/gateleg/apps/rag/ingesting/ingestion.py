"""The ingestion of one document, stage by stage: fetch, parse, chunk, embed, write, index, and then the one update that replaces it."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from gateleg.ai.errors import AiError
from gateleg.apps.rag.collections import find_collection
from gateleg.apps.rag.errors import IndexDamaged, RagError
from gateleg.apps.rag.index.entries import entry_of
from gateleg.apps.rag.index.names import Target, searched_index, shadow_target
from gateleg.apps.rag.ingesting.embedding import chunk_hash, embed_chunks, embedded_text, known_vectors
from gateleg.apps.rag.ingesting.fingerprints import Alike, find_alike, forget_fingerprint, keep_fingerprint, simhash
from gateleg.apps.rag.ingesting.generations import (
    IndexesChanged,
    Outcome,
    Superseded,
    begin_generation,
    finish_generation,
    forget_page_images,
    mark_removed,
    moved,
    stale_generations,
    text_key,
    write_chunks,
)
from gateleg.apps.rag.ingesting.job_types import IngestResult
from gateleg.apps.rag.ingesting.preparation import (
    Cut,
    chosen_strategy,
    chunks_metadata,
    cut_document,
    document_facts,
    find_pipeline,
    ingestion_digest,
    merged_metadata,
    parse_bounds,
    read_source,
)
from gateleg.apps.rag.ingesting.sourcing import fetch_source
from gateleg.apps.rag.object_keys import source_key
from gateleg.apps.rag.rules import check_accepts_documents
from gateleg.apps.rag.tables import Chunk, Document, DocumentStatus, Metadata, Repository
from gateleg.jobs import GiveUp, Snooze
from gateleg.net.errors import AddressRefused, AnswerTooLarge, TooManyRedirects
from gateleg.objects import plain_name
from gateleg.store import ConditionFailed, IllegalTransition, NotFound
from gateleg.web.errors import StoreNotConfigured

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.apps.rag.chunking import Strategy
    from gateleg.apps.rag.index.entries import CollectionIndex, IndexEntry
    from gateleg.apps.rag.ingesting.job_types import IngestConfig
    from gateleg.apps.rag.ingesting.sourcing import Fetched
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Collection
    from gateleg.jobs import JobContext
    from gateleg.web import Resources


class Indexes(Protocol):
    """The search indexes of collections."""

    async def run(self, repository_id: str, collection_id: str, act: Callable[[CollectionIndex], Any]) -> Any:
        """Do something with the index of a collection, in a thread. One that is damaged is made anew, and `IndexDamaged` raised."""
        ...


#: Where each stage ends in the whole.
_STAGES = {"fetch": 0.05, "parse": 0.3, "chunk": 0.35, "embed": 0.8, "write": 0.92, "index": 1.0}
#: Seconds after which an ingestion begins again whose collection has got another index meanwhile.
_LOOK_AGAIN = 0.2
#: Chunks of one document.
MOST_CHUNKS = 1_000_000


@dataclass(frozen=True, slots=True)
class _Opened:
    """What an ingestion works with."""

    repository: Repository
    collection: Collection
    document: Document
    strategy: Strategy
    merged: dict[str, Any]

    @property
    def model(self) -> str:
        return self.collection.embedding_model or self.repository.config.embedding_model_id

    @property
    def targets(self) -> list[Target]:
        """The indexes that the document is added to: the one that is searched, and the one that is to take its place."""
        shadow = shadow_target(self.collection)
        return [Target(searched_index(self.collection), self.model), *([] if shadow is None else [shadow])]


async def ingest(job: JobContext, config: IngestConfig, resources: Resources[RagSettings], indexes: Indexes) -> IngestResult:
    """Ingest one document. It can be interrupted anywhere and run again. The document's row says why a final attempt failed."""
    try:
        return await _Ingestion(job, config, resources, indexes).run()
    except IndexesChanged:
        # Not a failure: the same again, with the indexes that there are now.
        raise Snooze(_LOOK_AGAIN) from None
    except Superseded:
        return IngestResult(document_id=config.document_id, outcome="superseded")
    except (RagError, AddressRefused, AnswerTooLarge, TooManyRedirects, StoreNotConfigured) as error:
        # The same again would fail again.
        await settle(resources, config, job, error.message)
        raise GiveUp(str(error)) from error
    except AiError as error:
        if not error.passing:
            await settle(resources, config, job, error.message)
            raise GiveUp(str(error)) from error
        await _note(resources, config, job, error.message)
        raise
    except asyncio.CancelledError:
        if job.cancelled:
            await settle(resources, config, job, "The ingestion was cancelled.")
        raise
    except Exception as error:
        await _note(resources, config, job, f"{type(error).__name__}: {error}")
        raise


async def _note(resources: Resources[Any], config: IngestConfig, job: JobContext, message: str) -> None:
    """Record an error that may pass: for good when the job is not tried again."""
    if job.job.retry_count >= job.job.max_retries:
        await settle(resources, config, job, message)


async def settle(resources: Resources[Any], config: IngestConfig, job: JobContext, message: str) -> None:
    """Record that an ingestion did not succeed. A document that searches find stays as it was."""
    key = Document.key(repository_id=config.repository_id, collection_id=config.collection_id, document_id=config.document_id)
    document = await resources.store.find(key, consistent=True)
    if document is None:
        return
    status = DocumentStatus.FAILED
    try:
        await resources.store.patch(
            document.key,
            Document.status.to(status),
            Document.error_message.set(message[:4_000]),
            condition=Document.job_id == job.job_id,
        )
    except (ConditionFailed, IllegalTransition, NotFound):
        # Another ingestion has begun, or the document is being deleted: it speaks for itself.
        return


class _Ingestion:
    """One attempt."""

    def __init__(self, job: JobContext, config: IngestConfig, resources: Resources[RagSettings], indexes: Indexes) -> None:
        self.job = job
        self.config = config
        self.resources = resources
        self.indexes = indexes

    async def run(self) -> IngestResult:
        opened = await self._open()
        fetched = await self._fetch(opened)
        digest = ingestion_digest(fetched.digest, opened.strategy, opened.model, opened.merged, self.config.name)
        document = opened.document
        if document.generation is not None and document.ingestion_digest == digest and not self.config.force:
            return await self._unchanged(opened)
        cut = await self._cut(opened, fetched)
        chunks, reused = await self._chunks(opened, cut)
        document = await begin_generation(self.resources.store, document, self.job.job_id)
        generation = document.last_generation
        await self._write(document, generation, chunks, cut)
        self._report("index", 0.0, f"{len(chunks)} chunks")
        language = cut.document.language
        numbered = self._numbered(chunks, generation)
        for target in opened.targets:
            entries = [entry_of(chunk, language, target.model) for chunk in numbered]
            await self._in_index(target.index_id, _addition(document.document_id, generation, entries))
        mark = await asyncio.to_thread(simhash, cut.document.text)
        alike = await find_alike(self.resources.store, document, fetched.digest, mark)
        self.job.check()
        outcome = self._outcome(opened, fetched, cut, digest, generation, mark)
        await forget_fingerprint(self.resources.store, document)
        done = await finish_generation(self.resources.store, document, self.job.job_id, outcome, opened.collection)
        await keep_fingerprint(self.resources.store, done)
        await self._clean(opened, done)
        return self._result("ingested", done, reused, alike)

    async def _in_index(self, index_id: str, act: Callable[[CollectionIndex], Any]) -> None:
        """Change an index. One that was damaged is empty then, and filled again from the tables before it is searched."""
        try:
            await self.indexes.run(self.config.repository_id, index_id, act)
        except IndexDamaged:
            await self.indexes.run(self.config.repository_id, index_id, act)

    def _report(self, stage: str, share: float, words: str = "") -> None:
        """Say how far the work is, and stop where the job is to stop."""
        self.job.check()
        names = list(_STAGES)
        start = _STAGES[names[names.index(stage) - 1]] if stage != names[0] else 0.0
        self.job.progress(start + (_STAGES[stage] - start) * min(1.0, share), 1.0, f"{stage}: {words}" if words else stage)

    async def _open(self) -> _Opened:
        config, store = self.config, self.resources.store
        repository = await store.find(Repository, repository_id=config.repository_id, consistent=True)
        collection = None if repository is None else await find_collection(store, repository, config.collection_id)
        document = await store.find(
            Document,
            repository_id=config.repository_id,
            collection_id=config.collection_id,
            document_id=config.document_id,
            consistent=True,
        )
        if repository is None or collection is None or document is None or document.job_id != self.job.job_id:
            raise Superseded
        check_accepts_documents(repository, collection)
        pipeline = find_pipeline(repository, collection, config.pipeline_id)
        strategy = chosen_strategy(repository, collection, config.strategy, pipeline)
        merged = merged_metadata(repository, collection, pipeline, document, config)
        return _Opened(repository, collection, document, strategy, merged)

    async def _fetch(self, opened: _Opened) -> Fetched:
        self._report("fetch", 0.0, self.config.name)
        fetched = await fetch_source(self.resources, self.config.source, self.job.scratch, self.resources.settings.upload_bytes)
        if self.config.source.kind != "object":
            await self.resources.objects.put(self._source(fetched), fetched.path, content_type=fetched.content_type)
        return fetched

    def _source(self, fetched: Fetched) -> str:
        """The key of the content. What was fetched from an address or a folder is kept under its digest."""
        config = self.config
        if config.source.kind == "object":
            return config.source.key
        name = f"{fetched.digest[:16]}/{plain_name(config.name)}"
        return source_key(config.repository_id, config.collection_id, config.document_id, name)

    async def _unchanged(self, opened: _Opened) -> IngestResult:
        """Nothing to do but what an interrupted ingestion may have left."""
        document = opened.document
        try:
            actions, condition = moved(document, DocumentStatus.COMPLETED, self.job.job_id)
            actions.append(Document.error_message.remove())
            if self.config.source.etag is not None:
                actions.append(Document.source_etag.set(self.config.source.etag))
            done = await self.resources.store.patch(document.key, *actions, condition=condition)
        except (ConditionFailed, IllegalTransition, NotFound):
            raise Superseded from None
        if self.job.attempt > 1:
            # The attempt before may have ended between replacing the document and this.
            await keep_fingerprint(self.resources.store, done)
        await self._clean(opened, done)
        return self._result("unchanged", done, done.chunks, Alike())

    async def _cut(self, opened: _Opened, fetched: Fetched) -> Cut:
        self._report("parse", 0.0, self.config.name)
        bounds = parse_bounds(self.resources.settings)
        cut = await read_source(fetched.path, self.config.name, fetched.content_type, bounds)
        self._report("chunk", 0.0, opened.strategy.type.value)
        models = self.resources.models.for_threads()
        cut = await cut_document(cut, opened.strategy, models.embeddings(opened.model, cache=False).embed)
        if len(cut.spans) > MOST_CHUNKS:
            raise RagError(f"The document has {len(cut.spans):,} chunks; at most {MOST_CHUNKS:,} are kept.", fix="Raise chunkSize.")
        return cut

    async def _chunks(self, opened: _Opened, cut: Cut) -> tuple[list[Chunk], int]:
        """The chunks with their vectors, without a generation so far."""
        parsed, spans = cut.document, cut.spans
        texts = [span.of(parsed.text) for span in spans]
        hashes = [chunk_hash(text, span.heading) for text, span in zip(texts, spans, strict=True)]
        wanted = [embedded_text(text, span.heading) for text, span in zip(texts, spans, strict=True)]
        vectors, reused = await self._vectors(opened, opened.model, wanted, hashes)
        rows = await asyncio.to_thread(self._rows, opened, cut, texts, hashes, vectors)
        shadow = shadow_target(opened.collection)
        if shadow is not None:
            beside, _ = await self._vectors(opened, shadow.model, wanted, hashes)
            for row, vector in zip(rows, beside, strict=True):
                row.shadow_vector, row.shadow_model = vector, shadow.model
        return rows, reused

    async def _vectors(self, opened: _Opened, model: str, texts: Sequence[str], hashes: Sequence[str]) -> tuple[list[bytes], int]:
        """A vector for each text by a model, and how many of them were known."""
        # A forced ingestion computes new vectors, too.
        known = {} if self.config.force else await known_vectors(self.resources.store, opened.document, model)
        total = max(1, len(texts))
        embeddings = self.resources.models.embeddings(model, cache=False)
        return await embed_chunks(
            embeddings, texts, hashes, known, lambda done: self._report("embed", done / total, f"{done} of {total} chunks")
        )

    def _rows(self, opened: _Opened, cut: Cut, texts: Sequence[str], hashes: Sequence[str], vectors: Sequence[bytes]) -> list[Chunk]:
        """The chunks as they are stored. In a thread: a long document has tens of thousands."""
        parsed = cut.document
        facts = document_facts(opened.document, self.config, parsed)
        extras = cut.extras or [{}] * len(cut.spans)
        return [
            Chunk(
                document_id=self.config.document_id,
                generation=1,
                ordinal=place,
                repository_id=self.config.repository_id,
                collection_id=self.config.collection_id,
                text=text,
                start=span.start,
                end=span.end,
                page=parsed.page_of(span.start),
                page_starts=parsed.page_starts_of(span.start, span.end),
                boxes=parsed.boxes_of(span.start, span.end),
                heading=span.heading,
                content_hash=digest,
                metadata=chunks_metadata(opened.merged, facts, extra),
                vector=vector,
                embedding_model=opened.model,
            )
            for place, (text, span, digest, vector, extra) in enumerate(zip(texts, cut.spans, hashes, vectors, extras, strict=True))
        ]

    async def _write(self, document: Document, generation: int, chunks: Sequence[Chunk], cut: Cut) -> None:
        total = max(1, len(chunks))
        self._report("write", 0.0)
        packed = await asyncio.to_thread(lambda: gzip.compress(orjson.dumps(cut.document.to_json()), 5, mtime=0))
        await self.resources.objects.put(text_key(document, generation), packed, content_type="application/gzip")
        await write_chunks(
            self.resources.store,
            self._numbered(chunks, generation),
            lambda done: self._report("write", done / total, f"{done} of {total} chunks"),
        )

    def _numbered(self, chunks: Sequence[Chunk], generation: int) -> list[Chunk]:
        return [chunk.model_copy(update={"generation": generation}) for chunk in chunks]

    def _outcome(self, opened: _Opened, fetched: Fetched, cut: Cut, digest: str, generation: int, mark: str) -> Outcome:
        parsed, own = cut.document, self.config.metadata
        return Outcome(
            generation=generation,
            chunks=len(cut.spans),
            digest=digest,
            content_hash=fetched.digest,
            size=fetched.size,
            content_type=parsed.content_type,
            pages=len(parsed.pages) or None,
            language=parsed.language,
            title=parsed.title,
            warnings=parsed.warnings[:100],
            strategy=opened.strategy.stored(),
            override=self.config.strategy,
            simhash=mark,
            source=self._source(fetched),
            bucket=self.config.source.bucket,
            name=self.config.name,
            username=self.config.username,
            etag=self.config.source.etag,
            url=self.config.source.url,
            metadata=opened.document.metadata if own is None else Metadata(tags=own.tags, custom_fields=own.custom_fields),
        )

    async def _clean(self, opened: _Opened, document: Document) -> None:
        """Remove what searches no longer find."""
        for number in stale_generations(document):
            for target in opened.targets:
                await self._in_index(target.index_id, _removal(document.document_id, number))
            await self.resources.objects.delete(text_key(document, number))
            await forget_page_images(self.resources.objects, document, number)
            await self.resources.store.delete_all(Chunk.of_document(document_id=document.document_id, generation=number))
        await mark_removed(self.resources.store, document)

    def _result(self, outcome: Any, document: Document, reused: int, alike: Alike) -> IngestResult:
        return IngestResult(
            document_id=document.document_id,
            outcome=outcome,
            chunks=document.chunks,
            pages=document.pages,
            reused=reused,
            duplicates=list(alike.same),
            similar=list(alike.near),
            warnings=list(document.warnings),
        )


def _addition(document_id: str, generation: int, entries: Sequence[IndexEntry]) -> Callable[[CollectionIndex], Any]:
    return lambda index: index.add_entries(document_id, generation, entries)


def _removal(document_id: str, generation: int) -> Callable[[CollectionIndex], Any]:
    return lambda index: index.remove(document_id, generation)
