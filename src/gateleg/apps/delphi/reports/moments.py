"""How the groups formed over time: the data of the animation in `replay.html`, and the table and chart of the report. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.apps.delphi.opinions.timeline import ABSENT, End, timeline
from gateleg.apps.delphi.reports import palette
from gateleg.apps.delphi.reports.atlas import base64_of, map_positions
from gateleg.apps.delphi.reports.csv_files import write_csv
from gateleg.apps.delphi.reports.markup import Markup, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.delphi.conversations.votes import Ints, Votes
    from gateleg.apps.delphi.opinions.moderation import Moderation
    from gateleg.apps.delphi.opinions.timeline import Moment
    from gateleg.apps.delphi.reports.csv_files import Cell
    from gateleg.apps.delphi.reports.findings import Findings

#: The maximum number of people who are drawn; of more, an even sample.
MOST_PEOPLE = 4_000
#: An explanation of the method for readers.
HOW = (
    "Each moment is analysed with the votes cast by then, into at most as many groups as at the end, starting from the groups of the next "
    "later moment. While shuffled votes vary as strongly as the real ones, no groups are shown. Maps are rotated and scaled to fit each "
    "other. Comments that moderators removed at any time are left out throughout."
)
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 720, 240, 46, 34, 12


def with_moments(findings: Findings, votes: Votes, moderation: Moderation, people: Ints) -> Findings:
    """The findings with the moments of their timeline. `people` are the ids of the participants on the map, ascending."""
    end = End(people, findings.people, findings.people_groups, findings.certainty.as_strong > 0)
    return replace(findings, moments=timeline(votes, moderation, end))


def when(moment: Moment) -> str:
    """The time of a moment, for readers."""
    return f"{datetime.fromtimestamp(moment.at / 1000, UTC):%d %b %Y, %H:%M}".removeprefix("0")


def moments_csv(findings: Findings) -> str:
    """A row for each moment: the numbers of votes and people so far, and the size of each group."""
    titles = ["votes", "time", "participants", "comments", "compared-participants", "may-be-chance"]
    titles += [f"group-{group.letter.lower()}-participants" for group in findings.groups]
    rows: list[list[Cell]] = [
        [
            one.votes,
            f"{datetime.fromtimestamp(one.at / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}",
            one.participants,
            one.comments,
            one.compared,
            int(one.may_be_chance),
            *(one.size(group.place) for group in findings.groups),
        ]
        for one in findings.moments
    ]
    return write_csv(titles, rows)


def replay_data(findings: Findings) -> dict[str, Any]:
    """The data of the animation: for each moment its figures, and the packed positions and groups of people."""
    count = len(findings.people)
    drawn = np.arange(count) if count <= MOST_PEOPLE else np.linspace(0, count - 1, MOST_PEOPLE).astype(np.int64)
    return {
        "count": count,
        "drawn": len(drawn),
        "votes": findings.moments[-1].votes if findings.moments else 0,
        "absent": ABSENT,
        "grey": palette.GREY,
        "how": HOW,
        "groups": [{"name": one.name, "letter": one.letter, "colour": palette.colour(one.place)} for one in findings.groups],
        "moments": _moment_data(findings, drawn),
    }


def _moment_data(findings: Findings, people: Ints) -> list[dict[str, Any]]:
    moments = findings.moments
    if not moments:
        return []
    # One frame for all moments, so that people move only because of votes.
    there = np.concatenate([np.nan_to_num(one.positions) for one in moments])
    places = map_positions(there, np.concatenate([one.groups for one in moments])).reshape(len(moments), -1, 2)
    return [
        {
            "when": when(one),
            "at": one.at,
            "votes": one.votes,
            "participants": one.participants,
            "comments": one.comments,
            "compared": one.compared,
            "chance": one.may_be_chance,
            "sizes": [one.size(group.place) for group in findings.groups],
            "x": base64_of(place[people, 0].astype("<i2")),
            "y": base64_of(place[people, 1].astype("<i2")),
            "in": base64_of(one.groups[people].astype(np.int8)),
        }
        for one, place in zip(moments, places, strict=True)
    ]


def moments_table(findings: Findings) -> Markup:
    """The moments as a table."""
    titles = ["Time (UTC)", "Votes", "People", "Compared", "Comments", *(group.name for group in findings.groups)]
    head = tag("tr", None, (tag("th", {"scope": "col", "class": "number" if place else None}, title) for place, title in enumerate(titles)))
    rows = []
    for one in findings.moments:
        sizes = ["no groups yet"] if one.may_be_chance else [f"{one.size(group.place):,}" for group in findings.groups]
        span = len(findings.groups) if one.may_be_chance and len(findings.groups) > 1 else None
        figures = [f"{count:,}" for count in (one.votes, one.participants, one.compared, one.comments)]
        cells = [tag("td", {"class": "number"}, figure) for figure in figures]
        cells += [tag("td", {"class": "number", "colspan": span}, size) for size in sizes]
        rows.append(tag("tr", None, tag("th", {"scope": "row"}, when(one)), cells))
    table = tag("table", {"class": "all moments"}, tag("thead", None, head), tag("tbody", None, rows))
    return tag("div", {"class": "wide", "tabindex": 0, "role": "region", "aria-label": "Groups over time"}, table)


def growth_chart(findings: Findings) -> Markup:
    """A stacked area chart: the number of people in each group, and of others who have voted, over the votes cast."""
    moments = findings.moments
    most = max(one.participants for one in moments)
    xs = [_LEFT + (_WIDTH - _LEFT - 8) * one.votes / moments[-1].votes for one in moments]
    lines = [[0] * len(moments)]
    for group in findings.groups:
        lines.append([below + one.size(group.place) for below, one in zip(lines[-1], moments, strict=True)])
    lines.append([one.participants for one in moments])
    hues = [*(palette.colour(group.place) for group in findings.groups), palette.GREY]
    areas = [
        tag("path", {"d": _area(xs, low, high, most), "fill": hue, "fill-opacity": 0.35 if hue == palette.GREY else 0.8})
        for low, high, hue in zip(lines, lines[1:], hues, strict=False)
    ]
    last = moments[-1]
    words = ", ".join(f"{group.name} {last.size(group.place):,}" for group in findings.groups)
    title = f"People by group over the votes cast. At the end {last.participants:,} people: {words}."
    frame = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"0 0 {_WIDTH} {_HEIGHT}",
        "role": "img",
        "aria-label": title,
        "class": "map",
    }
    return tag("svg", {**frame, "font-family": "system-ui, sans-serif"}, tag("title", None, title), areas, _axes(moments, most))


def _area(xs: Sequence[float], low: Sequence[int], high: Sequence[int], most: int) -> str:
    def point(x: float, people: int) -> str:
        return f"{x:.1f} {_height(people, most):.1f}"

    up = [point(x, people) for x, people in zip(xs, high, strict=True)]
    down = [point(x, people) for x, people in zip(reversed(xs), reversed(low), strict=True)]
    return "M" + "L".join([*up, *down]) + "z"


def _height(people: int, most: int) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * people / max(1, most)


def _axes(moments: Sequence[Moment], most: int) -> list[Markup]:
    look: dict[str, str | int] = {"font-size": 12, "fill": "currentColor"}
    base = _height(0, most)
    ends = [(_LEFT, "start", when(moments[0]), moments[0].votes), (_WIDTH - 8, "end", when(moments[-1]), moments[-1].votes)]
    return [
        tag("path", {"d": f"M{_LEFT} {base}H{_WIDTH - 8}", "stroke": "currentColor", "stroke-opacity": 0.5}),
        tag("text", {"x": _LEFT - 6, "y": _height(most, most) + 5, "text-anchor": "end", **look}, f"{most:,}"),
        tag("text", {"x": _LEFT - 6, "y": base, "text-anchor": "end", **look}, "0"),
        *(
            tag("text", {"x": x, "y": base + 18, "text-anchor": side, **look}, f"{words} · {votes:,} votes")
            for x, side, words, votes in ends
        ),
    ]
