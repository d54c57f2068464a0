"""Results as CSV, in the formats that Polis exports: participant-votes, comment-groups and comment-clusters.

Texts that a spreadsheet would take for a formula get an apostrophe before them; everything else is as it was.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.apps.delphi.conversation import Comment
    from gateleg.apps.delphi.findings import Findings
    from gateleg.apps.delphi.opinions import Opinions
    from gateleg.apps.delphi.topics import Topics

Cell = str | int | float | None
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def participant_votes(opinions: Opinions, comments: Iterable[Comment]) -> str:
    """A row for each participant: their group, how many comments they wrote, how they voted in all and on each comment.

    1 is agreement, -1 disagreement, 0 a pass, and an empty cell a vote that was not cast.
    """
    matrix = opinions.matrix
    written: dict[int, int] = {}
    for comment in comments:
        if comment.author_id is not None:
            written[comment.author_id] = written.get(comment.author_id, 0) + 1
    groups = opinions.groups.group_of(len(matrix.participants)).tolist()
    cells: list[dict[int, int]] = [{} for _ in groups]
    for row, column, choice in zip(matrix.rows.tolist(), matrix.columns.tolist(), matrix.choices.tolist(), strict=True):
        cells[row][column] = choice
    titles = ["participant", "group-id", "n-comments", "n-votes", "n-agree", "n-disagree", *map(str, matrix.comments.tolist())]
    stats = opinions.participants
    return _csv(
        titles,
        (
            [
                person,
                None if groups[row] < 0 else groups[row],
                written.get(person, 0),
                len(cells[row]),
                int(stats.agrees[row]),
                int(stats.disagrees[row]),
                *(cells[row].get(column) for column in range(len(matrix.comments))),
            ]
            for row, person in enumerate(matrix.participants.tolist())
        ),
    )


def comment_groups(findings: Findings) -> str:
    """A row for each comment: the votes of everybody, and those of each group by its letter."""
    titles = ["comment-id", "comment", "total-votes", "total-agrees", "total-disagrees", "total-passes"]
    for group in findings.groups:
        titles += [f"group-{group.letter.lower()}-{name}" for name in ("votes", "agrees", "disagrees", "passes")]
    rows = []
    for number, statement in findings.statements.items():
        row: list[Cell] = [number, _text(statement.body)]
        for count in (statement.everybody, *statement.groups):
            row += [count.votes, count.agrees, count.disagrees, count.passes]
        rows.append(row)
    return _csv(titles, rows)


def comment_clusters(topics: Topics, comments: Iterable[Comment]) -> str:
    """A row for each comment: its text and the number of its topic in each layer, finest first, then the topics' names.

    A comment without text has empty cells.
    """
    bodies = {comment.comment_id: comment.body for comment in comments}
    depth = range(len(topics.layers.layers))
    titles = ["comment-id", "comment-body", *(f"layer{layer}_cluster_id" for layer in depth), *(f"layer{layer}_topic" for layer in depth)]
    rows = []
    for row, number in enumerate(topics.comment_ids.tolist()):
        labels = [int(layer.labels[row]) for layer in topics.layers.layers]
        names = [_text(topics.topics[layer][label].name) if label >= 0 else None for layer, label in enumerate(labels)]
        rows.append([number, _text(bodies.get(number, "")), *(None if label < 0 else label for label in labels), *names])
    return _csv(titles, rows)


def _text(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _csv(titles: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    return file.getvalue()
