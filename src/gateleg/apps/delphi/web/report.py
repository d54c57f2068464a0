"""The report inside the console, with its files behind links that hold for an hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.delphi.reports.config import MAP, REPLAY, REPORT, SUMMARY, TIMELINE
from gateleg.apps.delphi.web.overviews import files_of
from gateleg.web.console.components import card, empty, show_when_loaded, tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.delphi.web.overviews import Overview
    from gateleg.web.console.components import View

#: The kinds of files in the order in which they are offered: how a name ends, what it is, and its icon.
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
    SUMMARY: "On one page",
    "report.pdf": "Report",
    "summary.pdf": "On one page",
    "data/participant-votes.csv": "Votes by participant",
    "data/comment-groups.csv": "Votes by group",
    "data/comment-clusters.csv": "Topics of comments",
    "data/groups.csv": "Groups",
    "data/bridging.csv": "What bridges groups",
    "data/timeline.csv": "Groups over time",
    TIMELINE: "Groups over time",
    "data/narrative.json": "Text of the report",
}


async def report_part(view: View, shown: Overview) -> None:
    """The report of the picked run."""
    if shown.stages.report is None:
        empty("box", "There is no report yet", "This run has not written one.")
        return
    if shown.stages.report.summary.get("withdrawn"):
        empty("box", "The report is withdrawn", "It shows a comment that was rejected since, and is being written again without it.")
        return
    if why := shown.stages.report.summary.get("not_printed"):
        tag("p", f"This report has no PDF and PNG files: {why}", "meta", role="note")
    await show_when_loaded(files_of(view.host.objects, shown.stages.report), _show)


def by_kind(files: Mapping[str, str]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Files by kind: what the kind is, its icon, and for each file its title and address."""
    found = []
    for ending, title, icon in _KINDS:
        own = [(title_of(name), where) for name, where in files.items() if name.endswith(ending)]
        if own:
            found.append((title, icon, own))
    return found


def title_of(name: str) -> str:
    """What a file is called in front of people."""
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
            # Without an origin of its own, what comments may hold reaches neither this page nor the host.
            tag("iframe", src=files[REPORT], sandbox="allow-scripts", title="Report", referrerpolicy="no-referrer")
