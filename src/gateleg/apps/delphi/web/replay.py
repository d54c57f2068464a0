"""The page with the animation of how the groups formed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui.element import Element

from gateleg.apps.delphi.reports.config import TIMELINE
from gateleg.web.console.components import empty, section

if TYPE_CHECKING:
    from gateleg.apps.delphi.web.overviews import Overview
    from gateleg.web.console.components import View


class Replay(Element, component="delphi_replay.js", esm={"delphi-maps": "../reports/static"}):
    """The animation of a run, drawn in the browser from one response of the API."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.props["source"] = source


async def replay_part(view: View, shown: Overview) -> None:
    """How the groups of the selected run formed."""
    report = shown.stages.report
    if report is None or TIMELINE not in report.summary.get("artifacts", []):
        why = "A run has a timeline if it has a report, and if its votes have different times, which those of a spreadsheet do not."
        empty("people", "No timeline", why)
        return
    with section("How the groups formed", "delphi"):
        Replay(f"/api/delphi/runs/{report.job_id}/timeline")
