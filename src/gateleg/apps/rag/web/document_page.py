"""The page of a document: its properties and actions, and its passages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.deleting.submission import start_document_deletion
from gateleg.apps.rag.documents import download_url, open_document
from gateleg.apps.rag.reading_log import note_read
from gateleg.apps.rag.web.page_inspector import inspector
from gateleg.apps.rag.web.page_paths import HOME, collection_path
from gateleg.apps.rag.web.statuses import document_badge
from gateleg.apps.rag.web.visit import NOT_FOUND_ERRORS, caller_of, do, show_not_found
from gateleg.host import Role
from gateleg.web.console.components import Crumb, button, carry_out, confirm, frame, size_text, tag

if TYPE_CHECKING:
    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.documents import OpenedDocument
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.web.page_inspector import Pointer
    from gateleg.host import Resources
    from gateleg.web.console.components import View


async def document_page(
    resources: Resources[RagSettings], repository_id: str, document_id: str, pointer: Pointer, cursor: str = ""
) -> None:
    """Show a document at the position of `pointer`, if the viewer can read its collection."""
    with frame(title="Document", section="rag", crumbs=[Crumb("Documents", HOME)], titled=False) as view:
        caller = caller_of(view, resources)
        try:
            opened = await open_document(resources.store, caller, repository_id, document_id)
        except NOT_FOUND_ERRORS:
            show_not_found("document")
            return
        await note_read(resources, view.principal, "rag.read-chunks", opened.document)
        await _head(view, resources, caller, opened)
        await inspector(resources, opened.document, pointer, cursor)


async def _head(view: View, resources: Resources[RagSettings], caller: Caller, opened: OpenedDocument) -> None:
    document = opened.document
    where = collection_path(opened.repository.repository_id, opened.collection.collection_id)
    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", document.document_name or document.document_id, dir="auto")
            with tag("p", classes="line gap-1 meta"):
                document_badge(document)
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
            await _actions(view, resources, caller, opened)
    for problem in filter(None, (document.error_message, document.keywords_only)):
        with tag("div", classes="note failed", role="status"):
            tag("span", problem)


async def _actions(view: View, resources: Resources[RagSettings], caller: Caller, opened: OpenedDocument) -> None:
    document, repository_id = opened.document, opened.repository.repository_id

    async def download() -> None:
        ui.navigate.to(await download_url(resources, caller, repository_id, document.document_id))

    # The file is compared with what was ingested when somebody asks for it, which takes longer than a page may.
    button("Download", lambda: carry_out(view, Role.MEMBER, download), icon="download", look="small")
    if not caller.decide(Action.CHANGE_DOCUMENT, opened.repository, opened.collection, document_owner=document.username).allowed:
        return
    where = collection_path(opened.repository.repository_id, opened.collection.collection_id)

    async def delete() -> None:
        if await confirm("Delete this document?", "Its file, passages and vectors are removed.", verb="Delete"):
            wanted = [document.document_id]
            await do(view, lambda: start_document_deletion(resources.queue, caller, repository_id, wanted), "Deletion started", where)

    button("Delete", delete, icon="delete", look="small danger")
