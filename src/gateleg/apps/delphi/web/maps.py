"""The linked maps of participants and comments on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui.element import Element

from gateleg.apps.delphi.web.addresses import comment_address
from gateleg.web.console.components import empty

if TYPE_CHECKING:
    from gateleg.apps.delphi.web.overviews import Overview
    from gateleg.web.console.components import View


class Maps(Element, component="delphi_maps.js", esm={"delphi-maps": "../reports/static"}):
    """The maps of a run, drawn in the browser from one response of the API. `start` is the initial selection."""

    def __init__(self, source: str, start: dict[str, Any], comments: str) -> None:
        super().__init__()
        self.props["source"] = source
        self.props["start"] = start
        #: the address of a comment's page, with `ID` for its number
        self.props["comments"] = comments


async def map_part(view: View, shown: Overview) -> None:
    """The maps of the selected run. The address contains the selection."""
    assert shown.selected is not None
    if shown.stages.votes is None:
        empty("people", "No map yet", "This run has not finished finding groups.")
        return
    asked = view.request.query_params
    number = asked.get("comment", "")
    start = {"comment": int(number) if number.isdecimal() else None, "group": asked.get("group"), "topic": asked.get("topic")}
    run = str(shown.selected.job_id)
    Maps(f"/api/delphi/runs/{run}/atlas", start, comment_address(shown.conversation.conversation_id, "ID", asked.get("run", "")))
