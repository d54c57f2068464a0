"""The report on one page, for printing: size, groups, common ground, divisive comments, and participation.

Its sentences are taken from the sections of the report, so that both say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi.reports.certainty import verdict_of
from gateleg.apps.delphi.reports.config import REPORT
from gateleg.apps.delphi.reports.figures import cite_link
from gateleg.apps.delphi.reports.maps import groups_map
from gateleg.apps.delphi.reports.markup import Markup, joined, tag
from gateleg.apps.delphi.reports.report import page
from gateleg.apps.delphi.reports.sections import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.delphi.reports.findings import Findings
    from gateleg.apps.delphi.reports.sections import Section, Sentence

#: The paragraphs on the page: section, id, and the maximum number of sentences.
_PARTS = (("group_informed_consensus", "bridging", 3), ("groups", "divisive", 3), ("uncertainty", "passes", 2), ("uncertainty", "heard", 4))
#: The maximum number of groups on the page, and of sentences for each.
_MOST_GROUPS, _MOST_SENTENCES = 5, 1
_LONGEST = 260
_SOURCE = f"Shares are of those who voted on a comment; # is its number in {REPORT}, which has all votes, intervals and the method."


def write_summary(findings: Findings, sections: Sequence[Section]) -> str:
    """The page as HTML."""
    by_id = {section.id: section for section in sections}
    parts = [_part(by_id, *part) for part in _PARTS]
    body = tag(
        "main",
        {"class": "sheet"},
        tag("h1", {"dir": "auto", "translate": "no"}, findings.title),
        _figures(findings),
        tag("div", {"class": "pair"}, tag("figure", None, groups_map(findings)), _groups(findings, by_id)),
        [part for part in parts if part],
        tag("p", {"class": "note"}, _SOURCE),
    )
    return page(f"{findings.title}: summary", body, ("page.css", "summary.css"))


def _figures(findings: Findings) -> Markup:
    totals = findings.totals
    people = "1 person" if totals.participants == 1 else f"{totals.participants:,} people"
    size = f"{people}, {number_of(totals.votes, 'vote')}, {number_of(totals.comments, 'comment')}"
    verdict = verdict_of(findings)
    return tag("p", {"class": "figures"}, f"{size}. {verdict[0].upper()}{verdict[1:]}." if verdict else f"{size}.")


def _groups(findings: Findings, sections: Mapping[str, Section]) -> Markup:
    """Each group with its size and its most representative comment."""
    paragraphs = {part.id: part for part in sections["groups"].paragraphs} if "groups" in sections else {}
    items = []
    for group in findings.groups[:_MOST_GROUPS]:
        part = paragraphs.get(f"group_{group.letter.lower()}")
        citing = [one for one in part.sentences if any(clause.citations for clause in one.clauses)] if part else []
        items.append(
            tag("div", None, tag("h3", None, f"{group.name}: {group.size:,} people"), [_line("p", one) for one in citing[:_MOST_SENTENCES]])
        )
    return tag("div", {"class": "groups"}, items)


def _part(sections: Mapping[str, Section], section: str, paragraph: str, most: int) -> Markup | None:
    found = next((part for part in sections[section].paragraphs if part.id == paragraph), None) if section in sections else None
    if found is None:
        return None
    return tag("section", None, tag("h2", None, found.title), tag("ul", None, [_line("li", one) for one in found.sentences[:most]]))


def _line(name: str, sentence: Sentence) -> Markup:
    text = " ".join(clause.text for clause in sentence.clauses)
    short = text if len(text) <= _LONGEST else _truncate(text)
    cited = [number for clause in sentence.clauses for number in clause.citations]
    return tag(name, {"dir": "auto"}, joined([short, *map(cite_link, cited)]))


def _truncate(text: str) -> str:
    """Truncate a long sentence, and close an open quotation."""
    short = f"{text[:_LONGEST].rsplit(' ', 1)[0]}…"
    return f"{short}”" if short.count("“") > short.count("”") else short
