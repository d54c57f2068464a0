"""The schema document of a table, generated from its declaration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.ops import document
from gateleg.web.console.actions import button
from gateleg.web.console.markup import card, tag
from gateleg.web.console.tables.diagrams import table_svg
from gateleg.web.console.tables.state_drawings import state_svg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.model import Table

_DIAGRAM = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)


def schema_tab(table: Table) -> None:
    """The tab: the document to read, copy and download."""
    text = document(table)
    with tag("div", classes="line gap-1 spread fill"):
        tag("p", "Generated from the declaration, so it is always up to date.", "meta")
        with tag("div", classes="line gap-1"):
            tag("button", "Copy Markdown", "deed small", type="button", data_copy=text)
            button("Download", lambda: ui.download.content(text, f"{table.name}.md", "text/markdown"), icon="download", look="small")
    with card("prose", label="Schema document"):
        drawings = drawings_of(table)
        for kind, part in parts_of(text):
            if kind == "text":
                ui.markdown(part, extras=["tables", "fenced-code-blocks"])
            else:
                ui.html(next(drawings), sanitize=False).classes("drawn").props["tabindex"] = "0"


def drawings_of(table: Table) -> Iterator[str]:
    """Our diagrams in the order of the document's: the table, then the states of each attribute that has some."""
    yield table_svg(table)
    for spec in table.specs:
        for attribute in spec.attributes.values():
            if attribute.state:
                yield state_svg(attribute.declared.type)


def parts_of(document: str) -> list[tuple[str, str]]:
    """The document without its title, which the page shows already: texts and diagrams in turn."""
    _, _, body = document.partition("\n\n")
    pieces = _DIAGRAM.split(body)
    kinds = ("text", "diagram")
    return [(kinds[number % 2], piece.strip()) for number, piece in enumerate(pieces) if piece.strip()]
