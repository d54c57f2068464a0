"""Submit the ingestion of uploaded objects, texts, URLs and pre-made chunks, one at a time or in batches. Each document is one job."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from uuid import NAMESPACE_URL, uuid5

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import open_collection
from gateleg.apps.rag.errors import BadValue, NotActive, RagAccessDenied, SourceMissing, UnknownDocument
from gateleg.apps.rag.ingesting.job_types import INGEST, DocumentMetadata, IngestConfig, SourceConfig
from gateleg.apps.rag.ingesting.metadata import check_reserved
from gateleg.apps.rag.ingesting.originals import find_upload, store_original
from gateleg.apps.rag.ingesting.premade import PREMADE, PremadeChunk, pack_chunks
from gateleg.apps.rag.ingesting.preparation import checked_override
from gateleg.apps.rag.ingesting.source_download import name_of_url
from gateleg.apps.rag.object_keys import document_prefix, original_key
from gateleg.apps.rag.rules import check_accepts_documents, check_metadata
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import Document, DocumentStatus, Metadata
from gateleg.errors import GatelegError
from gateleg.host import submitted_by
from gateleg.jobs import Submission
from gateleg.objects import ObjectMissing, plain_name
from gateleg.store import AlreadyExists, ConditionFailed, IllegalTransition, NotFound, TransactionCanceled, create, patch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.collections import OpenedCollection
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources
    from gateleg.jobs import Job
    from gateleg.store import WriteOperation

#: Maximum documents in one batch.
MAX_BATCH_DOCUMENTS = 100
#: Maximum characters of a text that is sent in the request.
MAX_TEXT_CHARACTERS = 20_000_000
#: Attempts at a submission while others keep changing the document.
_MAX_ATTEMPTS = 5
_DELETING = (DocumentStatus.DELETE_IN_PROGRESS, DocumentStatus.DELETE_FAILED)


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to ingest: one of `key`, `text`, `url` and `chunks` is its content."""

    #: the key of an uploaded object
    key: str | None = None
    text: str | None = None
    url: str | None = None
    chunks: Sequence[PremadeChunk] | None = None
    #: the document's name; by default the last part of the key or the URL
    name: str | None = None
    #: the document to replace; by default the one with the same source in the collection, or a new one
    document_id: str | None = None
    strategy: Mapping[str, Any] | None = None
    metadata: DocumentMetadata | None = None
    #: idempotency key: a second submission with it returns the job of the first
    once: str | None = None
    #: ingest even if nothing has changed
    force: bool = False


@dataclass(frozen=True, slots=True)
class SubmittedDocument:
    """A document that is being ingested, and its job."""

    document: Document
    job: Job


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result for each document of a batch, in order: submitted or refused."""

    results: tuple[SubmittedDocument | GatelegError, ...] = field(default_factory=tuple)

    @property
    def refused(self) -> int:
        """Number of refused documents."""
        return sum(isinstance(one, GatelegError) for one in self.results)


async def ingest_document(
    resources: Resources[RagSettings], caller: Caller, repository_id: str, collection: str, new: NewDocument
) -> SubmittedDocument:
    """Ingest one document into a collection (its id or name). Checks what it can at once; other errors are reported by the job."""
    opened = await open_collection(resources.store, caller, repository_id, collection, Action.INGEST)
    return await _ingest(resources, caller, opened, new)


async def ingest_batch(
    resources: Resources[RagSettings], caller: Caller, repository_id: str, collection: str, batch: Sequence[NewDocument]
) -> BatchResult:
    """Ingest many documents. A document that is refused does not stop the others."""
    if not 1 <= len(batch) <= MAX_BATCH_DOCUMENTS:
        raise BadValue(f"The batch has {len(batch)} documents; it must have 1 to {MAX_BATCH_DOCUMENTS}.", fix="Send several batches.")
    opened = await open_collection(resources.store, caller, repository_id, collection, Action.INGEST)
    check_accepts_documents(opened.repository, opened.collection)
    results: list[SubmittedDocument | GatelegError] = []
    for new in batch:
        try:
            results.append(await _ingest(resources, caller, opened, new))
        except GatelegError as error:
            results.append(error)
    return BatchResult(tuple(results))


def document_id_of(repository_id: str, collection_id: str, source: str) -> str:
    """The id of a document sent without one: derived from its source, so that the same source replaces the same document."""
    return str(uuid5(NAMESPACE_URL, f"gateleg:rag:{repository_id}#{collection_id}#{source}"))


async def _ingest(resources: Resources[RagSettings], caller: Caller, opened: OpenedCollection, new: NewDocument) -> SubmittedDocument:
    repository, collection = opened.repository, opened.collection
    check_accepts_documents(repository, collection)
    strategy = None if new.strategy is None else checked_override(collection, new.strategy).stored()
    if new.metadata is not None:
        check_metadata(Metadata(tags=new.metadata.tags, custom_fields=new.metadata.custom_fields))
        check_reserved(new.metadata.custom_fields)
    kind, name = _kind_and_name(new)
    document_id = new.document_id or _default_id(opened, new, kind, name)
    existing = await _find_existing(resources, caller, opened, document_id, must_exist=new.document_id is not None)
    source = await _source(resources, opened, document_id, kind, name, new)
    config = IngestConfig(
        repository_id=repository.repository_id,
        collection_id=collection.collection_id,
        document_id=document_id,
        name=name,
        source=source,
        strategy=strategy,
        metadata=new.metadata,
        username=caller.user,
        force=new.force,
    )
    return await submit_ingestion(resources, config, existing, caller=caller, once=new.once)


def _kind_and_name(new: NewDocument) -> tuple[Literal["key", "text", "url", "chunks"], str]:
    kinds: list[Literal["key", "text", "url", "chunks"]] = [
        kind for kind in ("key", "text", "url", "chunks") if getattr(new, kind) is not None
    ]
    if len(kinds) != 1:
        raise BadValue(f"A document needs one of key, text, url and chunks; got {', '.join(kinds) or 'none'}.", fix="Send exactly one.")
    kind = kinds[0]
    name = new.name or (new.key or "").rpartition("/")[2] or (name_of_url(new.url) if new.url else "")
    if not name.strip():
        raise BadValue(f"A document that is sent as {kind} needs a name.", fix="Send documentName.")
    if len(name) > 1_024:
        raise BadValue("documentName has more than 1,024 characters.", fix="Shorten it.")
    if new.text is not None and (not new.text.strip() or len(new.text) > MAX_TEXT_CHARACTERS):
        raise BadValue(f"text must have 1 to {MAX_TEXT_CHARACTERS:,} characters.", fix="Upload large texts as files.")
    return kind, name


def _default_id(opened: OpenedCollection, new: NewDocument, kind: str, name: str) -> str:
    """The id of a document sent without one. For an upload under the collection's prefix, the id is part of the key."""
    repository_id, collection_id = opened.repository.repository_id, opened.collection.collection_id
    if kind == "key" and new.key is not None:
        own = document_prefix(repository_id, collection_id, "x").removesuffix("x/")
        rest = new.key.removeprefix(own) if new.key.startswith(own) else ""
        if "/" in rest:
            return rest.partition("/")[0]
        return document_id_of(repository_id, collection_id, f"object:{new.key}")
    return document_id_of(repository_id, collection_id, f"{kind}:{new.url if kind == 'url' else name}")


async def _find_existing(
    resources: Resources[RagSettings], caller: Caller, opened: OpenedCollection, document_id: str, *, must_exist: bool
) -> Document | None:
    found = await resources.store.find(
        Document,
        repository_id=opened.repository.repository_id,
        collection_id=opened.collection.collection_id,
        document_id=document_id,
        consistent=True,
    )
    if found is None:
        if must_exist:
            raise UnknownDocument(f"There is no document {document_id!r} in the collection.")
        return None
    caller.require(Action.CHANGE_DOCUMENT, opened.repository, opened.collection, document_owner=found.username)
    check_not_deleting(found)
    return found


async def _source(
    resources: Resources[RagSettings], opened: OpenedCollection, document_id: str, kind: str, name: str, new: NewDocument
) -> SourceConfig:
    """The location of the content. Texts and chunks are first stored as objects, under a key with their digest."""
    repository_id, collection_id = opened.repository.repository_id, opened.collection.collection_id
    if kind == "url":
        await resources.outgoing.check(new.url or "")
        return SourceConfig(kind="url", url=new.url)
    if kind == "key":
        return await _uploaded_source(resources, opened, document_id, new.key or "")
    content = (new.text or "").encode("utf-8", "replace") if kind == "text" else pack_chunks(list(new.chunks or ()))
    if len(content) > resources.settings.upload_bytes:
        raise BadValue(f"The document has {len(content):,} bytes; {resources.settings.upload_bytes:,} are allowed.", fix="Split it.")
    digest = hashlib.sha256(content).hexdigest()
    key = original_key(repository_id, collection_id, document_id, digest, plain_name(name))
    content_type = PREMADE if kind == "chunks" else "text/plain; charset=utf-8"
    await store_original(resources.objects, key, content, digest, content_type)
    return SourceConfig(key=key)


async def _uploaded_source(resources: Resources[RagSettings], opened: OpenedCollection, document_id: str, key: str) -> SourceConfig:
    """An object that was uploaded for this document. Other objects are refused, because the caller may have no right to read them."""
    own = document_prefix(opened.repository.repository_id, opened.collection.collection_id, document_id)
    if not key.startswith(own):
        raise RagAccessDenied(
            "The key does not belong to an upload into this collection.",
            fix="Upload the file to the key that POST .../presigned-url returns.",
        )
    try:
        info = await find_upload(resources.objects, key)
    except ObjectMissing:
        raise SourceMissing(f"There is no object {key!r}.") from None
    if info.size > resources.settings.upload_bytes:
        raise BadValue(f"The document has {info.size:,} bytes; {resources.settings.upload_bytes:,} are allowed.", fix="Split it.")
    return SourceConfig(key=info.key, etag=info.etag)


async def submit_ingestion(
    resources: Resources[Any], config: IngestConfig, existing: Document | None, *, caller: Caller | None = None, once: str | None = None
) -> SubmittedDocument:
    """Write the pending document and its job in one transaction."""
    key = None if once is None else f"rag:ingest:{config.repository_id}:{config.document_id}:{once}"
    submission = Submission(
        INGEST,
        config,
        subject=str(Subject(config.repository_id, config.collection_id)),
        idempotency_key=key,
        # Ingest a document only once at a time.
        concurrency_key=f"rag:{config.document_id}",
    )
    enlisted = await resources.queue.enlist(submission if caller is None else submitted_by(caller.principal, submission))
    if not enlisted.created:
        found = await resources.store.find(_key(config), consistent=True)
        if found is not None:
            return SubmittedDocument(found, enlisted.job)
        # The document was deleted since the first submission, so ingest it again.
        return await submit_ingestion(resources, config, None, caller=caller)
    for _ in range(_MAX_ATTEMPTS):
        try:
            await resources.store.transact([_write(config, existing, enlisted.job.job_id, resources), *enlisted.writes])
        except TransactionCanceled as error:
            if not any(isinstance(reason, AlreadyExists | ConditionFailed | IllegalTransition | NotFound) for reason in error.reasons):
                raise
            # Since it was read, another ingestion has begun or ended, or the document was deleted.
            existing = await resources.store.find(_key(config), consistent=True)
            check_not_deleting(existing)
        else:
            resources.queue.context.jobs.ready.notify(enlisted.job.queue)
            return SubmittedDocument(await resources.store.get(_key(config), consistent=True), enlisted.job)
    raise NotActive(f"Others changed the document during each of {_MAX_ATTEMPTS} attempts.", fix="Send it again.")


def check_not_deleting(document: Document | None) -> None:
    """Refuse to ingest a document that is being deleted."""
    if document is not None and document.status in _DELETING:
        raise NotActive("The document is being deleted.", fix="Wait until it is deleted, then send it again.")


def _key(config: IngestConfig) -> Any:
    return Document.key(repository_id=config.repository_id, collection_id=config.collection_id, document_id=config.document_id)


def _write(config: IngestConfig, existing: Document | None, job_id: UUID, resources: Resources[Any]) -> WriteOperation[Any]:
    """Create the row, or mark the existing one as pending; its current generation stays until the new one is published."""
    now = int(resources.store.setup.now().timestamp() * 1000)
    if existing is None:
        return create(_new_row(config, job_id, now))
    actions = [Document.job_id.set(job_id), Document.upload_date.set(now), Document.error_message.remove()]
    if config.source.etag is not None:
        # Pipelines compare it, so that they submit each version of an object once, even if its ingestion fails.
        actions.append(Document.source_etag.set(config.source.etag))
    if existing.status is DocumentStatus.PENDING:
        return patch(existing.key, *actions, condition=Document.status == DocumentStatus.PENDING)
    return patch(existing.key, Document.status.to(DocumentStatus.PENDING), *actions)


def _new_row(config: IngestConfig, job_id: UUID, now: int) -> Document:
    own = config.metadata
    return Document(
        document_id=config.document_id,
        repository_id=config.repository_id,
        collection_id=config.collection_id,
        document_name=config.name,
        source=config.source.key if config.source.kind == "object" else "",
        bucket=config.source.bucket,
        url=config.source.url,
        username=config.username,
        ingestion_type=config.ingestion_type,
        upload_date=now,
        metadata=None if own is None else Metadata(tags=own.tags, custom_fields=own.custom_fields),
        pipeline_id=config.pipeline_id,
        source_etag=config.source.etag,
        job_id=job_id,
    )
