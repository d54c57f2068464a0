"""Comments with their votes, drawn: bars of agreement, disagreement and passes for everybody and each group, with their uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi.reports.markup import Markup, tag
from gateleg.apps.delphi.reports.palette import AGREE, DISAGREE, PASS, colour

if TYPE_CHECKING:
    from gateleg.apps.delphi.reports.findings import Count, Findings, Statement
    from gateleg.apps.delphi.reports.markup import Attribute


def statement_card(findings: Findings, statement: Statement) -> Markup:
    """A comment with a bar for everybody and for each group. The figures stand beside the bars for those who cannot see them."""
    rows = [_row(tag("span", None, "Everyone"), statement.everybody)]
    for group, count in zip(findings.groups, statement.groups, strict=True):
        dot = tag("span", {"class": "dot", "style": f"background:{colour(group.place)}", "aria-hidden": "true"})
        rows.append(_row(tag("span", None, dot, group.name), count))
    text = tag("blockquote", {"dir": "auto"}, statement.body.strip(), cite_link(statement.comment_id))
    return tag("div", {"class": "statement"}, text, tag("table", {"aria-label": f"Votes on comment {statement.comment_id}"}, rows))


def cite_link(number: int) -> Markup:
    """A link to a comment in the list of all."""
    return tag("a", {"class": "cite", "href": f"#c{number}", "aria-label": f"comment {number} in the list of all"}, f"#{number}")


def _row(who: Markup, count: Count) -> Markup:
    return tag(
        "tr",
        None,
        tag("th", {"scope": "row"}, who),
        tag("td", {"class": "bar"}, vote_bar(count)),
        tag("td", {"class": "said"}, _said(count)),
    )


def _said(count: Count) -> str:
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
    """The shares as one bar; the line across it is the 95% interval of agreement."""
    box = {"viewBox": "0 0 200 16", "preserveAspectRatio": "none", "aria-hidden": "true", "focusable": "false"}
    if not count.votes:
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
            "fill-opacity": 1.0 if count.enough else 0.45,
        }
        parts.append(tag("rect", look))
        start += width
    if count.enough:
        low, high = (round(200 * bound, 2) for bound in count.interval("agree"))
        line: dict[str, Attribute] = {"stroke": "currentColor", "stroke-width": 1.6, "vector-effect": "non-scaling-stroke"}
        parts.append(tag("path", {"d": f"M{low} 8H{high}M{low} 4.5V11.5M{high} 4.5V11.5", "fill": "none", **line}))
    return tag("svg", box, parts)


def vote_key() -> Markup:
    """What the colours of bars mean."""
    entries = [("agree", AGREE), ("disagree", DISAGREE), ("pass", PASS)]
    items = [tag("li", None, tag("span", {"style": f"background:{hue}", "aria-hidden": "true"}), side) for side, hue in entries]
    return tag(
        "ul", {"class": "key"}, items, tag("li", None, "├─┤ between these bounds the true share of agreement lies in 95 of 100 cases")
    )
