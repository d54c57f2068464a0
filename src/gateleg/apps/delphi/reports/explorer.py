"""The interactive maps: one HTML file that works without a network. Choose a group, a comment, a topic or some people, on the map of
participants and on that of comments, and see on both what follows; with mouse, touch or keyboard.

The same comments stand in the page as a table, for those who do not use the maps and where scripts do not run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateleg.apps.delphi.reports.atlas import atlas
from gateleg.apps.delphi.reports.certainty import verdict_of
from gateleg.apps.delphi.reports.markup import Markup, json_script, raw, tag
from gateleg.apps.delphi.reports.report import page, static

if TYPE_CHECKING:
    from gateleg.apps.delphi.opinions.matrix import VoteMatrix
    from gateleg.apps.delphi.reports.findings import Findings

#: What a page that runs its own scripts may load: nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
#: Each before those that import it.
_SCRIPTS = ("texts.js", "ballots.js", "plot.js", "explorer.js")
#: The element that has the texts of scripts, which a translation replaces; and how scripts learn of them.
TEXTS = "texts"
SPEAK = f'speak(JSON.parse(document.getElementById("{TEXTS}").textContent));'
_START = f'{SPEAK}\nexplore(document.getElementById("maps"), JSON.parse(document.getElementById("data").textContent));'
_TEXT = re.compile(r'\bt\("([^"]+)"')


def write_explorer(findings: Findings, matrix: VoteMatrix | None = None) -> str:
    """The maps as a page of their own. Without the matrix of votes it has the map of comments only."""
    verdict = verdict_of(findings)
    verdict = f"{verdict[:1].upper()}{verdict[1:]}." if verdict else ""
    body = tag(
        "div",
        {"class": "alone"},
        tag(
            "header",
            None,
            tag("h1", {"dir": "auto", "translate": "no"}, findings.title),
            tag("p", {"class": "note"}, verdict) if verdict else None,
        ),
        tag("main", None, tag("div", {"id": "maps"}, tag("noscript", None, _table(findings)))),
        json_script(TEXTS, script_texts(*_SCRIPTS)),
        json_script("data", atlas(findings, matrix)),
        tag("script", {"type": "module"}, raw(f"{bundle(*_SCRIPTS)}\n{_START}")),
    )
    return page(f"{findings.title}: map", body, ("page.css", "explorer.css"), POLICY)


def bundle(*names: str) -> str:
    """Scripts as one module, each named before those that import it."""
    text = "\n".join(static(name) for name in names)
    return re.sub(r"^export ", "", re.sub(r"^import .*$\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE)


def script_texts(*names: str) -> dict[str, str]:
    """All texts that scripts show, by themselves: what a page brings for its translation."""
    return {text: text for name in names for text in _TEXT.findall(static(name))}


def _table(findings: Findings) -> Markup:
    titles = ["#", "Comment", "Agree", "Disagree", "Pass", "Topic"]
    rows = []
    for statement in findings.statements.values():
        count = statement.everybody
        topic = findings.topic(statement.topics[findings.main_layer]) if statement.topics else None
        votes = map(str, (count.agrees, count.disagrees, count.passes))
        cells = [str(statement.comment_id), statement.body, *votes, topic.name if topic else ""]
        rows.append(tag("tr", None, (tag("td", {"dir": "auto", "translate": "no"}, cell) for cell in cells)))
    head = tag("tr", None, (tag("th", {"scope": "col"}, title) for title in titles))
    return tag("table", {"class": "all"}, tag("thead", None, head), tag("tbody", None, rows))
