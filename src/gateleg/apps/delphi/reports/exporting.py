"""Results as CSV: participant-votes, comment-groups and comment-clusters in the formats that Polis exports, and the groups.

Comments that moderation took out stand only in the first, whose columns are all comments that were voted on. Texts that a spreadsheet would
take for a formula get an apostrophe before them; everything else is as it was.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from gateleg.apps.delphi.conversations.votes import Choice
from gateleg.apps.delphi.reports.findings import least_bound

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gateleg.apps.delphi.conversations.conversation import Comment
    from gateleg.apps.delphi.opinions.matrix import VoteMatrix
    from gateleg.apps.delphi.reports.findings import Findings

Cell = str | int | float | None
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def participant_votes(matrix: VoteMatrix, group_of: Mapping[int, int], comments: Iterable[Comment]) -> str:
    """A row for each participant: their group, how many comments they wrote, how they voted in all and on each comment.

    1 is agreement, -1 disagreement, 0 a pass, and an empty cell a vote that was not cast; `group_of` lacks those who are in no group.
    """
    written: dict[int, int] = {}
    for comment in comments:
        if comment.author_id is not None:
            written[comment.author_id] = written.get(comment.author_id, 0) + 1
    cells: list[dict[int, int]] = [{} for _ in matrix.participants]
    for row, column, choice in zip(matrix.rows.tolist(), matrix.columns.tolist(), matrix.choices.tolist(), strict=True):
        cells[row][column] = choice
    titles = ["participant", "group-id", "n-comments", "n-votes", "n-agree", "n-disagree", *map(str, matrix.comments.tolist())]
    return write_csv(
        titles,
        (
            [
                person,
                group_of.get(person),
                written.get(person, 0),
                len(cells[row]),
                sum(choice == Choice.AGREE for choice in cells[row].values()),
                sum(choice == Choice.DISAGREE for choice in cells[row].values()),
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
    return write_csv(titles, rows)


def bridging_comments(findings: Findings) -> str:
    """A row for each opinion with votes enough in every group, surest first: how many agree in the group that agrees least, between which
    bounds the true share lies in 95 of 100 cases, and the same for every group."""
    titles = ["rank", "comment-id", "comment", "least-group", "least-bound"]
    for group in findings.groups:
        titles += [f"group-{group.letter.lower()}-{name}" for name in ("votes", "agree", "agree-low", "agree-high")]
    rows = []
    for rank, statement in enumerate(findings.bridges(), 1):
        least = min(findings.groups, key=lambda group: statement.groups[group.place].interval("agree")[0])
        row: list[Cell] = [rank, statement.comment_id, _text(statement.body), least.letter, round(least_bound(statement), 4)]
        for count in statement.groups:
            low, high = count.interval("agree")
            row += [count.votes, round(count.share("agree"), 4), round(low, 4), round(high, 4)]
        rows.append(row)
    return write_csv(titles, rows)


def opinion_groups(findings: Findings) -> str:
    """A row for each group: its letter, its id, its people, and how far the groups of the run can be trusted."""
    known = findings.certainty
    titles = ["group", "group-id", "participants", "grouped-participants", "stability", "draws-by-lot", "draws-as-strong", "division"]
    stability = None if known.stability is None else round(known.stability, 4)
    rows: list[list[Cell]] = [
        [
            group.letter,
            group.group_id,
            group.size,
            findings.totals.grouped,
            stability,
            known.draws or None,
            known.as_strong if known.draws else None,
            None if known.division == "not-weighed" else known.division,
        ]
        for group in findings.groups
    ]
    return write_csv(titles, rows)


def comment_clusters(findings: Findings) -> str:
    """A row for each comment: its text and the number of its topic in each layer, finest first, then the topics' names.

    A comment without text has empty cells.
    """
    depth = range(len(findings.topics))
    titles = ["comment-id", "comment-body", *(f"layer{layer}_cluster_id" for layer in depth), *(f"layer{layer}_topic" for layer in depth)]
    rows: list[list[Cell]] = []
    for number, statement in findings.statements.items():
        topics = [findings.topic(key) for key in statement.topics] or [None for _ in depth]
        numbers = [None if topic is None else topic.number for topic in topics]
        rows.append([number, _text(statement.body), *numbers, *(None if topic is None else _text(topic.name) for topic in topics)])
    return write_csv(titles, rows)


def _text(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def write_csv(titles: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Rows under their titles as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    return file.getvalue()
