"""Use cases: read, list, change and download documents. A document is seen by those who can read its collection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import find_collection, open_collection
from gateleg.apps.rag.drafts import Draft, MetadataDraft
from gateleg.apps.rag.errors import NotActive, StaleVersion, UnknownDocument
from gateleg.apps.rag.keyset import KeysetPage, Pager, in_order
from gateleg.apps.rag.object_keys import document_prefix
from gateleg.apps.rag.repositories import get_repository, metadata_of
from gateleg.apps.rag.tables import Document, DocumentStatus, Repository
from gateleg.store import LostRace, NotFound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.keyset import Place
    from gateleg.apps.rag.tables import Collection
    from gateleg.model import Query
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore

_DELETING = (DocumentStatus.DELETE_IN_PROGRESS, DocumentStatus.DELETE_FAILED)


@dataclass(frozen=True, slots=True)
class OpenedDocument:
    """A document with its collection and its repository, as the caller may use them."""

    repository: Repository
    collection: Collection
    document: Document


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents are wanted, and in which order: newest first, or oldest first."""

    #: part of the name, in any letter case
    text: str | None = None
    status: DocumentStatus | None = None
    tag: str | None = None
    descending: bool = True

    def fits(self, document: Document) -> bool:
        """Whether a document is wanted."""
        if self.status is not None and document.status is not self.status:
            return False
        if self.tag is not None and (document.metadata is None or self.tag not in document.metadata.tags):
            return False
        return (self.text or "").casefold() in document.document_name.casefold()

    @property
    def is_empty(self) -> bool:
        """Whether all documents are wanted."""
        return not self.text and self.status is None and self.tag is None


class DocumentChanges(Draft):
    """Changes of a document; null clears its metadata."""

    metadata: MetadataDraft | None = None
    document_name: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Some documents in order, and how many there are where nothing is filtered."""

    page: KeysetPage[Document]
    total: int | None


async def open_document(
    store: AsyncStore, caller: Caller, repository_id: str, document_id: str, action: Action = Action.READ
) -> OpenedDocument:
    """A document of a repository with which the caller may do something. One of another repository is not found."""
    repository = await get_repository(store, caller, repository_id)
    found = await find_document(store, repository, document_id)
    collection = None if found is None else await find_collection(store, repository, found.collection_id)
    if found is None or collection is None or not caller.may(Action.READ, repository, collection):
        raise UnknownDocument(f"There is no document {document_id!r} in the repository {repository_id!r}.")
    caller.require(action, repository, collection, document_owner=found.username)
    return OpenedDocument(repository, collection, found)


async def find_document(store: AsyncStore, repository: Repository, document_id: str) -> Document | None:
    """A document of a repository by its id, in whichever collection; no rights are asked."""
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
    wanted: DocumentFilter,
    *,
    collection_id: str | None = None,
    size: int = 10,
    token: str | None = None,
) -> DocumentPage:
    """The documents of a collection, or of all collections of a repository that the caller can read."""
    repository = await get_repository(store, caller, repository_id)
    if collection_id is None:
        return await _list_repository(store, caller, repository, wanted, size, token)
    opened = await open_collection(store, caller, repository_id, collection_id)
    found = opened.collection.collection_id
    pager = _pager(store, ["collection", repository_id, found, caller.user], wanted, size, token)
    rows = stream_documents(store, repository_id, found, descending=wanted.descending, last=pager.last)
    page = await pager.take(_fitting(rows, wanted.fits))
    return DocumentPage(page, await count_documents(store, repository_id, found) if wanted.is_empty else None)


async def _list_repository(
    store: AsyncStore, caller: Caller, repository: Repository, wanted: DocumentFilter, size: int, token: str | None
) -> DocumentPage:
    pager = _pager(store, ["repository", repository.repository_id, caller.user], wanted, size, token)
    query = Document.in_repository(repository_id=repository.repository_id)
    readable: dict[str, bool] = {}

    async def permitted() -> AsyncIterator[Document]:
        async for row in in_order(aiter(store.query(_from(query, pager.last, wanted.descending))), _place):
            name = row.collection_id
            if name not in readable:
                collection = await find_collection(store, repository, name)
                readable[name] = collection is not None and caller.may(Action.READ, repository, collection)
            if readable[name]:
                yield row

    page = await pager.take(_fitting(permitted(), wanted.fits))
    return DocumentPage(page, None)


def _pager(store: AsyncStore, question: list[object], wanted: DocumentFilter, size: int, token: str | None) -> Pager[Document]:
    return Pager.of(store, ["documents", *question, wanted], _place, descending=wanted.descending, size=size, token=token)


def _place(row: Document) -> Place:
    return (row.upload_date, row.document_id)


def _from(query: Query[Document], last: Place | None, descending: bool) -> Query[Document]:
    if last is not None:
        query = query.where(Document.upload_date <= int(last[0])) if descending else query.where(Document.upload_date >= int(last[0]))
    return query if descending else query.reversed()


async def _fitting(rows: AsyncIterator[Document], fits: Callable[[Document], bool]) -> AsyncIterator[Document]:
    async for row in rows:
        if fits(row):
            yield row


async def stream_documents(
    store: AsyncStore, repository_id: str, collection_id: str, *, descending: bool = True, last: Place | None = None
) -> AsyncIterator[Document]:
    """The documents of a collection by their date, from a place on."""
    query = _from(Document.in_collection(collection_id=collection_id, repository_id=repository_id), last, descending)
    async for row in in_order(aiter(store.query(query)), _place):
        yield row


async def count_documents(store: AsyncStore, repository_id: str, collection_id: str) -> int:
    """How many documents a collection has."""
    return await store.count(Document.in_partition, repository_id=repository_id, collection_id=collection_id)


async def update_document(
    store: AsyncStore, caller: Caller, repository_id: str, document_id: str, changes: DocumentChanges, expected: int | None = None
) -> OpenedDocument:
    """Change the metadata or the name of a document; `expected` is the version that the caller has read."""
    opened = await open_document(store, caller, repository_id, document_id, Action.CHANGE_DOCUMENT)
    actions = _actions(changes.sent())
    row = opened.document
    for _ in range(10):
        if expected is not None and row.version != expected:
            raise StaleVersion(f"The document has version {row.version}, not {expected}: somebody has changed it since it was read.")
        if row.status in _DELETING:
            raise NotActive("The document is being deleted.", fix="Upload it again to have it back.")
        if not actions:
            return opened
        try:
            return replace(opened, document=await store.patch(row, *actions))
        except LostRace as lost:
            row = lost.current
        except NotFound:
            raise UnknownDocument(f"There is no document {document_id!r} in the repository {repository_id!r}.") from None
    raise StaleVersion("The document was changed by others all the time.", fix="Try again.")


def _actions(sent: dict[str, Any]) -> list[Any]:
    actions: list[Any] = []
    if "metadata" in sent:
        found = metadata_of(sent["metadata"])
        actions.append(Document.metadata.remove() if found is None else Document.metadata.set(found))
    if sent.get("document_name"):
        actions.append(Document.document_name.set(sent["document_name"]))
    return actions


def check_own_source(document: Document) -> None:
    """Refuse to read a source that is not the document's own: rows of the public system name objects that this host does not have."""
    own = document_prefix(document.repository_id, document.collection_id, document.document_id)
    if document.bucket is None and not document.source.startswith(own):
        raise UnknownDocument(
            f"The file of the document {document.document_id!r} is not in the object store of this host.",
            fix=f"Its source is {document.source!r}.",
        )


async def download_url(objects: AsyncObjects, opened: OpenedDocument, seconds: int) -> str:
    """A link to the document as it was sent, which expires."""
    document = opened.document
    check_own_source(document)
    return await objects.presign(document.source, expires=seconds, download=document.document_name or None)
