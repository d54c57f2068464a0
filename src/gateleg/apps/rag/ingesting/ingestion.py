"""Ingest one document in stages: fetch, parse, chunk, embed, write, index, and finally publish it with one update."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from gateleg.ai.errors import AiError
from gateleg.apps.rag.collections import find_collection
from gateleg.apps.rag.errors import IndexDamaged, RagError, SourceMissing
from gateleg.apps.rag.index.entries import entry_of
from gateleg.apps.rag.index.names import Target, searched_index, shadow_target
from gateleg.apps.rag.ingesting.embedding import chunk_hash, embed_chunks, embedded_text, known_vectors
from gateleg.apps.rag.ingesting.fingerprints import SimilarDocuments, delete_fingerprint, find_similar, simhash, write_fingerprint
from gateleg.apps.rag.ingesting.generations import (
    IndexesChanged,
    Outcome,
    Superseded,
    begin_generation,
    delete_page_images,
    finish_generation,
    mark_removed,
    stale_generations,
    status_change,
    text_key,
    write_chunks,
)
from gateleg.apps.rag.ingesting.job_types import IngestResult
from gateleg.apps.rag.ingesting.originals import check_content, find_upload, retire_upload, store_original
from gateleg.apps.rag.ingesting.preparation import (
    PreparedChunks,
    chosen_strategy,
    chunks_metadata,
    document_facts,
    find_pipeline,
    ingestion_digest,
    merged_metadata,
    parse_bounds,
    read_source,
    split_document,
)
from gateleg.apps.rag.ingesting.source_download import fetch_source
from gateleg.apps.rag.object_keys import digest_in_key, document_prefix, original_key
from gateleg.apps.rag.rules import check_accepts_documents
from gateleg.apps.rag.tables import Chunk, Document, DocumentStatus, Metadata, Repository
from gateleg.host.errors import StoreNotConfigured
from gateleg.jobs import GiveUp, Snooze
from gateleg.net.errors import AddressRefused, AnswerTooLarge, TooManyRedirects
from gateleg.objects import ObjectMissing, plain_name
from gateleg.store import ConditionFailed, IllegalTransition, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.apps.rag.chunking import Strategy
    from gateleg.apps.rag.index.entries import CollectionIndex, IndexEntry
    from gateleg.apps.rag.ingesting.job_types import IngestConfig
    from gateleg.apps.rag.ingesting.source_download import FetchedSource
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Collection
    from gateleg.host import Resources
    from gateleg.jobs import JobContext


class Indexes(Protocol):
    """The search indexes of collections."""

    async def run(self, repository_id: str, collection_id: str, act: Callable[[CollectionIndex], Any]) -> Any:
        """Run a function on the index of a collection, in a thread. A damaged index is emptied and `IndexDamaged` raised."""
        ...


#: Overall progress at the end of each stage.
_STAGES = {"fetch": 0.05, "parse": 0.3, "chunk": 0.35, "embed": 0.8, "write": 0.92, "index": 1.0}
#: Delay before an ingestion starts again because the collection's indexes have changed.
_RESTART_SECONDS = 0.2
#: Maximum chunks of one document.
MAX_CHUNKS = 1_000_000


@dataclass(frozen=True, slots=True)
class _IngestionTarget:
    """The rows that an ingestion works with, and the strategy and metadata that follow from them."""

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
        """The indexes that the document is added to: the current one, and the shadow index if there is one."""
        shadow = shadow_target(self.collection)
        return [Target(searched_index(self.collection), self.model), *([] if shadow is None else [shadow])]


async def ingest(job: JobContext, config: IngestConfig, resources: Resources[RagSettings], indexes: Indexes) -> IngestResult:
    """Ingest one document. It can be interrupted anywhere and run again. If the last attempt fails, the document's row has the reason."""
    try:
        return await _Ingestion(job, config, resources, indexes).run()
    except IndexesChanged:
        # Not a failure: start again with the current indexes.
        raise Snooze(_RESTART_SECONDS) from None
    except Superseded:
        return IngestResult(document_id=config.document_id, outcome="superseded")
    except (RagError, AddressRefused, AnswerTooLarge, TooManyRedirects, StoreNotConfigured) as error:
        # A retry would fail, too.
        await record_failure(resources, config, job, error.message)
        raise GiveUp(str(error)) from error
    except AiError as error:
        if not error.passing:
            await record_failure(resources, config, job, f"{error.message} {error.fix}".strip())
            raise GiveUp(str(error)) from error
        await _record_if_final(resources, config, job, f"{error.message} {error.fix}".strip())
        raise
    except asyncio.CancelledError:
        if job.cancelled:
            await record_failure(resources, config, job, "The ingestion was cancelled.")
        raise
    except Exception as error:
        await _record_if_final(resources, config, job, f"{type(error).__name__}: {error}")
        raise


def _keywords_only(model: str, error: AiError) -> str:
    """Why a document can be found by keywords only, and the way out."""
    reason = f"{error.message} {error.fix}".strip()
    return f"Found by keywords only: the embedding model {model!r} could not be used. {reason} Then embed the collection again."[:4_000]


async def _record_if_final(resources: Resources[Any], config: IngestConfig, job: JobContext, message: str) -> None:
    """Record a temporary error, if the job has no retries left."""
    if job.job.retry_count >= job.job.max_retries:
        await record_failure(resources, config, job, message)


async def record_failure(resources: Resources[Any], config: IngestConfig, job: JobContext, message: str) -> None:
    """Record on the document that its ingestion failed. A generation that searches use stays as it was."""
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
        # Another ingestion or a deletion has taken over and sets the status itself.
        return


class _Ingestion:
    """One attempt of an ingestion."""

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
            return await self._unchanged(opened, fetched)
        cut = await self._prepare_chunks(opened, fetched)
        chunks, reused, keywords_only = await self._chunks(opened, cut)
        document = await begin_generation(self.resources.store, document, self.job.job_id)
        generation = document.last_generation
        await self._write(document, generation, chunks, cut)
        self._report("index", 0.0, f"{len(chunks)} chunks")
        language = cut.document.language
        numbered = self._numbered(chunks, generation)
        for target in opened.targets:
            entries = [entry_of(chunk, language, target.model) for chunk in numbered]
            await self._in_index(target.index_id, _addition(document.document_id, generation, entries))
        fingerprint = await asyncio.to_thread(simhash, cut.document.text)
        similar = await find_similar(self.resources.store, document, fetched.digest, fingerprint)
        self.job.check()
        outcome = self._outcome(opened, fetched, cut, digest, generation, fingerprint)
        if keywords_only is not None:
            # With another digest, so that the next ingestion of the same content computes the vectors.
            outcome = replace(outcome, keywords_only=keywords_only, digest=f"{digest} without vectors")
        await delete_fingerprint(self.resources.store, document)
        done = await finish_generation(self.resources.store, document, self.job.job_id, outcome, opened.collection)
        await write_fingerprint(self.resources.store, done)
        await self._clean(opened, done, fetched)
        return self._result("ingested", done, reused, similar)

    async def _in_index(self, index_id: str, act: Callable[[CollectionIndex], Any]) -> None:
        """Change an index. A damaged index is emptied first, and rebuilt from the tables before its next search."""
        try:
            await self.indexes.run(self.config.repository_id, index_id, act)
        except IndexDamaged:
            await self.indexes.run(self.config.repository_id, index_id, act)

    def _report(self, stage: str, share: float, words: str = "") -> None:
        """Report progress, and raise if the job is to stop."""
        self.job.check()
        names = list(_STAGES)
        start = _STAGES[names[names.index(stage) - 1]] if stage != names[0] else 0.0
        self.job.progress(start + (_STAGES[stage] - start) * min(1.0, share), 1.0, f"{stage}: {words}" if words else stage)

    async def _open(self) -> _IngestionTarget:
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
        return _IngestionTarget(repository, collection, document, strategy, merged)

    async def _fetch(self, opened: _IngestionTarget) -> FetchedSource:
        self._report("fetch", 0.0, self.config.name)
        objects, source = self.resources.objects, self.config.source
        if self._is_upload:
            try:
                source = source.model_copy(update={"key": (await find_upload(objects, source.key)).key})
            except ObjectMissing:
                raise SourceMissing(f"There is no object {source.key!r}.") from None
        fetched = await fetch_source(self.resources, source, self.job.scratch, self.resources.settings.upload_bytes)
        check_content(source, fetched)
        if source.bucket is None:
            await store_original(objects, self._source(fetched), fetched.path, fetched.digest, fetched.content_type)
        return fetched

    @property
    def _is_upload(self) -> bool:
        """Whether the content is an object of this host."""
        return self.config.source.kind == "object" and self.config.source.bucket is None

    def _source(self, fetched: FetchedSource) -> str:
        """The object key of the content: that of its original, unless it stays in the bucket of a pipeline."""
        config, key = self.config, self.config.source.key
        if config.source.bucket is not None or (self._is_upload and fetched.digest.startswith(digest_in_key(key) or "-")):
            return key
        return original_key(config.repository_id, config.collection_id, config.document_id, fetched.digest, plain_name(config.name))

    async def _unchanged(self, opened: _IngestionTarget, fetched: FetchedSource) -> IngestResult:
        """Complete the document without new chunks, and clean up after an interrupted ingestion."""
        document = opened.document
        try:
            actions, condition = status_change(document, DocumentStatus.COMPLETED, self.job.job_id)
            actions.append(Document.error_message.remove())
            if document.bucket is None:
                # Documents of earlier releases refer to the upload itself.
                actions.append(Document.source.set(self._source(fetched)))
            if self.config.source.etag is not None:
                actions.append(Document.source_etag.set(self.config.source.etag))
            done = await self.resources.store.patch(document.key, *actions, condition=condition)
        except (ConditionFailed, IllegalTransition, NotFound):
            raise Superseded from None
        if self.job.attempt > 1:
            # The previous attempt may have stopped after it published the document.
            await write_fingerprint(self.resources.store, done)
        await self._clean(opened, done, fetched)
        return self._result("unchanged", done, done.chunks, SimilarDocuments())

    async def _prepare_chunks(self, opened: _IngestionTarget, fetched: FetchedSource) -> PreparedChunks:
        self._report("parse", 0.0, self.config.name)
        bounds = parse_bounds(self.resources.settings)
        cut = await read_source(fetched.path, self.config.name, fetched.content_type, bounds)
        self._report("chunk", 0.0, opened.strategy.type.value)
        models = self.resources.models.for_threads()
        # The model is looked up when a strategy uses it: others do not need one that works.
        cut = await split_document(cut, opened.strategy, lambda *texts: models.embeddings(opened.model, cache=False).embed(*texts))
        if len(cut.spans) > MAX_CHUNKS:
            raise RagError(f"The document has {len(cut.spans):,} chunks; {MAX_CHUNKS:,} are allowed.", fix="Raise chunkSize.")
        return cut

    async def _chunks(self, opened: _IngestionTarget, cut: PreparedChunks) -> tuple[list[Chunk], int, str | None]:
        """The chunks before they get a generation, how many of their vectors were reused, and why they have none if so."""
        parsed, spans = cut.document, cut.spans
        texts = [span.of(parsed.text) for span in spans]
        hashes = [chunk_hash(text, span.heading) for text, span in zip(texts, spans, strict=True)]
        inputs = [embedded_text(text, span.heading) for text, span in zip(texts, spans, strict=True)]
        vectors: Sequence[bytes | None]
        keywords_only = None
        try:
            vectors, reused = await self._vectors(opened, opened.model, inputs, hashes)
        except AiError as error:
            if not self._takes_keywords(opened, error):
                raise
            keywords_only = _keywords_only(opened.model, error)
            self.job.log(keywords_only, "WARNING")
            vectors, reused = [None] * len(texts), 0
        rows = await asyncio.to_thread(self._rows, opened, cut, texts, hashes, vectors)
        shadow = shadow_target(opened.collection)
        if shadow is not None:
            shadow_vectors, _ = await self._vectors(opened, shadow.model, inputs, hashes)
            for row, vector in zip(rows, shadow_vectors, strict=True):
                row.shadow_vector, row.shadow_model = vector, shadow.model
        return rows, reused, keywords_only

    def _takes_keywords(self, opened: _IngestionTarget, error: AiError) -> bool:
        """Whether to go on without vectors: the model will not work soon, and no chunks with vectors would be replaced."""
        final = not error.passing or self.job.job.retry_count >= self.job.job.max_retries
        return final and (opened.document.generation is None or opened.document.keywords_only is not None)

    async def _vectors(self, opened: _IngestionTarget, model: str, texts: Sequence[str], hashes: Sequence[str]) -> tuple[list[bytes], int]:
        """A vector by a model for each text, and how many of them were reused."""
        # A forced ingestion also computes new vectors.
        known = {} if self.config.force else await known_vectors(self.resources.store, opened.document, model)
        total = max(1, len(texts))
        embeddings = self.resources.models.embeddings(model, cache=False)
        return await embed_chunks(
            embeddings, texts, hashes, known, lambda done: self._report("embed", done / total, f"{done} of {total} chunks")
        )

    def _rows(
        self, opened: _IngestionTarget, cut: PreparedChunks, texts: Sequence[str], hashes: Sequence[str], vectors: Sequence[bytes | None]
    ) -> list[Chunk]:
        """Build the rows of the chunks. Runs in a thread, because a long document has tens of thousands."""
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

    async def _write(self, document: Document, generation: int, chunks: Sequence[Chunk], cut: PreparedChunks) -> None:
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

    def _outcome(
        self, opened: _IngestionTarget, fetched: FetchedSource, cut: PreparedChunks, digest: str, generation: int, fingerprint: str
    ) -> Outcome:
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
            simhash=fingerprint,
            source=self._source(fetched),
            bucket=self.config.source.bucket,
            name=self.config.name,
            username=self.config.username,
            etag=self.config.source.etag,
            url=self.config.source.url,
            metadata=opened.document.metadata if own is None else Metadata(tags=own.tags, custom_fields=own.custom_fields),
        )

    async def _clean(self, opened: _IngestionTarget, document: Document, fetched: FetchedSource) -> None:
        """Remove the generations that searches no longer use, and the upload, whose content is now an original."""
        upload = self.config.source.key
        own = document_prefix(document.repository_id, document.collection_id, document.document_id)
        kept = {document.source, *(revision.source for revision in document.revisions)}
        if self._is_upload and upload.startswith(own) and upload not in kept:
            await retire_upload(self.resources.objects, upload, fetched.digest)
        for number in stale_generations(document):
            for target in opened.targets:
                await self._in_index(target.index_id, _removal(document.document_id, number))
            await self.resources.objects.delete(text_key(document, number))
            await delete_page_images(self.resources.objects, document, number)
            await self.resources.store.delete_all(Chunk.of_document(document_id=document.document_id, generation=number))
        await mark_removed(self.resources.store, document)

    def _result(self, outcome: Any, document: Document, reused: int, similar: SimilarDocuments) -> IngestResult:
        return IngestResult(
            document_id=document.document_id,
            outcome=outcome,
            chunks=document.chunks,
            pages=document.pages,
            reused=reused,
            duplicates=list(similar.same),
            similar=list(similar.near),
            warnings=list(document.warnings),
            keywords_only=document.keywords_only,
        )


def _addition(document_id: str, generation: int, entries: Sequence[IndexEntry]) -> Callable[[CollectionIndex], Any]:
    return lambda index: index.add_entries(document_id, generation, entries)


def _removal(document_id: str, generation: int) -> Callable[[CollectionIndex], Any]:
    return lambda index: index.remove(document_id, generation)
