"""The data of the linked maps of participants and comments, as one compact JSON. Pure.

Participants are four arrays and a table of votes with two bits per vote: ten thousand participants with three hundred comments take about a
megabyte.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.apps.delphi.reports import palette
from gateleg.apps.delphi.reports.certainty import verdict_of
from gateleg.apps.delphi.reports.findings import ENOUGH_VOTES

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints
    from gateleg.apps.delphi.opinions.matrix import VoteMatrix
    from gateleg.apps.delphi.reports.findings import Count, Findings, Statement
    from gateleg.apps.delphi.topics.stage import Topic

#: The maximum number of participants that are drawn; of more, an even sample.
MOST_PEOPLE = 20_000
#: How far outside the groups other participants are drawn at most, as a share of the groups' extent.
_OUTSIDE = 0.08
_FURTHEST = 32_767
#: The codes of a missing vote and of each choice.
_UNSEEN, _AGREE, _DISAGREE, _PASS = 0, 1, 2, 3


def atlas(findings: Findings, matrix: VoteMatrix | None = None) -> dict[str, Any]:
    """The data of the maps. Without the matrix of votes there is no map of participants."""
    divides = [statement.divisiveness for statement in findings.statements.values()]
    return {
        "comments": [_comment(statement) for statement in findings.statements.values()],
        "groups": [
            {
                "name": group.name,
                "letter": group.letter,
                "size": group.size,
                "motto": findings.motto(group),
                "colour": palette.colour(group.place),
                "says": [[one.comment_id, one.side] for one in group.representatives if one.comment_id in findings.statements],
            }
            for group in findings.groups
        ],
        "certainty": verdict_of(findings),
        "layers": [[_topic(findings, topic) for topic in layer] for layer in findings.topics],
        "layer": findings.main_layer,
        "people": None if matrix is None else _people(findings, matrix),
        "enough": ENOUGH_VOTES,
        "strongest": max(0.3, float(np.quantile(divides, 0.95))) if divides else 1.0,
        "colours": list(palette.COLOURS),
        "grey": palette.GREY,
        "shared": palette.SHARED,
        "between": palette.BETWEEN,
        "divided": palette.DIVIDED,
        "agree": palette.AGREE,
        "disagree": palette.DISAGREE,
        "pass": palette.PASS,
    }


def _topic(findings: Findings, topic: Topic) -> dict[str, Any]:
    return {
        "key": topic.key,
        "name": topic.name,
        "size": len(findings.of_topic(topic)),
        "words": ", ".join(keyword.term for keyword in topic.keywords[:6]),
        "colour": palette.colour(topic.number),
        "shape": palette.shape(topic.number),
        "x": _finite(topic.position[0]),
        "y": _finite(topic.position[1]),
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


def _people(findings: Findings, matrix: VoteMatrix) -> dict[str, Any] | None:
    count = len(findings.people)
    if count == 0:
        return None
    drawn = np.arange(count) if count <= MOST_PEOPLE else np.linspace(0, count - 1, MOST_PEOPLE).astype(np.int64)
    places = map_positions(findings.people, findings.people_groups)[drawn]
    return {
        "count": count,
        "drawn": len(drawn),
        "x": base64_of(places[:, 0].astype("<i2")),
        "y": base64_of(places[:, 1].astype("<i2")),
        "ids": base64_of(matrix.participants[drawn].astype("<f8")),
        "groups": base64_of(findings.people_groups[drawn].astype(np.int8)),
        "votes": base64_of(packed_votes(matrix, drawn, list(findings.statements))),
    }


def map_positions(people: Floats, groups: Ints) -> Ints:
    """The positions at which participants are drawn, from -32,767 to 32,767 on the longer axis. Participants with too few votes may lie far
    out; they are drawn at the edge, so that the groups fill the map."""
    inside = people[groups >= 0] if (groups >= 0).any() else people
    low, high = inside.min(axis=0), inside.max(axis=0)
    rim = _OUTSIDE * max(float((high - low).max()), 1e-9)
    middle, half = (low + high) / 2, float((high - low).max()) / 2 + rim
    near = np.clip(people, low - rim, high + rim)
    return np.asarray(np.rint((near - middle) / half * _FURTHEST), dtype=np.int64)


def packed_votes(matrix: VoteMatrix, people: Ints, comments: list[int]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The votes of participants, given by their rows, on comments, with two bits per vote. Every comment starts a new byte."""
    row_of = np.full(matrix.shape[0], -1, dtype=np.int64)
    row_of[people] = np.arange(len(people))
    column_of = np.full(matrix.shape[1], -1, dtype=np.int64)
    known = {int(number): place for place, number in enumerate(comments)}
    for column, number in enumerate(matrix.comments.tolist()):
        column_of[column] = known.get(number, -1)
    rows, columns = row_of[matrix.rows], column_of[matrix.columns]
    kept = (rows >= 0) & (columns >= 0)
    rows, columns, choices = rows[kept], columns[kept], matrix.choices[kept]
    codes = np.select([choices > 0, choices < 0], [_AGREE, _DISAGREE], _PASS).astype(np.uint8)
    packed = np.zeros((len(comments), -(-len(people) // 4)), dtype=np.uint8)
    for quarter in range(4):
        mine = rows % 4 == quarter
        packed[columns[mine], rows[mine] // 4] |= codes[mine] << np.uint8(2 * quarter)
    return packed.reshape(-1)


def base64_of(numbers: np.ndarray[Any, Any]) -> str:
    """The bytes of an array in base 64."""
    return b64encode(np.ascontiguousarray(numbers).tobytes()).decode()
