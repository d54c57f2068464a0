"""Maps as SVG: comments by topic, comments by how much they divide, participants by group.

Each has a title and a description for those who cannot see it. Shapes and labels supplement colours. Text takes the colour of the
surrounding page, so that it is readable on light and dark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.reports.markup import Markup, tag
from gateleg.apps.delphi.reports.palette import GREY, colour, division_colour, shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.apps.delphi.conversations.votes import Floats
    from gateleg.apps.delphi.reports.findings import Findings, Statement
    from gateleg.apps.delphi.reports.markup import Attribute

WIDTH, HEIGHT = 960, 620
_MARGIN = 46
#: The approximate width of a letter of a label.
_LETTER = 7.4
_LINE = 17
#: The maximum number of participants that are drawn; of more, an even sample.
_MOST_DRAWN = 4_000
#: How much one axis of the map of comments may be stretched: only proximity has a meaning there, not direction.
_STRETCH = 1.7
#: The maximum number of characters in a line of a label.
_LONGEST_LINE = 24


@dataclass(frozen=True, slots=True)
class _Frame:
    """Maps data coordinates to coordinates in the picture."""

    middle: tuple[float, float]
    scale: tuple[float, float]

    @classmethod
    def around(cls, points: Floats, stretch: float = 1.0) -> _Frame:
        """A frame that contains all points. One axis may be scaled up to `stretch` times as much as the other to fill the picture."""
        if len(points) < 2:
            return cls((float(points[0, 0]), float(points[0, 1])) if len(points) else (0.0, 0.0), (1.0, 1.0))
        low, high = points.min(axis=0), points.max(axis=0)
        size = np.maximum(high - low, 1e-9)
        wide, tall = float((WIDTH - 2 * _MARGIN) / size[0]), float((HEIGHT - 2 * _MARGIN) / size[1])
        least = min(wide, tall)
        middle = (low + high) / 2
        return cls((float(middle[0]), float(middle[1])), (min(wide, least * stretch), min(tall, least * stretch)))

    def place(self, x: float, y: float) -> tuple[float, float]:
        across, up = (x - self.middle[0]) * self.scale[0], (y - self.middle[1]) * self.scale[1]
        return round(WIDTH / 2 + across, 1), round(HEIGHT / 2 - up, 1)


def topics_map(findings: Findings, layer: int | None = None) -> Markup:
    """The map of comments by similarity, in the colour and shape of their topics, larger with more votes."""
    number = findings.main_layer if layer is None else layer
    drawn = [statement for statement in findings.statements.values() if statement.position is not None]
    frame = _Frame.around(np.array([statement.position for statement in drawn]).reshape(-1, 2), _STRETCH)
    topics = findings.topics[number] if findings.topics else ()
    place_of = {topic.key: topic.number for topic in topics}
    radius = _radii(drawn)
    marks = [
        _mark(
            *frame.place(*(statement.position or (0.0, 0.0))), size, mine := _topic_of(statement, number, place_of), _hint(statement, mine)
        )
        for statement, size in zip(drawn, radius, strict=True)
    ]
    middles = [(topic.name, *_middle(frame, [s for s in drawn if topic.key in s.topics], topic.position)) for topic in topics]
    words = f"{len(drawn)} comments in {len(topics)} topics. " + "; ".join(
        f"{topic.name}: {sum(topic.key in statement.topics for statement in drawn)} comments" for topic in topics
    )
    return _picture("Comments by topic", words, [*marks, *_labels(middles)])


def consensus_map(findings: Findings) -> Markup:
    """The same map of comments: blue where groups vote alike, orange where they differ, grey with too few votes."""
    drawn = [statement for statement in findings.statements.values() if statement.position is not None]
    frame = _Frame.around(np.array([statement.position for statement in drawn]).reshape(-1, 2), _STRETCH)
    ordered = sorted(zip(drawn, _radii(drawn), strict=True), key=lambda pair: pair[0].divisiveness)
    # Most conversations use only part of the range; the colours cover that part.
    strongest = max(0.3, float(np.quantile([statement.divisiveness for statement in drawn], 0.95))) if drawn else 1.0
    marks = []
    for statement, size in ordered:
        x, y = frame.place(*(statement.position or (0.0, 0.0)))
        sure = sum(count.enough for count in statement.groups) > 1
        fill = division_colour(statement.divisiveness / strongest) if sure else "none"
        note = f"groups differ by {statement.divisiveness:.0%}" if sure else "not enough votes to compare groups"
        marks.append(
            _shape("circle", x, y, size, fill, f"{statement.comment_id}: {statement.body} ({note})", stroke=None if sure else GREY)
        )
    marks.append(_scale())
    divided, shared = findings.divisive()[:3], findings.bridging()[:3]
    words = f"{len(drawn)} comments. Most divisive: {_ids(divided) or 'none'}. Shared by all groups: {_ids(shared) or 'none'}."
    return _picture("Comments by how much they divide the groups", words, marks)


def groups_map(findings: Findings) -> Markup:
    """The map of participants by similarity of votes, in the colour and shape of their groups, with the outline of each group."""
    points, labels = findings.people, findings.people_groups
    frame = _Frame.around(points[labels >= 0] if (labels >= 0).any() else points)
    shown = np.arange(len(points)) if len(points) <= _MOST_DRAWN else np.linspace(0, len(points) - 1, _MOST_DRAWN).astype(np.int64)
    marks = [_outline(frame, points[labels == group.place], group.place) for group in findings.groups]
    for row in shown.tolist():
        x, y = frame.place(*points[row].tolist())
        if 0 <= x <= WIDTH and 0 <= y <= HEIGHT:
            mine = int(labels[row])
            who = findings.groups[mine].name if mine >= 0 else "No group: too few votes"
            form = ("circle", "square", "triangle", "diamond", "cross")[mine % 5] if mine >= 0 else "circle"
            marks.append(_shape(form, x, y, 3.6 if mine >= 0 else 2.2, colour(mine), who, opacity=0.75 if mine >= 0 else 0.35))
    middles = []
    for group in findings.groups:
        mine_points = points[labels == group.place]
        if len(mine_points):
            middles.append((f"{group.letter} · {group.size}", *frame.place(*mine_points.mean(axis=0).tolist())))
    words = f"{findings.totals.participants} participants. " + ", ".join(f"{group.name}: {group.size}" for group in findings.groups)
    return _picture("Participants by opinion group", words, [*marks, *_labels(middles, 20)])


def _radii(statements: Sequence[Statement]) -> list[float]:
    most = max((statement.everybody.votes for statement in statements), default=0)
    return [round(3.2 + 5.0 * (statement.everybody.votes / most) ** 0.5, 2) if most else 4.0 for statement in statements]


def _topic_of(statement: Statement, layer: int, place_of: dict[str, int]) -> int:
    key = statement.topics[layer] if layer < len(statement.topics) else ""
    return place_of.get(key, -1)


def _hint(statement: Statement, topic: int) -> str:
    count = statement.everybody
    return f"{statement.comment_id}: {statement.body} ({count.agrees} agree, {count.disagrees} disagree, {count.passes} pass)"


def _mark(x: float, y: float, size: float, topic: int, hint: str) -> Markup:
    return _shape(shape(topic), x, y, size, colour(topic), hint)


def _shape(form: str, x: float, y: float, size: float, fill: str, hint: str, opacity: float = 0.85, stroke: str | None = None) -> Markup:
    look: dict[str, Attribute] = {
        "fill": fill,
        "fill-opacity": opacity,
        "stroke": stroke or "#ffffff",
        "stroke-width": 1.2 if stroke else 0.7,
    }
    title = tag("title", {"translate": "no"}, hint)
    if form == "circle":
        return tag("circle", {"cx": x, "cy": y, "r": size, **look}, title)
    s = size * 1.1
    paths = {
        "square": f"M{x - s:.1f} {y - s:.1f}h{2 * s:.1f}v{2 * s:.1f}h{-2 * s:.1f}z",
        "triangle": f"M{x:.1f} {y - 1.2 * s:.1f}L{x + 1.1 * s:.1f} {y + 0.8 * s:.1f}L{x - 1.1 * s:.1f} {y + 0.8 * s:.1f}z",
        "diamond": f"M{x:.1f} {y - 1.3 * s:.1f}L{x + 1.3 * s:.1f} {y:.1f}L{x:.1f} {y + 1.3 * s:.1f}L{x - 1.3 * s:.1f} {y:.1f}z",
        "cross": f"M{x - s:.1f} {y - s:.1f}l{s:.1f} {0.6 * s:.1f}l{s:.1f} {-0.6 * s:.1f}l{-0.6 * s:.1f} {s:.1f}l{0.6 * s:.1f} {s:.1f}"
        f"l{-s:.1f} {-0.6 * s:.1f}l{-s:.1f} {0.6 * s:.1f}l{0.6 * s:.1f} {-s:.1f}z",
    }
    return tag("path", {"d": paths[form], **look}, title)


def _middle(frame: _Frame, members: Sequence[Statement], fallback: tuple[float, float]) -> tuple[float, float]:
    if not members:
        return frame.place(*fallback)
    middle = np.median(np.array([statement.position for statement in members]), axis=0)
    return frame.place(float(middle[0]), float(middle[1]))


def _labels(middles: Iterable[tuple[str, float, float]], size: int = 13) -> list[Markup]:
    """Labels near the given positions, moved up or down to avoid others. A label without room is dropped."""
    taken: list[tuple[float, float, float, float]] = []
    found = []
    for text, x, y in middles:
        lines = _lines(text)
        half = max(map(len, lines)) * _LETTER * size / 26
        tall = len(lines) * (size + 2)
        centre = min(max(x, half + 4), WIDTH - half - 4)
        for step in range(17):
            line = min(max(y + (step + 1) // 2 * _LINE * (-1 if step % 2 else 1), size + 2), HEIGHT - tall)
            box = (centre - half, line - size, centre + half, line - size + tall)
            if not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
                taken.append(box)
                found.append(_label(lines, centre, line, size))
                break
    return found


def _lines(text: str) -> list[str]:
    """Break a label into at most two lines."""
    if len(text) <= _LONGEST_LINE:
        return [text]
    words = text.split(" ")
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) <= _LONGEST_LINE or len(lines) == 2:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [line if len(line) <= _LONGEST_LINE + 6 else line[: _LONGEST_LINE + 5] + "…" for line in lines]


def _label(lines: list[str], x: float, y: float, size: int) -> Markup:
    look: dict[str, Attribute] = {
        "text-anchor": "middle",
        "font-size": size,
        "font-weight": 600,
        "fill": "currentColor",
        "class": "map-label",
        "aria-hidden": "true",
        "translate": "no",
    }
    spans = [tag("tspan", {"x": round(x, 1), "y": round(y + row * (size + 2), 1)}, line) for row, line in enumerate(lines)]
    return tag("text", look, spans)


def _outline(frame: _Frame, points: Floats, place: int) -> Markup | None:
    """The outline of a group: the convex hull of its members, without the outermost tenth."""
    if len(points) < 4:
        return None
    away = np.linalg.norm(points - points.mean(axis=0), axis=1)
    core = points[away <= np.quantile(away, 0.9)]
    corners = _hull([frame.place(*point) for point in core.tolist()])
    if len(corners) < 3:
        return None
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners) + "z"
    hue = colour(place)
    return tag("path", {"d": path, "fill": hue, "fill-opacity": 0.1, "stroke": hue, "stroke-opacity": 0.5, "stroke-linejoin": "round"})


def _hull(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of the convex hull, by the monotone chain algorithm."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered

    def half(places: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
        chain: list[tuple[float, float]] = []
        for x, y in places:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], (x, y)) <= 0:
                chain.pop()
            chain.append((x, y))
        return chain[:-1]

    return half(ordered) + half(reversed(ordered))


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _scale() -> Markup:
    """The legend of the colours."""
    steps = 24
    bars = [
        tag("rect", {"x": 24 + step * 12, "y": HEIGHT - 26, "width": 12.2, "height": 10, "fill": division_colour(step / (steps - 1))})
        for step in range(steps)
    ]
    style: dict[str, str | int] = {"y": HEIGHT - 32, "font-size": 13, "fill": "currentColor", "class": "map-label"}
    ends = [
        tag("text", {"x": 24, **style}, "groups vote alike"),
        tag("text", {"x": 24 + steps * 12, "text-anchor": "end", **style}, "groups differ"),
    ]
    return tag("g", {"aria-hidden": "true"}, bars, ends)


def _ids(statements: Iterable[Statement]) -> str:
    return ", ".join(f"comment {statement.comment_id}" for statement in statements)


def _picture(title: str, description: str, children: Iterable[Markup | None]) -> Markup:
    frame = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"0 0 {WIDTH} {HEIGHT}",
        "role": "img",
        "aria-label": f"{title}. {description}",
        "font-family": "system-ui, sans-serif",
        "class": "map",
    }
    # Labels have an outline in the page's colour, so that they are readable on top of points.
    style = ".map-label{paint-order:stroke;stroke:var(--paper,#fff);stroke-width:4px;stroke-linejoin:round;unicode-bidi:plaintext}"
    return tag("svg", frame, tag("title", None, title), tag("desc", None, description), tag("style", None, Markup(style)), children)
