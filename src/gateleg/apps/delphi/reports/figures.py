"""Comments with bar charts of their votes: agreement, disagreement and passes of everybody and of each group, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi.reports.markup import Markup, tag
from gateleg.apps.delphi.reports.palette import AGREE, DISAGREE, PASS, colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.delphi.reports.findings import Count, Findings, Group, Statement
    from gateleg.apps.delphi.reports.markup import Attribute


def statement_card(findings: Findings, statement: Statement, where: str | None = None) -> Markup:
    """A comment with a bar for everybody and for each group. The figures are beside the bars, for those who cannot see these.

    `where` is the page of the comment; without it, the comment's number links to the list of comments on the same page.
    """
    groups = [(_named(group), count) for group, count in zip(findings.groups, statement.groups, strict=True)]
    return vote_card(statement, [(tag("span", None, "Everyone"), statement.everybody), *groups], where)


def contrast_card(group: Group, statement: Statement, others: Count, where: str | None = None) -> Markup:
    """A comment with a bar for one group and one for all others."""
    return vote_card(statement, [(_named(group), statement.groups[group.place]), (tag("span", None, "All others"), others)], where)


def vote_card(statement: Statement, rows: Sequence[tuple[Markup, Count]], where: str | None = None) -> Markup:
    """A comment with a table of votes."""
    text = tag("blockquote", {"dir": "auto", "translate": "no"}, statement.body.strip(), cite_link(statement.comment_id, where))
    table = tag("table", {"aria-label": f"Votes on comment {statement.comment_id}"}, [_row(who, count) for who, count in rows])
    return tag("div", {"class": "statement"}, text, table)


def vote_rows(rows: Sequence[tuple[Group | None, Count]], label: str) -> Markup:
    """A table of votes of groups; None in place of a group means everybody."""
    shown = [_row(tag("span", None, "Everyone") if group is None else _named(group), count) for group, count in rows]
    return tag("div", {"class": "statement"}, tag("table", {"aria-label": label}, shown))


def _named(group: Group) -> Markup:
    dot = tag("span", {"class": "dot", "style": f"background:{colour(group.place)}", "aria-hidden": "true"})
    return tag("span", None, dot, group.name)


def cite_link(number: int, where: str | None = None) -> Markup:
    """A link to a comment: to its page, or to its row in the list of comments."""
    label = f"comment {number} in the list of comments" if where is None else f"comment {number} with all its votes"
    return tag("a", {"class": "cite", "href": where or f"#c{number}", "aria-label": label}, f"#{number}")


def _row(who: Markup, count: Count) -> Markup:
    return tag(
        "tr",
        None,
        tag("th", {"scope": "row"}, who),
        tag("td", {"class": "vote-bar"}, vote_bar(count)),
        tag("td", {"class": "said"}, _vote_text(count)),
    )


def _vote_text(count: Count) -> str:
    if not count.votes:
        return "no votes"
    if not count.enough:
        return f"{count.agrees} agree, {count.disagrees} disagree, {count.passes} pass: not enough votes"
    low, high = count.interval("agree")
    return (
        f"{100 * count.share('agree'):.0f}% agree ({100 * low:.0f} to {100 * high:.0f}), {100 * count.share('disagree'):.0f}% disagree, "
        f"{count.votes:,} votes"
    )


def vote_bar(count: Count) -> Markup:
    """The shares as one bar, empty if there are too few votes. The line across it is the 95% interval of agreement."""
    box = {"viewBox": "0 0 200 16", "preserveAspectRatio": "none", "aria-hidden": "true", "focusable": "false"}
    if not count.enough:
        return tag(
            "svg",
            box,
            tag("rect", {"x": 0.5, "y": 3.5, "width": 199, "height": 9, "fill": "none", "stroke": PASS, "stroke-dasharray": "3 3"}),
        )
    parts = []
    start = 0.0
    for side, hue in (("agree", AGREE), ("disagree", DISAGREE), ("pass", PASS)):
        width = 200 * count.share(side)
        look: dict[str, Attribute] = {
            "x": round(start, 2),
            "y": 2,
            "width": round(width, 2),
            "height": 12,
            "fill": hue,
        }
        parts.append(tag("rect", look))
        start += width
    low, high = (round(200 * bound, 2) for bound in count.interval("agree"))
    line: dict[str, Attribute] = {"stroke": "currentColor", "stroke-width": 1.6, "vector-effect": "non-scaling-stroke"}
    parts.append(tag("path", {"d": f"M{low} 8H{high}M{low} 4.5V11.5M{high} 4.5V11.5", "fill": "none", **line}))
    return tag("svg", box, parts)


def vote_key() -> Markup:
    """The legend of the bars."""
    entries = [("agree", AGREE), ("disagree", DISAGREE), ("pass", PASS)]
    items = [tag("li", None, tag("span", {"style": f"background:{hue}", "aria-hidden": "true"}), side) for side, hue in entries]
    return tag("ul", {"class": "key"}, items, tag("li", None, "├─┤ 95% interval of the share that agrees"))
