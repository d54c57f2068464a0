"""The page with the report and links to its files, which are valid for an hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.delphi.model_warnings import warnings_of
from gateleg.apps.delphi.reports.config import MAP, REPLAY, REPORT, SUMMARY, TIMELINE
from gateleg.apps.delphi.web.overviews import files_of
from gateleg.web.console.components import card, empty, show_when_loaded, tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.delphi.web.overviews import Overview
    from gateleg.web.console.components import View

#: The kinds of files in the order of the page: extension, title and icon.
_KINDS = (
    (".html", "Pages (HTML)", "public"),
    (".pdf", "To print (PDF)", "picture_as_pdf"),
    (".png", "Pictures (PNG)", "image"),
    (".svg", "Drawings (SVG)", "polyline"),
    (".csv", "Tables (CSV)", "table_chart"),
    (".json", "Data (JSON)", "data_object"),
)
_NAMES = {
    REPORT: "Report",
    MAP: "Maps",
    REPLAY: "Groups over time",
    SUMMARY: "Summary",
    "report.pdf": "Report",
    "summary.pdf": "Summary",
    "data/participant-votes.csv": "Votes by participant",
    "data/comment-groups.csv": "Votes by group",
    "data/comment-clusters.csv": "Topics of comments",
    "data/groups.csv": "Groups",
    "data/bridging.csv": "Bridging comments",
    "data/timeline.csv": "Groups over time",
    TIMELINE: "Groups over time",
    "data/narrative.json": "Text of the report",
}


async def report_part(view: View, shown: Overview) -> None:
    """The report of the selected run."""
    if shown.stages.report is None:
        empty("box", "No report yet", "This run has not written a report.")
        return
    if shown.stages.report.summary.get("withdrawn"):
        empty("box", "The report is withdrawn", "It contained a comment that was rejected later, and is being written again without it.")
        return
    if why := shown.stages.report.summary.get("not_printed"):
        tag("p", f"This report has no PDF and PNG files: {why}", "meta", role="note")
    for warning in warnings_of(shown.stages.report.summary):
        tag("p", warning, "warning", role="note")
    await show_when_loaded(files_of(view.host.objects, shown.stages.report), _show)


def by_kind(files: Mapping[str, str]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Files by kind: the title and icon of the kind, and the title and address of each file."""
    found = []
    for ending, title, icon in _KINDS:
        own = [(title_of(name), where) for name, where in files.items() if name.endswith(ending)]
        if own:
            found.append((title, icon, own))
    return found


def title_of(name: str) -> str:
    """The title of a file."""
    if name in _NAMES:
        return _NAMES[name]
    stem = name.rpartition("/")[2].rpartition(".")[0]
    page, _, language = stem.partition(".")
    if language and f"{page}.html" in _NAMES:
        return f"{_NAMES[f'{page}.html']} ({language})"
    if stem.startswith("layer_"):
        return f"Topics, layer {int(stem.removeprefix('layer_')) + 1}"
    return {"groups": "Groups", "consensus": "Common ground"}.get(stem, stem)


def _show(files: Mapping[str, str]) -> None:
    with card("delphi-files", label="Files"):
        for title, icon, own in by_kind(files):
            with tag("div", classes="line gap-1"):
                ui.icon(icon)
                tag("span", title, "meta")
                for name, where in own:
                    tag("a", name, "link", href=where, target="_blank", rel="noopener")
    if REPORT in files:
        with card("tight preview", label="Report"):
            # The sandbox has an opaque origin, so that injected content could reach neither this page nor the host.
            tag("iframe", src=files[REPORT], sandbox="allow-scripts", title="Report", referrerpolicy="no-referrer")
