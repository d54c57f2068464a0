"""The interactive maps: one HTML file that works offline. A group, comment, topic or people selected on the map of participants or of
comments are highlighted on both; with mouse, touch or keyboard.

Without scripts the page shows the comments as a table.
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

#: The Content-Security-Policy of a page with inline scripts, which loads nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
#: In dependency order.
_SCRIPTS = ("texts.js", "ballots.js", "plot.js", "explorer.js")
#: The id of the element with the texts of scripts, which a translation replaces; and the statement that loads them.
TEXTS = "texts"
SPEAK = f'speak(JSON.parse(document.getElementById("{TEXTS}").textContent));'
_START = f'{SPEAK}\nexplore(document.getElementById("maps"), JSON.parse(document.getElementById("data").textContent));'
_TEXT = re.compile(r'\bt\("([^"]+)"')


def write_explorer(findings: Findings, matrix: VoteMatrix | None = None) -> str:
    """The page with the maps. Without the matrix of votes it has only the map of comments."""
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
            tag("p", {"class": "note"}, findings.unchecked_names) if findings.unchecked_names else None,
        ),
        tag("main", None, tag("div", {"id": "maps"}, tag("noscript", None, _table(findings)))),
        json_script(TEXTS, script_texts(*_SCRIPTS)),
        json_script("data", atlas(findings, matrix)),
        tag("script", {"type": "module"}, raw(f"{bundle(*_SCRIPTS)}\n{_START}")),
    )
    return page(f"{findings.title}: map", body, ("page.css", "explorer.css"), POLICY)


def bundle(*names: str) -> str:
    """Combine scripts, given in dependency order, into one module."""
    text = "\n".join(static(name) for name in names)
    return re.sub(r"^export ", "", re.sub(r"^import .*$\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE)


def script_texts(*names: str) -> dict[str, str]:
    """All texts that scripts show, each mapped to itself, for the page's translation to replace."""
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
