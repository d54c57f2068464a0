"""Read, list, change and download documents. The right to read a collection includes its documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import find_collection, open_collection
from gateleg.apps.rag.drafts import Draft, MetadataDraft
from gateleg.apps.rag.errors import NotActive, SourceChanged, StaleVersion, UnknownDocument
from gateleg.apps.rag.keyset import KeysetPage, Pager, order_ties
from gateleg.apps.rag.object_keys import document_prefix
from gateleg.apps.rag.reading_log import note_read
from gateleg.apps.rag.repositories import get_repository, metadata_of
from gateleg.apps.rag.tables import Document, DocumentStatus, Repository, Revision
from gateleg.objects import ContentDiffers
from gateleg.store import LostRace, NotFound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.keyset import SortKey
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Collection
    from gateleg.host import Resources
    from gateleg.model import Query
    from gateleg.store import AsyncStore

#: Attempts at a change while others keep changing the same row.
_MAX_ATTEMPTS = 10
_DELETING = (DocumentStatus.DELETE_IN_PROGRESS, DocumentStatus.DELETE_FAILED)


@dataclass(frozen=True, slots=True)
class OpenedDocument:
    """A document with its collection and its repository, after the access check."""

    repository: Repository
    collection: Collection
    document: Document


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Conditions on listed documents, and their order: newest first or oldest first."""

    #: substring of the name, ignoring case
    text: str | None = None
    status: DocumentStatus | None = None
    tag: str | None = None
    descending: bool = True

    def matches(self, document: Document) -> bool:
        """Whether a document passes the filter."""
        if self.status is not None and document.status is not self.status:
            return False
        if self.tag is not None and (document.metadata is None or self.tag not in document.metadata.tags):
            return False
        return (self.text or "").casefold() in document.document_name.casefold()

    @property
    def is_empty(self) -> bool:
        """Whether all documents pass."""
        return not self.text and self.status is None and self.tag is None


class DocumentChanges(Draft):
    """Changes to a document; null clears its metadata."""

    metadata: MetadataDraft | None = None
    document_name: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page of documents, with the total count if nothing is filtered."""

    page: KeysetPage[Document]
    total: int | None


async def open_document(
    store: AsyncStore, caller: Caller, repository_id: str, document_id: str, action: Action = Action.READ
) -> OpenedDocument:
    """Read a document of a repository and require access to it. A document of another repository is not found."""
    repository = await get_repository(store, caller, repository_id)
    found = await find_document(store, repository, document_id)
    collection = None if found is None else await find_collection(store, repository, found.collection_id)
    if found is None or collection is None or not caller.may(Action.READ, repository, collection):
        raise UnknownDocument(f"There is no document {document_id!r} in the repository {repository_id!r}.")
    caller.require(action, repository, collection, document_owner=found.username)
    return OpenedDocument(repository, collection, found)


async def find_document(store: AsyncStore, repository: Repository, document_id: str) -> Document | None:
    """Find a document of a repository by its id, in any collection. Does not check access."""
    if not 1 <= len(document_id) <= 200:
        return None
    async for row in store.query(Document.with_id, document_id=document_id):
        if row.repository_id == repository.repository_id:
            return await store.find(row.key, consistent=True)
    return None


async def list_documents(
    store: AsyncStore,
    caller: Caller,
    repository_id: str,
    filters: DocumentFilter,
    *,
    collection_id: str | None = None,
    size: int = 10,
    token: str | None = None,
) -> DocumentPage:
    """List the documents of a collection, or of all collections of a repository that the caller can read."""
    repository = await get_repository(store, caller, repository_id)
    if collection_id is None:
        return await _list_repository(store, caller, repository, filters, size, token)
    opened = await open_collection(store, caller, repository_id, collection_id)
    found = opened.collection.collection_id
    pager = _pager(store, ["collection", repository_id, found, caller.user], filters, size, token)
    rows = stream_documents(store, repository_id, found, descending=filters.descending, last=pager.last)
    page = await pager.take(_filter_rows(rows, filters.matches))
    return DocumentPage(page, await count_documents(store, repository_id, found) if filters.is_empty else None)


async def _list_repository(
    store: AsyncStore, caller: Caller, repository: Repository, filters: DocumentFilter, size: int, token: str | None
) -> DocumentPage:
    pager = _pager(store, ["repository", repository.repository_id, caller.user], filters, size, token)
    query = Document.in_repository(repository_id=repository.repository_id)
    readable: dict[str, bool] = {}

    async def permitted() -> AsyncIterator[Document]:
        async for row in order_ties(aiter(store.query(_resume_query(query, pager.last, filters.descending))), _sort_key):
            name = row.collection_id
            if name not in readable:
                collection = await find_collection(store, repository, name)
                readable[name] = collection is not None and caller.may(Action.READ, repository, collection)
            if readable[name]:
                yield row

    page = await pager.take(_filter_rows(permitted(), filters.matches))
    return DocumentPage(page, None)


def _pager(store: AsyncStore, identity: list[object], filters: DocumentFilter, size: int, token: str | None) -> Pager[Document]:
    return Pager.of(store, ["documents", *identity, filters], _sort_key, descending=filters.descending, size=size, token=token)


def _sort_key(row: Document) -> SortKey:
    return (row.upload_date, row.document_id)


def _resume_query(query: Query[Document], last: SortKey | None, descending: bool) -> Query[Document]:
    if last is not None:
        query = query.where(Document.upload_date <= int(last[0])) if descending else query.where(Document.upload_date >= int(last[0]))
    return query if descending else query.reversed()


async def _filter_rows(rows: AsyncIterator[Document], matches: Callable[[Document], bool]) -> AsyncIterator[Document]:
    async for row in rows:
        if matches(row):
            yield row


async def stream_documents(
    store: AsyncStore, repository_id: str, collection_id: str, *, descending: bool = True, last: SortKey | None = None
) -> AsyncIterator[Document]:
    """The documents of a collection by upload date, starting at the date in the sort key `last`."""
    query = _resume_query(Document.in_collection(collection_id=collection_id, repository_id=repository_id), last, descending)
    async for row in order_ties(aiter(store.query(query)), _sort_key):
        yield row


async def count_documents(store: AsyncStore, repository_id: str, collection_id: str) -> int:
    """Count the documents of a collection."""
    return await store.count(Document.in_partition, repository_id=repository_id, collection_id=collection_id)


async def update_document(
    store: AsyncStore, caller: Caller, repository_id: str, document_id: str, changes: DocumentChanges, expected: int | None = None
) -> OpenedDocument:
    """Change the metadata or the name of a document; `expected` is the version that the caller has read."""
    opened = await open_document(store, caller, repository_id, document_id, Action.CHANGE_DOCUMENT)
    actions = _update_actions(changes.sent())
    row = opened.document
    for _ in range(_MAX_ATTEMPTS):
        if expected is not None and row.version != expected:
            raise StaleVersion(f"The document has version {row.version}, not {expected}: somebody has changed it since it was read.")
        if row.status in _DELETING:
            raise NotActive("The document is being deleted.", fix="Upload it again if you still need it.")
        if not actions:
            return opened
        try:
            return replace(opened, document=await store.patch(row, *actions))
        except LostRace as lost:
            row = lost.current
        except NotFound:
            raise UnknownDocument(f"There is no document {document_id!r} in the repository {repository_id!r}.") from None
    raise StaleVersion(f"Others changed the document during each of {_MAX_ATTEMPTS} attempts.", fix="Try again.")


def _update_actions(sent: dict[str, Any]) -> list[Any]:
    actions: list[Any] = []
    if "metadata" in sent:
        found = metadata_of(sent["metadata"])
        actions.append(Document.metadata.remove() if found is None else Document.metadata.set(found))
    if sent.get("document_name"):
        actions.append(Document.document_name.set(sent["document_name"]))
    return actions


def check_own_source(document: Document) -> None:
    """Refuse a source outside the document's prefix. Rows of the public system may refer to objects that this host does not have."""
    own = document_prefix(document.repository_id, document.collection_id, document.document_id)
    if document.bucket is None and not document.source.startswith(own):
        raise UnknownDocument(
            f"The file of the document {document.document_id!r} is not in the object store of this host.",
            fix=f"Its source is {document.source!r}.",
        )


async def download_url(
    resources: Resources[RagSettings], caller: Caller, repository_id: str, document_id: str, content_hash: str | None = None
) -> str:
    """An expiring link to the original file that was ingested and is cited, or to an earlier content with this hash.

    The link serves this content only. Raises `SourceChanged` if the file was replaced, and `UnknownDocument` if no version has the hash.
    """
    opened = await open_document(resources.store, caller, repository_id, document_id)
    version = _version_of(opened.document, content_hash)
    objects = resources.objects if version.bucket is None else resources.objects_named(version.bucket)
    # Until it is ingested, a file has no hash, and nothing cites it.
    digest = version.content_hash or None
    seconds, name = resources.settings.download_seconds, opened.document.document_name or None
    try:
        url = await objects.presign(version.source, expires=seconds, download=name, sha256=digest)
    except ContentDiffers as error:
        raise SourceChanged(
            f"The file of the document {document_id!r} is not the one that was ingested and is cited, so it is not served: {error.message}"
        ) from error
    await note_read(resources, caller.principal, "rag.download", opened.document, version=version.number)
    return url


def _version_of(document: Document, content_hash: str | None) -> Revision:
    """The current content of a document, or the earlier one with a hash."""
    current = Revision(
        number=max(1, document.revision), content_hash=document.content_hash or "", source=document.source, bucket=document.bucket
    )
    if content_hash is not None and content_hash != current.content_hash:
        earlier = next((revision for revision in document.revisions if revision.content_hash == content_hash), None)
        if earlier is None:
            raise UnknownDocument(
                f"No kept version of the document {document.document_id!r} has the hash {content_hash!r}.",
                fix="Leave contentHash out to get the current version.",
            )
        return earlier
    check_own_source(document)
    return current
