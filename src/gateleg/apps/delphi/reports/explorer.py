"""The interactive map: one HTML file that works without a network. Search, zoom, choose topics and groups, with mouse, touch or keyboard.

The same comments stand in the page as a table, for those who do not use the map and where scripts do not run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.apps.delphi.reports import palette
from gateleg.apps.delphi.reports.findings import ENOUGH_VOTES
from gateleg.apps.delphi.reports.markup import Markup, json_script, raw, tag
from gateleg.apps.delphi.reports.report import page, static

if TYPE_CHECKING:
    from gateleg.apps.delphi.reports.findings import Count, Findings, Statement

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_explorer(findings: Findings) -> str:
    """The map as a page of its own."""
    layers = [
        tag("option", {"value": number, "selected": number == findings.main_layer}, _layer_name(number, len(findings.topics), len(topics)))
        for number, topics in reversed(list(enumerate(findings.topics)))
    ]
    paints = [("topic", "topic"), ("divides", "how much groups differ"), ("all", "what everyone thinks")]
    paints += [(str(group.place), f"what {group.name} thinks") for group in findings.groups]
    top = tag(
        "header",
        None,
        tag("h1", {"dir": "auto"}, findings.title),
        tag("label", None, "Search ", tag("input", {"id": "words", "type": "search", "dir": "auto"})),
        tag("label", None, "Topics ", tag("select", {"id": "layer"}, layers)),
        tag("label", None, "Colour ", tag("select", {"id": "paint"}, (tag("option", {"value": key}, title) for key, title in paints))),
        tag("button", {"id": "reset", "type": "button"}, "Reset"),
        tag("button", {"id": "table", "type": "button"}, "Table"),
    )
    hint = "Map of comments. Arrow keys go from comment to comment, plus and minus zoom, Escape goes back to the list."
    plot = tag("div", {"id": "plot"}, tag("svg", {"role": "application", "tabindex": 0, "aria-label": hint}))
    closing = tag("form", {"method": "dialog"}, tag("button", None, "Close"))
    dialog = tag("dialog", {"aria-label": "All comments"}, closing, _table(findings))
    body = tag(
        "div",
        {"style": "display:contents"},
        top,
        plot,
        tag("aside", {"aria-live": "polite", "aria-label": "Comments"}),
        tag("footer", {"aria-label": "Colours"}),
        dialog,
        tag("noscript", None, _table(findings)),
        json_script("data", _data(findings)),
        tag("script", None, raw(static("explorer.js"))),
    )
    whole = page(f"{findings.title}: map", body, ("page.css", "explorer.css"), _POLICY)
    return whole.replace("<body>", '<body class="explorer">', 1)


def _layer_name(number: int, layers: int, topics: int) -> str:
    if layers == 1:
        return f"{topics} topics"
    place = "coarsest" if number == layers - 1 else "finest" if number == 0 else "between"
    return f"{topics} topics ({place})"


def _data(findings: Findings) -> dict[str, Any]:
    divides = [statement.divisiveness for statement in findings.statements.values()]
    return {
        "comments": [_comment(statement) for statement in findings.statements.values()],
        "groups": [{"name": group.name, "size": group.size} for group in findings.groups],
        "layers": [
            [
                {
                    "key": topic.key,
                    "name": topic.name,
                    "size": len(findings.of_topic(topic)),
                    "colour": palette.colour(topic.number),
                    "shape": palette.shape(topic.number),
                    "x": _finite(topic.position[0]),
                    "y": _finite(topic.position[1]),
                }
                for topic in layer
            ]
            for layer in findings.topics
        ],
        "layer": findings.main_layer,
        "enough": ENOUGH_VOTES,
        "strongest": max(0.3, float(np.quantile(divides, 0.95))) if divides else 1.0,
        "grey": palette.GREY,
        "shared": palette.SHARED,
        "between": palette.BETWEEN,
        "divided": palette.DIVIDED,
        "agree": palette.AGREE,
        "disagree": palette.DISAGREE,
        "pass": palette.PASS,
    }


def _comment(statement: Statement) -> dict[str, Any]:
    x, y = statement.position or (None, None)
    return {
        "id": statement.comment_id,
        "text": statement.body,
        "x": None if x is None else round(x, 4),
        "y": None if y is None else round(y, 4),
        "topics": [int(key.rpartition("_")[2]) for key in statement.topics],
        "all": _votes(statement.everybody),
        "groups": [_votes(count) for count in statement.groups],
        "divides": round(statement.divisiveness, 4),
        "compared": sum(count.enough for count in statement.groups) > 1,
    }


def _votes(count: Count) -> list[int]:
    return [count.agrees, count.disagrees, count.passes]


def _finite(number: float) -> float:
    return round(number, 4) if np.isfinite(number) else 0.0


def _table(findings: Findings) -> Markup:
    titles = ["#", "Comment", "Agree", "Disagree", "Pass", "Topic"]
    rows = []
    for statement in findings.statements.values():
        topic = findings.topic(statement.topics[findings.main_layer]) if statement.topics else None
        cells = [str(statement.comment_id), statement.body, *map(str, _votes(statement.everybody)), topic.name if topic else ""]
        rows.append(tag("tr", None, (tag("td", {"dir": "auto"}, cell) for cell in cells)))
    head = tag("tr", None, (tag("th", {"scope": "col"}, title) for title in titles))
    return tag("table", {"class": "all"}, tag("thead", None, head), tag("tbody", None, rows))
