"""The replay: one HTML file that plays how the groups came about, without a network. It is played, paused and scrubbed with mouse, touch
or keyboard; who asked for less motion sees it in steps. The chart and the table stand in the page also where scripts do not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi.reports.explorer import POLICY, SPEAK, TEXTS, bundle, script_texts
from gateleg.apps.delphi.reports.markup import json_script, raw, tag
from gateleg.apps.delphi.reports.moments import HOW, growth_chart, moments_table, replay_data
from gateleg.apps.delphi.reports.report import page

if TYPE_CHECKING:
    from gateleg.apps.delphi.reports.findings import Findings

#: Each before those that import it.
_SCRIPTS = ("texts.js", "ballots.js", "plot.js", "explorer.js", "replay.js")
_START = f'{SPEAK}\nreplay(document.getElementById("replay"), JSON.parse(document.getElementById("data").textContent));'

#: What it takes from the script of the maps.
_NAMES = {"Group $1": "Group $1"}


def write_replay(findings: Findings) -> str:
    """The replay as a page of its own."""
    body = tag(
        "main",
        {"class": "replay-page"},
        tag("h1", {"dir": "auto", "translate": "no"}, findings.title),
        tag("p", {"class": "lead"}, "How the groups came about"),
        tag("div", {"id": "replay"}, tag("noscript", None, tag("p", None, "The animation needs scripts. The chart and the table do not."))),
        tag("h2", None, "People by group over the votes cast"),
        tag("figure", {"class": "picture"}, growth_chart(findings), tag("figcaption", None, "Grey: people without a group.")),
        tag("p", {"class": "note"}, HOW),
        moments_table(findings),
        json_script(TEXTS, script_texts("replay.js") | _NAMES),
        json_script("data", replay_data(findings)),
        tag("script", {"type": "module"}, raw(f"{bundle(*_SCRIPTS)}\n{_START}")),
    )
    return page(f"{findings.title}: replay", body, ("page.css", "explorer.css", "replay.css"), POLICY)
