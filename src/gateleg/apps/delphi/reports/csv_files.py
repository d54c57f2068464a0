"""Results as CSV: participant-votes, comment-groups and comment-clusters in Polis's export formats, and further tables.

Comments that moderation excluded appear only in participant-votes, which has a column for every comment with votes. Texts that a
spreadsheet would interpret as a formula are prefixed with an apostrophe.
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
    """A row for each participant: their group, the number of their comments and votes, and their vote on each comment.

    1 is agreement, -1 disagreement, 0 a pass, and an empty cell a missing vote. `group_of` contains only grouped participants.
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
    """A row for each comment: the votes of everybody and of each group."""
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
    """A row for each comment with enough votes in every group, clearest first: the lower bound in the group that
    agrees least, and each group's votes, share of agreement and its 95 % interval."""
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
    """A row for each group: its letter, id and size, and how reliable the groups of the run are."""
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
    """A row for each comment: its text, the number of its topic in each layer, finest first, and the names of these topics.

    A comment without topics has empty cells.
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
    """CSV text with a header."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    return file.getvalue()
