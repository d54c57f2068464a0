"""Use cases: ingest uploaded objects, texts, addresses and pre-made chunks, one by one or many at once. Each document is a job."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from uuid import NAMESPACE_URL, uuid5

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import open_collection
from gateleg.apps.rag.errors import AccessDenied, BadField, NotActive, SourceMissing, UnknownDocument
from gateleg.apps.rag.ingesting.job_types import INGEST, DocumentMetadata, IngestConfig, SourceConfig
from gateleg.apps.rag.ingesting.metadata import check_reserved
from gateleg.apps.rag.ingesting.premade import PREMADE, PremadeChunk, pack_chunks
from gateleg.apps.rag.ingesting.preparation import checked_override
from gateleg.apps.rag.ingesting.sourcing import name_of_url
from gateleg.apps.rag.object_keys import document_prefix, source_key
from gateleg.apps.rag.rules import check_accepts_documents, check_metadata
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import Document, DocumentStatus, Metadata
from gateleg.errors import GatelegError
from gateleg.jobs import Submission
from gateleg.objects import ObjectMissing, plain_name
from gateleg.store import AlreadyExists, ConditionFailed, IllegalTransition, NotFound, TransactionCanceled, create, patch
from gateleg.web import submitted_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.collections import Opened
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.jobs import Job
    from gateleg.store import WriteOperation
    from gateleg.web import Resources

#: Documents of one batch.
MOST_IN_BATCH = 100
#: Characters of a text that is sent as such.
MOST_TEXT = 20_000_000
#: How often a document is read again that others change at the same time.
_TRIES = 5
_DELETING = (DocumentStatus.DELETE_IN_PROGRESS, DocumentStatus.DELETE_FAILED)


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to ingest: one of `key`, `text`, `url` and `chunks` is its content."""

    #: an object that was uploaded
    key: str | None = None
    text: str | None = None
    url: str | None = None
    chunks: Sequence[PremadeChunk] | None = None
    #: what it is called; the last part of the key or the address when left out
    name: str | None = None
    #: the document that it replaces; without, that of the same source in the collection, or a new one
    document_id: str | None = None
    strategy: Mapping[str, Any] | None = None
    metadata: DocumentMetadata | None = None
    #: a second submission with this key answers with the first one's job
    once: str | None = None
    #: also when nothing has changed
    force: bool = False


@dataclass(frozen=True, slots=True)
class Submitted:
    """A document that is being ingested, and its job."""

    document: Document
    job: Job


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of each document of a batch, in order: submitted, or refused."""

    results: tuple[Submitted | GatelegError, ...] = field(default_factory=tuple)

    @property
    def refused(self) -> int:
        """How many were refused."""
        return sum(isinstance(one, GatelegError) for one in self.results)


async def ingest_document(
    resources: Resources[RagSettings], caller: Caller, repository_id: str, collection: str, new: NewDocument
) -> Submitted:
    """Ingest one document into a collection (its id or name). What can be refused at once is; the rest is the job's."""
    opened = await open_collection(resources.store, caller, repository_id, collection, Action.INGEST)
    return await _ingest(resources, caller, opened, new)


async def ingest_batch(
    resources: Resources[RagSettings], caller: Caller, repository_id: str, collection: str, batch: Sequence[NewDocument]
) -> BatchResult:
    """Ingest many documents. One that is refused does not keep the others from being ingested."""
    if not 1 <= len(batch) <= MOST_IN_BATCH:
        raise BadField(f"The batch has {len(batch)} documents; it must have 1 to {MOST_IN_BATCH}.", fix="Send several batches.")
    opened = await open_collection(resources.store, caller, repository_id, collection, Action.INGEST)
    check_accepts_documents(opened.repository, opened.collection)
    results: list[Submitted | GatelegError] = []
    for new in batch:
        try:
            results.append(await _ingest(resources, caller, opened, new))
        except GatelegError as error:
            results.append(error)
    return BatchResult(tuple(results))


def document_id_of(repository_id: str, collection_id: str, source: str) -> str:
    """The id of a document that has none: the same for the same source in a collection, so that it replaces what it was."""
    return str(uuid5(NAMESPACE_URL, f"gateleg:rag:{repository_id}#{collection_id}#{source}"))


async def _ingest(resources: Resources[RagSettings], caller: Caller, opened: Opened, new: NewDocument) -> Submitted:
    repository, collection = opened.repository, opened.collection
    check_accepts_documents(repository, collection)
    strategy = None if new.strategy is None else checked_override(collection, new.strategy).stored()
    if new.metadata is not None:
        check_metadata(Metadata(tags=new.metadata.tags, custom_fields=new.metadata.custom_fields))
        check_reserved(new.metadata.custom_fields)
    kind, name = _kind_and_name(new)
    document_id = new.document_id or _usual_id(opened, new, kind, name)
    existing = await _existing(resources, caller, opened, document_id, asked=new.document_id is not None)
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
    given: list[Literal["key", "text", "url", "chunks"]] = [
        kind for kind in ("key", "text", "url", "chunks") if getattr(new, kind) is not None
    ]
    if len(given) != 1:
        raise BadField(f"A document needs one of key, text, url and chunks; got {', '.join(given) or 'none'}.", fix="Send exactly one.")
    kind = given[0]
    name = new.name or (new.key or "").rpartition("/")[2] or (name_of_url(new.url) if new.url else "")
    if not name.strip():
        raise BadField(f"A document that is sent as {kind} needs a name.", fix="Send documentName.")
    if len(name) > 1_024:
        raise BadField("documentName has more than 1,024 characters.", fix="Shorten it.")
    if new.text is not None and (not new.text.strip() or len(new.text) > MOST_TEXT):
        raise BadField(f"text must have 1 to {MOST_TEXT:,} characters.", fix="Upload large texts as files.")
    return kind, name


def _usual_id(opened: Opened, new: NewDocument, kind: str, name: str) -> str:
    """The id of a document that names none. An upload under the collection's prefix has the id that its key names."""
    repository_id, collection_id = opened.repository.repository_id, opened.collection.collection_id
    if kind == "key" and new.key is not None:
        own = document_prefix(repository_id, collection_id, "x").removesuffix("x/")
        rest = new.key.removeprefix(own) if new.key.startswith(own) else ""
        if "/" in rest:
            return rest.partition("/")[0]
        return document_id_of(repository_id, collection_id, f"object:{new.key}")
    return document_id_of(repository_id, collection_id, f"{kind}:{new.url if kind == 'url' else name}")


async def _existing(resources: Resources[RagSettings], caller: Caller, opened: Opened, document_id: str, *, asked: bool) -> Document | None:
    found = await resources.store.find(
        Document,
        repository_id=opened.repository.repository_id,
        collection_id=opened.collection.collection_id,
        document_id=document_id,
        consistent=True,
    )
    if found is None:
        if asked:
            raise UnknownDocument(f"There is no document {document_id!r} in the collection.")
        return None
    caller.require(Action.CHANGE_DOCUMENT, opened.repository, opened.collection, document_owner=found.username)
    check_not_deleting(found)
    return found


async def _source(
    resources: Resources[RagSettings], opened: Opened, document_id: str, kind: str, name: str, new: NewDocument
) -> SourceConfig:
    """Where the content is; a text and chunks are stored first, under a key of their own for each content."""
    repository_id, collection_id = opened.repository.repository_id, opened.collection.collection_id
    if kind == "url":
        resources.outgoing.guard.check_url(new.url or "")
        return SourceConfig(kind="url", url=new.url)
    if kind == "key":
        return await _uploaded(resources, opened, document_id, new.key or "")
    content = (new.text or "").encode("utf-8", "replace") if kind == "text" else pack_chunks(list(new.chunks or ()))
    if len(content) > resources.settings.upload_bytes:
        raise BadField(f"The document has {len(content):,} bytes; {resources.settings.upload_bytes:,} are allowed.", fix="Split it.")
    digest = hashlib.sha256(content).hexdigest()
    key = source_key(repository_id, collection_id, document_id, f"{digest[:16]}/{plain_name(name)}")
    content_type = PREMADE if kind == "chunks" else "text/plain; charset=utf-8"
    await resources.objects.put(key, content, content_type=content_type, sha256=digest)
    return SourceConfig(key=key)


async def _uploaded(resources: Resources[RagSettings], opened: Opened, document_id: str, key: str) -> SourceConfig:
    """An object that was uploaded for this document. Other objects of the store are refused: the caller may not be allowed to read them."""
    own = document_prefix(opened.repository.repository_id, opened.collection.collection_id, document_id)
    if not key.startswith(own):
        raise AccessDenied(
            "The key is not that of an upload into this collection.", fix="Upload the file to the key that POST .../presigned-url returns."
        )
    try:
        info = await resources.objects.head(key)
    except ObjectMissing:
        raise SourceMissing(f"There is no object {key!r}.") from None
    if info.size > resources.settings.upload_bytes:
        raise BadField(f"The document has {info.size:,} bytes; {resources.settings.upload_bytes:,} are allowed.", fix="Split it.")
    return SourceConfig(key=key, etag=info.etag)


async def submit_ingestion(
    resources: Resources[Any], config: IngestConfig, existing: Document | None, *, caller: Caller | None = None, once: str | None = None
) -> Submitted:
    """Write a document that waits for its ingestion, and the job, both or neither."""
    key = None if once is None else f"rag:ingest:{config.repository_id}:{config.document_id}:{once}"
    submission = Submission(
        INGEST,
        config,
        subject=str(Subject(config.repository_id, config.collection_id)),
        idempotency_key=key,
        # Two ingestions of one document would only get into each other's way.
        concurrency_key=f"rag:{config.document_id}",
    )
    enlisted = await resources.queue.enlist(submission if caller is None else submitted_by(caller.principal, submission))
    if not enlisted.created:
        found = await resources.store.find(_key(config), consistent=True)
        if found is not None:
            return Submitted(found, enlisted.job)
        # It was deleted since: what is sent again is to be there again.
        return await submit_ingestion(resources, config, None, caller=caller)
    for _ in range(_TRIES):
        try:
            await resources.store.transact([_write(config, existing, enlisted.job.job_id, resources), *enlisted.writes])
        except TransactionCanceled as error:
            if not any(isinstance(reason, AlreadyExists | ConditionFailed | IllegalTransition | NotFound) for reason in error.reasons):
                raise
            # Another ingestion of it has begun or ended, or it was deleted, since it was read.
            existing = await resources.store.find(_key(config), consistent=True)
            check_not_deleting(existing)
        else:
            resources.queue.context.jobs.ready.notify(enlisted.job.queue)
            return Submitted(await resources.store.get(_key(config), consistent=True), enlisted.job)
    raise NotActive("The document was changed by others all the time.", fix="Send it again.")


def check_not_deleting(document: Document | None) -> None:
    """Refuse to ingest a document that is being deleted."""
    if document is not None and document.status in _DELETING:
        raise NotActive("The document is being deleted.", fix="Wait until it is gone, and send it again.")


def _key(config: IngestConfig) -> Any:
    return Document.key(repository_id=config.repository_id, collection_id=config.collection_id, document_id=config.document_id)


def _write(config: IngestConfig, existing: Document | None, job_id: UUID, resources: Resources[Any]) -> WriteOperation[Any]:
    """A new row; or the row that is there, in which what searches find stays as it is until the new content takes its place."""
    now = int(resources.store.setup.now().timestamp() * 1000)
    if existing is None:
        return create(_new(config, job_id, now))
    actions = [Document.job_id.set(job_id), Document.upload_date.set(now), Document.error_message.remove()]
    if config.source.etag is not None:
        # Pipelines compare it: what they have submitted once is not submitted again, whatever comes of it.
        actions.append(Document.source_etag.set(config.source.etag))
    if existing.status is DocumentStatus.PENDING:
        return patch(existing.key, *actions, condition=Document.status == DocumentStatus.PENDING)
    return patch(existing.key, Document.status.to(DocumentStatus.PENDING), *actions)


def _new(config: IngestConfig, job_id: UUID, now: int) -> Document:
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
