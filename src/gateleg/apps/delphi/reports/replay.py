"""The replay: one HTML file that animates how the groups formed, offline. It can be played, paused and scrubbed with mouse, touch or
keyboard. With reduced motion it advances in steps. The chart and the table do not need scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi.reports.explorer import POLICY, SPEAK, TEXTS, bundle, script_texts
from gateleg.apps.delphi.reports.markup import json_script, raw, tag
from gateleg.apps.delphi.reports.moments import HOW, growth_chart, moments_table, replay_data
from gateleg.apps.delphi.reports.report import page

if TYPE_CHECKING:
    from gateleg.apps.delphi.reports.findings import Findings

#: In dependency order.
_SCRIPTS = ("texts.js", "ballots.js", "plot.js", "explorer.js", "replay.js")
_START = f'{SPEAK}\nreplay(document.getElementById("replay"), JSON.parse(document.getElementById("data").textContent));'

#: A text of the maps' script that the replay also uses.
_NAMES = {"Group $1": "Group $1"}


def write_replay(findings: Findings) -> str:
    """The page with the replay."""
    body = tag(
        "main",
        {"class": "replay-page"},
        tag("h1", {"dir": "auto", "translate": "no"}, findings.title),
        tag("p", {"class": "lead"}, "How the groups formed"),
        tag(
            "div",
            {"id": "replay"},
            tag("noscript", None, tag("p", None, "The animation needs JavaScript; the chart and the table do not.")),
        ),
        tag("h2", None, "People by group over the votes cast"),
        tag("figure", {"class": "picture"}, growth_chart(findings), tag("figcaption", None, "Grey: people without a group.")),
        tag("p", {"class": "note"}, HOW),
        moments_table(findings),
        json_script(TEXTS, script_texts("replay.js") | _NAMES),
        json_script("data", replay_data(findings)),
        tag("script", {"type": "module"}, raw(f"{bundle(*_SCRIPTS)}\n{_START}")),
    )
    return page(f"{findings.title}: replay", body, ("page.css", "explorer.css", "replay.css"), POLICY)
