"""The report on one page, to be printed and handed out: the size, the groups, what unites, what divides, and who was not heard.

It takes its sentences from the sections of the report, so that both say the same, in whichever language they were written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi.reports.certainty import verdict_of
from gateleg.apps.delphi.reports.figures import cite_link
from gateleg.apps.delphi.reports.maps import groups_map
from gateleg.apps.delphi.reports.markup import Markup, joined, tag
from gateleg.apps.delphi.reports.report import page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.delphi.reports.findings import Findings
    from gateleg.apps.delphi.reports.sections import Section, Sentence

#: Paragraphs that the page has: their section, their id, and how many of their sentences.
_PARTS = (("group_informed_consensus", "bridging", 3), ("groups", "divisive", 3), ("uncertainty", "passes", 2), ("uncertainty", "heard", 4))
#: Groups that are told of, and sentences for each.
_MOST_GROUPS, _SAID = 5, 1
_LONGEST = 260


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
    )
    return page(f"{findings.title}: summary", body, ("page.css", "summary.css"))


def _figures(findings: Findings) -> Markup:
    totals = findings.totals
    told = f"{totals.participants:,} people, {totals.votes:,} votes, {totals.comments:,} comments"
    verdict = verdict_of(findings)
    return tag("p", {"class": "figures"}, f"{told}. {verdict[0].upper()}{verdict[1:]}." if verdict else f"{told}.")


def _groups(findings: Findings, sections: Mapping[str, Section]) -> Markup:
    """Each group with its size and what sets it apart most."""
    told = {part.id: part for part in sections["groups"].paragraphs} if "groups" in sections else {}
    items = []
    for group in findings.groups[:_MOST_GROUPS]:
        part = told.get(f"group_{group.letter.lower()}")
        citing = [one for one in part.sentences if any(clause.citations for clause in one.clauses)] if part else []
        items.append(tag("div", None, tag("h3", None, f"{group.name}: {group.size:,} people"), [_line("p", one) for one in citing[:_SAID]]))
    return tag("div", {"class": "groups"}, items)


def _part(sections: Mapping[str, Section], section: str, paragraph: str, most: int) -> Markup | None:
    found = next((part for part in sections[section].paragraphs if part.id == paragraph), None) if section in sections else None
    if found is None:
        return None
    return tag("section", None, tag("h2", None, found.title), tag("ul", None, [_line("li", one) for one in found.sentences[:most]]))


def _line(name: str, sentence: Sentence) -> Markup:
    text = " ".join(clause.text for clause in sentence.clauses)
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rsplit(' ', 1)[0]}…"
    cited = [number for clause in sentence.clauses for number in clause.citations]
    return tag(name, {"dir": "auto"}, joined([short, *map(cite_link, cited)]))
