"""Restores findings from stored rows. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.representatives import Representative
from gateleg.apps.delphi.reports.findings import (
    LEAST_SHOWN,
    Certainty,
    Count,
    Findings,
    Group,
    Statement,
    Totals,
    meta_comments,
    shown_representatives,
    shown_topics,
    topic_fields,
    with_enough_votes,
)
from gateleg.apps.delphi.reports.participation import participation_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
    from gateleg.apps.delphi.runs.run_tables import Run
    from gateleg.apps.delphi.runs.vote_tables import (
        CommentStatistics,
        ConsensusComment,
        OpinionGroup,
        ParticipantProjection,
        RepresentativeComment,
    )
    from gateleg.apps.delphi.tables import CommentExtremity
    from gateleg.apps.delphi.topics.stage import Topics


@dataclass(frozen=True, slots=True)
class VoteRows:
    """The rows of a run of the votes stage that a report needs, sorted by key."""

    statistics: Sequence[CommentStatistics]
    extremities: Sequence[CommentExtremity]
    groups: Sequence[OpinionGroup]
    representatives: Sequence[RepresentativeComment]
    consensus: Sequence[ConsensusComment]
    participants: Sequence[ParticipantProjection]


def findings_from(conversation: Conversation, run: Run, rows: VoteRows, topics: Topics | None = None) -> Findings:
    """The findings of a run: as `find` returns them, except for the last decimals."""
    known = {row.comment_id: row for row in rows.statistics}
    excluded = {row.comment_id for row in rows.statistics if row.is_out} | set(run.config.get("excluded_comments", ()))
    kept = [one for one in conversation.comments if one.moderated != -1 and not one.is_meta and one.comment_id not in excluded]
    shown = [row for row in rows.groups if row.level == "group" and row.member_count >= LEAST_SHOWN]
    groups = sorted(shown, key=lambda row: row.group_id)
    places: dict[int | None, int] = {row.group_id: place for place, row in enumerate(groups)}
    divided = {row.comment_id: row.extremity_value for row in rows.extremities}
    where = topic_fields(topics)
    statements = {
        comment.comment_id: Statement(
            comment.comment_id,
            comment.body,
            *_votes(known.get(comment.comment_id), places),
            divisiveness=divided.get(comment.comment_id, 0.0),
            **where.get(comment.comment_id, {}),
        )
        for comment in sorted(kept, key=lambda comment: comment.comment_id)
    }
    return Findings(
        conversation_id=conversation.conversation_id,
        title=conversation.topic or conversation.conversation_id,
        description=conversation.description,
        totals=_totals(conversation, kept, rows, statements),
        groups=tuple(
            Group(
                row.group_id,
                places[row.group_id],
                row.member_count,
                shown_representatives(_representatives(rows, row.group_id, statements)),
            )
            for row in groups
        ),
        statements=statements,
        agreed=with_enough_votes(_ranked(rows, "agree"), statements),
        disagreed=with_enough_votes(_ranked(rows, "disagree"), statements),
        topics=shown_topics(topics, conversation.comments, statements),
        main_layer=0 if topics is None else topics.layers.steadiest,
        people=np.array([(*row.coordinates, 0.0)[:2] for row in rows.participants], dtype=np.float64).reshape(-1, 2),
        people_groups=np.array([places.get(row.group_id, -1) for row in rows.participants], dtype=np.int64),
        mode=run.config.get("mode", "exact"),
        replayed=run.config.get("replay", False),
        order=run.config.get("order", "reading"),
        known_words=None if topics is None else topics.known_words,
        from_words=topics is not None and topics.model == "words",
        certainty=_certainty(run),
        # The conversation contains only the votes that the run has counted.
        participation=participation_of(conversation.counted_votes(), statements),
        meta=tuple(Statement(one.comment_id, one.body, _votes(known.get(one.comment_id), {})[0]) for one in meta_comments(conversation)),
    )


def _votes(row: CommentStatistics | None, places: Mapping[int | None, int]) -> tuple[Count, tuple[Count, ...], float, float]:
    if row is None:
        return Count(), (Count(),) * len(places), 0.0, 0.5
    of_groups = tuple(Count(votes.agrees, votes.disagrees, votes.passes) for votes in (row.groups[str(group)] for group in places))
    return Count(row.agrees, row.disagrees, row.passes), of_groups, row.consensus_score, row.normalised_consensus


def _totals(conversation: Conversation, kept: Sequence[Comment], rows: VoteRows, statements: Mapping[int, Statement]) -> Totals:
    return Totals(
        participants=len(rows.participants),
        grouped=sum(row.in_conversation for row in rows.participants),
        votes=sum(row.n_votes for row in rows.participants),
        comments=len(kept),
        comments_out=len(conversation.comments) - len(kept),
        authors=len({comment.author_id for comment in kept if comment.author_id is not None}),
        comments_voted_on=len(rows.statistics),
        votes_shown=sum(statement.everybody.votes for statement in statements.values()),
    )


def _representatives(rows: VoteRows, group: int, shown: Mapping[int, Statement]) -> tuple[Representative, ...]:
    mine = sorted((row for row in rows.representatives if row.group_id == group and row.comment_id in shown), key=lambda row: row.rank)
    return tuple(
        Representative(
            comment_id=row.comment_id,
            repful_for=row.repful_for,
            n_success=row.n_success,
            n_trials=row.n_trials,
            p_success=row.p_success,
            p_test=row.p_test,
            repness=row.repness,
            repness_test=row.repness_test,
            agrees=row.n_agree,
            disagrees=row.n_disagree,
            best_agree=row.best_agree,
        )
        for row in mine
    )


def _ranked(rows: VoteRows, kind: str) -> list[int]:
    return [row.comment_id for row in sorted((row for row in rows.consensus if row.kind == kind), key=lambda row: row.rank)]


def _certainty(run: Run) -> Certainty:
    """The certainty that a run has stored. Runs of earlier versions lack the test for chance and the choice of a division."""
    chance = run.summary.get("chance") or {}
    return Certainty(
        run.summary.get("stability"), chance.get("draws", 0), chance.get("as_strong", 0), run.summary.get("division", "not-weighed")
    )
