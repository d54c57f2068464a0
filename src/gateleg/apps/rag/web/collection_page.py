"""The page of a collection, with a tab for each part."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import open_collection
from gateleg.apps.rag.documents import DocumentFilter, list_documents
from gateleg.apps.rag.host_checks import model_problem
from gateleg.apps.rag.statistics import count_collection
from gateleg.apps.rag.web.access_part import access_part
from gateleg.apps.rag.web.ask_part import ask_part
from gateleg.apps.rag.web.collection_actions import actions_part, settings_part
from gateleg.apps.rag.web.evaluation_part import evaluation_part
from gateleg.apps.rag.web.page_paths import HOME, document_path, repository_path
from gateleg.apps.rag.web.pipeline_part import pipeline_part
from gateleg.apps.rag.web.search_part import search_part
from gateleg.apps.rag.web.statuses import collection_badge, document_cell
from gateleg.apps.rag.web.visit import NOT_FOUND_ERRORS, Visit, caller_of, show_not_found
from gateleg.web.console.components import (
    Column,
    Crumb,
    FileForm,
    Grid,
    Row,
    Tabs,
    Topic,
    address,
    ago_cell,
    empty,
    follow,
    frame,
    pager,
    section,
    size_text,
    tag,
)

if TYPE_CHECKING:
    from gateleg.apps.rag.documents import DocumentPage
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Document
    from gateleg.host import Resources

_COLUMNS = (
    Column("name", "Document"),
    Column("status", "Status"),
    Column("chunks", "Passages", right=True),
    Column("pages", "Pages", right=True, desk=True),
    Column("size", "Size", right=True, desk=True),
    Column("by", "Added by", desk=True),
    Column("added", "Added", desk=True),
)
_SIZE = 50
#: Seconds between two refreshes of the documents.
_REFRESH_SECONDS = 1.0
TABS = (
    ("documents", "Documents"),
    ("search", "Search"),
    ("ask", "Ask"),
    ("evaluate", "Evaluation"),
    ("pipelines", "Pipelines"),
    ("access", "Access"),
    ("settings", "Settings"),
)


async def collection_page(
    resources: Resources[RagSettings], repository_id: str, collection_id: str, tab: str = "", cursor: str = "", item: str = ""
) -> None:
    """Show a collection, if the viewer can read it. `item` selects a golden set or a run of the evaluation tab."""
    with frame(title="Collection", section="rag", crumbs=[Crumb("Documents", HOME)], titled=False) as view:
        caller = caller_of(view, resources)
        try:
            opened = await open_collection(resources.store, caller, repository_id, collection_id)
        except NOT_FOUND_ERRORS:
            show_not_found("collection")
            return
        visit = Visit(view, resources, caller, opened)
        await _head(visit)

        async def build(key: str) -> None:
            match key:
                case "documents":
                    await _documents(visit, cursor)
                case "search":
                    search_part(visit)
                case "ask":
                    ask_part(visit)
                case "evaluate":
                    await evaluation_part(visit, item, cursor)
                case "pipelines":
                    await pipeline_part(visit)
                case "access":
                    await access_part(visit)
                case "settings":
                    settings_part(visit)

        await Tabs(TABS, tab or None, build).start()


async def _head(visit: Visit) -> None:
    opened = visit.opened
    found = opened.collection
    counted = await count_collection(visit.resources.store, opened)
    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", found.name or "Default collection", dir="auto")
            if found.description:
                tag("p", found.description, "muted", dir="auto")
            with tag("p", classes="line gap-1 meta"):
                collection_badge(found.status)
                tag("a", opened.repository.config.repository_name or found.repository_id, "link", href=repository_path(found.repository_id))
                tag("span", f"{counted.documents:,} documents", "num")
                tag("span", f"{counted.chunks:,} passages", "num")
                tag("span", size_text(counted.size), "num")
                tag("span", found.embedding_model)
        actions_part(visit)
    problem = model_problem(visit.resources, found.embedding_model)
    if problem is not None:
        with tag("div", classes="note failed", role="status"):
            tag("span", f"{problem} Until then, new documents are found by keywords only.")


async def _documents(visit: Visit, cursor: str) -> None:
    found = visit.opened.collection

    async def load() -> DocumentPage:
        return await list_documents(
            visit.resources.store,
            visit.caller,
            found.repository_id,
            DocumentFilter(),
            collection_id=found.collection_id,
            size=_SIZE,
            token=cursor or None,
        )

    first = await load()
    if visit.caller.may(Action.INGEST, visit.opened.repository, found):
        where = f"/api/rag/repository/{quote(found.repository_id, safe='')}/document"
        most = min(visit.resources.settings.upload_bytes, visit.view.host.settings.upload_limit)
        words = "or drop them here: PDF, Office, HTML, Markdown, e-mail, text, CSV, JSON, scans"
        FileForm(address(where, {"collectionId": found.collection_id}), method="POST", words=words, max_bytes=most, multiple=True)
    with section("Documents"):
        grid = Grid("Documents", _COLUMNS, [_row(one) for one in first.page.rows])
        nothing = empty("tray", "No documents yet", "Upload files above, or create a pipeline.")
        pager(visit.here, {}, cursor=cursor or None, following=first.page.next, shown=len(first.page.rows))

    def show(now: DocumentPage) -> None:
        grid.show([_row(one) for one in now.page.rows])
        grid.set_visibility(bool(now.page.rows))
        nothing.set_visibility(not now.page.rows)

    show(first)
    # The list depends on the viewer's rights, so only pages of the same user share a refresh.
    topic = Topic(("rag", found.repository_id, found.collection_id, visit.caller.user, cursor), load, _REFRESH_SECONDS)
    follow(visit.view.live, topic, show)


def _row(one: Document) -> Row:
    cells = {
        "name": one.document_name or one.document_id,
        "status": document_cell(one),
        "chunks": f"{one.chunks:,}",
        "pages": "" if one.pages is None else f"{one.pages:,}",
        "size": "" if one.size is None else size_text(one.size),
        "by": one.username,
        "added": ago_cell(_moment(one.upload_date)),
    }
    return Row(one.document_id, cells, href=document_path(one.repository_id, one.document_id))


def _moment(milliseconds: int) -> datetime | None:
    return datetime.fromtimestamp(milliseconds / 1_000, UTC) if milliseconds else None
