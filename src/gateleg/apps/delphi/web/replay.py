"""How the groups came about, played on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui.element import Element

from gateleg.apps.delphi.reports.config import TIMELINE
from gateleg.web.console.components import empty, section

if TYPE_CHECKING:
    from gateleg.apps.delphi.web.overviews import Overview
    from gateleg.web.console.components import View


class Replay(Element, component="delphi_replay.js", esm={"delphi-maps": "../reports/static"}):
    """The animation of a run, drawn in the browser from one answer of the API."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.props["source"] = source


async def replay_part(view: View, shown: Overview) -> None:
    """How the groups of the picked run came about."""
    report = shown.stages.report
    if report is None or TIMELINE not in report.summary.get("artifacts", []):
        why = "The report of a run has it, unless all votes were cast at one moment, as in a spreadsheet."
        empty("people", "There is no timeline", why)
        return
    with section("How the groups came about", "delphi"):
        Replay(f"/api/delphi/runs/{report.job_id}/timeline")
