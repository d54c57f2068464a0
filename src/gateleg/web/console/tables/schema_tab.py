"""The schema document of a table, written from its declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.ops import document
from gateleg.web.console.deeds import deed
from gateleg.web.console.markup import card, tag

if TYPE_CHECKING:
    from gateleg.model import Table


def schema_tab(table: Table) -> None:
    """The tab: the document to read, to copy and to keep."""
    text = document(table)
    with tag("div", classes="line gap-1 spread fill"):
        tag("p", "Written from the declaration, so it is never out of date.", "meta")
        with tag("div", classes="line gap-1"):
            tag("button", "Copy Markdown", "deed small", type="button", data_copy=text)
            deed("Download", lambda: ui.download.content(text, f"{table.name}.md", "text/markdown"), icon="download", look="small")
    # Its own title stands at the head of the page already.
    _, _, body = text.partition("\n\n")
    with card("prose", label="Schema document"):
        ui.markdown(body, extras=["tables", "fenced-code-blocks", "mermaid"])
