"""The console pages: `/rag` lists the repositories; collections and documents are below it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.rag.web.collection_page import collection_page
from gateleg.apps.rag.web.document_page import document_page
from gateleg.apps.rag.web.home_page import NEW, home_page, new_page
from gateleg.apps.rag.web.page_inspector import Pointer
from gateleg.apps.rag.web.page_paths import HOME
from gateleg.apps.rag.web.repository_page import repository_page
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources


def register(resources: Resources[RagSettings]) -> None:
    """Register the pages with the console."""
    ui.add_css(Path(__file__).parent / "web" / "rag.css", shared=True)

    @ui.page(HOME, response_timeout=PAGE_TIMEOUT_SECONDS)
    async def home() -> None:
        await home_page(resources)

    @ui.page(NEW, response_timeout=PAGE_TIMEOUT_SECONDS)
    async def new() -> None:
        new_page(resources)

    @ui.page(f"{HOME}/{{repository}}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def repository_of(repository: str, cursor: str = "", deleted: str = "") -> None:
        await repository_page(resources, repository, cursor, deleted)

    @ui.page(f"{HOME}/{{repository}}/collection/{{collection:path}}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def collection_of(repository: str, collection: str, tab: str = "", cursor: str = "", item: str = "") -> None:
        await collection_page(resources, repository, collection, tab, cursor, item)

    @ui.page(f"{HOME}/{{repository}}/document/{{document}}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def document_of(repository: str, document: str, cursor: str = "", page: str = "", chunk: str = "", span: str = "") -> None:
        await document_page(resources, repository, document, Pointer.of(page, chunk, span), cursor)
