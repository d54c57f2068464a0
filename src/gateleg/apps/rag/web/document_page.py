"""The page of a document: what is known of it, and the passages that searches find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.deleting.starting import start_document_deletion
from gateleg.apps.rag.documents import download_url, open_document
from gateleg.apps.rag.errors import UnknownDocument
from gateleg.apps.rag.tables import Chunk
from gateleg.apps.rag.web.places import HOME, collection_place, document_place
from gateleg.apps.rag.web.statuses import document_badge
from gateleg.apps.rag.web.visiting import NOT_THERE, caller_of, do, not_there
from gateleg.objects import ObjectMissing
from gateleg.web.console.components import Crumb, button, confirm, empty, frame, pager, section, size_text, tag

if TYPE_CHECKING:
    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.documents import OpenedDocument
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.web import Resources
    from gateleg.web.console.components import View

_SIZE = 20


async def document_page(resources: Resources[RagSettings], repository_id: str, document_id: str, cursor: str = "", chunk: str = "") -> None:
    """A document, if who looks can read its collection. `chunk` is the ordinal of a passage to point at."""
    with frame(title="Document", section="rag", crumbs=[Crumb("Documents", HOME)], titled=False) as view:
        caller = caller_of(view, resources)
        try:
            opened = await open_document(resources.store, caller, repository_id, document_id)
        except NOT_THERE:
            not_there("document")
            return
        await _head(view, resources, caller, opened)
        await _chunks(resources, opened, cursor, chunk)


async def _head(view: View, resources: Resources[RagSettings], caller: Caller, opened: OpenedDocument) -> None:
    document = opened.document
    where = collection_place(opened.repository.repository_id, opened.collection.collection_id)
    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", document.document_name or document.document_id, dir="auto")
            with tag("p", classes="line gap-1 meta"):
                document_badge(document.status)
                tag("a", opened.collection.name or "Default collection", "link", href=where)
                facts = [
                    document.content_type or "",
                    "" if document.size is None else size_text(document.size),
                    "" if document.pages is None else f"{document.pages} pages",
                    f"{document.chunks} chunks",
                    document.language or "",
                    f"added by {document.username}" if document.username else "",
                ]
                for fact in filter(None, facts):
                    tag("span", fact)
        with tag("div", classes="deeds"):
            await _deeds(view, resources, caller, opened)
    if document.error_message:
        with tag("div", classes="note failed", role="status"):
            tag("span", document.error_message)


async def _deeds(view: View, resources: Resources[RagSettings], caller: Caller, opened: OpenedDocument) -> None:
    document = opened.document
    try:
        url = await download_url(resources.objects, opened, resources.settings.download_seconds)
    except (ObjectMissing, UnknownDocument):
        url = None
    if url is not None:
        with tag("a", classes="deed small", href=url, download=document.document_name or document.document_id):
            ui.icon("download")
            tag("span", "Download")
    if not caller.decide(Action.CHANGE_DOCUMENT, opened.repository, opened.collection, document_owner=document.username).allowed:
        return
    where = collection_place(opened.repository.repository_id, opened.collection.collection_id)

    async def delete() -> None:
        if await confirm("Delete this document?", "Its file, its passages and their vectors are removed.", verb="Delete"):
            repository_id, wanted = opened.repository.repository_id, [document.document_id]
            await do(view, lambda: start_document_deletion(resources.queue, caller, repository_id, wanted), "Deletion has begun", where)

    button("Delete", delete, icon="delete", look="small danger")


async def _chunks(resources: Resources[RagSettings], opened: OpenedDocument, cursor: str, chosen: str) -> None:
    document = opened.document
    with section("Passages"):
        if document.generation is None:
            empty("search", "Not searchable yet", "Its passages are shown here when it has been read.")
            return
        first = int(chosen) if chosen.isascii() and chosen.isdecimal() and len(chosen) < 7 else None
        query = Chunk.of_document(document_id=document.document_id, generation=document.generation)
        if first is not None and not cursor:
            query = query.where(Chunk.ordinal >= first)
        page = await resources.store.page(query, limit=_SIZE, cursor=cursor or None)
        for one in page:
            _passage(one, pointed=one.ordinal == first)
        here = document_place(opened.repository.repository_id, document.document_id)
        pager(here, {"chunk": chosen} if chosen else {}, cursor=cursor or chosen or None, following=page.next, shown=len(page.items))
        if chosen:
            tag("a", "All passages", "link meta", href=here)


def _passage(one: Chunk, *, pointed: bool) -> None:
    with tag("article", classes=f"card stack gap-1 rag-passage{' pointed' if pointed else ''}"):
        with tag("p", classes="line gap-1 meta"):
            tag("span", f"Passage {one.ordinal + 1}", "strong")
            if one.page is not None:
                tag("span", f"page {one.page}")
            tag("span", f"characters {one.start:,} to {one.end:,}", "num")
            if one.heading:
                tag("span", one.heading, dir="auto")
        tag("p", one.text, "rag-text", dir="auto")
