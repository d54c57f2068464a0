"""Converts opinions to the rows that are stored, each far below DynamoDB's size limit. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.apps.delphi.opinions.certainty import ENOUGH_VOTES
from gateleg.apps.delphi.runs.chunks import pack
from gateleg.apps.delphi.runs.vote_tables import (
    BaseCluster,
    CommentStatistics,
    ComponentsChunk,
    ConsensusComment,
    CorrelationsChunk,
    GroupVotes,
    OpinionGroup,
    ParticipantProjection,
    RepresentativeComment,
    SubgroupComment,
)
from gateleg.apps.delphi.tables import CommentExtremity, VoteDifferences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gateleg.apps.delphi.conversations.votes import Ints
    from gateleg.apps.delphi.opinions.consensus import Shared
    from gateleg.apps.delphi.opinions.groups import Grouping
    from gateleg.apps.delphi.opinions.representatives import Representative, Side
    from gateleg.apps.delphi.opinions.stage import Opinions
    from gateleg.apps.delphi.runs.origin import Origin
    from gateleg.apps.delphi.tables import JobResult

#: The number of comments in a chunk of components; each of their numbers takes about 20 bytes before compression.
_COMMENTS_PER_CHUNK = 1_000
#: The number of correlations in a chunk.
_CORRELATIONS_PER_CHUNK = 40_000


def rows_of(opinions: Opinions, origin: Origin) -> Iterator[JobResult]:
    """All rows of a run, in any order."""
    common = origin.fields()
    yield from _components(opinions, common)
    yield from _comments(opinions, common)
    yield from _groups(opinions, common)
    yield from _lists(opinions, common)
    yield from _correlations(opinions, common)
    yield from _participants(opinions, common)


def _components(opinions: Opinions, common: dict[str, Any]) -> Iterator[JobResult]:
    comments, pca = opinions.matrix.comments, opinions.pca
    for chunk, start in enumerate(range(0, max(len(comments), 1), _COMMENTS_PER_CHUNK)):
        part = slice(start, start + _COMMENTS_PER_CHUNK)
        yield ComponentsChunk(
            **common,
            chunk=chunk,
            comment_ids=comments[part].tolist(),
            center=pca.center[part].tolist(),
            components=pca.components[:, part].tolist(),
            comment_positions=opinions.comment_positions[part].T.tolist(),
            singular_values=pca.singular_values.tolist(),
            explained=pca.explained.tolist(),
        )


def _comments(opinions: Opinions, common: dict[str, Any]) -> Iterator[JobResult]:
    everybody, divided, out = opinions.tallies.everybody, opinions.divisiveness, opinions.out
    meta = opinions.moderation.meta_of(opinions.matrix.comments)
    for place, comment in enumerate(opinions.matrix.comments.tolist()):
        yield CommentStatistics(
            **common,
            comment_id=comment,
            priority=float(opinions.priorities[place]),
            agrees=int(everybody.agrees[place]),
            disagrees=int(everybody.disagrees[place]),
            passes=int(everybody.passes[place]),
            groups=_group_votes(opinions, place),
            consensus_score=float(opinions.group_aware_consensus[place]),
            normalised_consensus=float(opinions.normalised_consensus[place]),
            map_extremity=float(opinions.map_extremity[place]),
            is_out=bool(out[place]),
            is_meta=bool(meta[place]),
        )
        yield CommentExtremity(
            **common,
            comment_id=comment,
            extremity_value=float(divided.values[place]),
            calculation_method=divided.method,
            component_values=VoteDifferences(
                agree_diff=float(divided.agree[place]),
                disagree_diff=float(divided.disagree[place]),
                pass_diff=float(divided.passes[place]),
            ),
        )


def _group_votes(opinions: Opinions, place: int) -> dict[str, GroupVotes]:
    tally, sure = opinions.tallies.groups, opinions.intervals
    return {
        str(group): GroupVotes(
            agrees=int(tally.agrees[row, place]),
            disagrees=int(tally.disagrees[row, place]),
            passes=int(tally.passes[row, place]),
            agree_low=None if sure is None else round(float(sure.agree_low[row, place]), 6),
            agree_high=None if sure is None else round(float(sure.agree_high[row, place]), 6),
            enough=None if sure is None else bool(sure.enough[row, place]),
        )
        for row, group in enumerate(opinions.groups.groups.clusters.ids.tolist())
    }


def _groups(opinions: Opinions, common: dict[str, Any]) -> Iterator[JobResult]:
    groups = opinions.groups
    participants = opinions.matrix.participants[groups.members]
    labels = groups.groups.clusters.labels
    for place, cluster in enumerate(groups.base.ids.tolist()):
        members = np.sort(participants[groups.base.places == place])
        yield BaseCluster(
            **common,
            cluster_id=cluster,
            center=groups.base.centers[place].tolist(),
            size=len(members),
            group_id=int(labels[place]),
            members=pack(members),
        )
    yield from _grouping(opinions, groups.groups, np.arange(len(groups.base)), None, common)
    for parent, grouping in groups.subgroups.items():
        yield from _grouping(opinions, grouping, groups.parts[parent], parent, common)


def _grouping(opinions: Opinions, grouping: Grouping, part: Ints, parent: int | None, common: dict[str, Any]) -> Iterator[JobResult]:
    """The groups of one division. `part` has the indices of the base clusters that were grouped."""
    base = opinions.groups.base
    for place, group in enumerate(grouping.clusters.ids.tolist()):
        mine = part[grouping.clusters.places == place]
        yield OpinionGroup(
            **common,
            group_key=f"group#{group}" if parent is None else f"group#{parent}#subgroup#{group}",
            level="group" if parent is None else "subgroup",
            group_id=group,
            parent_id=parent,
            center=grouping.clusters.centers[place].tolist(),
            member_count=int(base.sizes[mine].sum()),
            base_cluster_ids=base.ids[mine].tolist(),
            silhouettes={str(k): score for k, score in grouping.scores.items()},
            stability=None if parent is not None or opinions.stability is None else opinions.stability.groups[group],
            representatives=[] if parent is None else _subgroup_comments(opinions.subgroup_representatives[parent][group]),
        )


def _subgroup_comments(representatives: Iterable[Representative]) -> list[SubgroupComment]:
    """The representative comments of a subgroup with enough votes."""
    shown = [found for found in representatives if found.n_trials >= ENOUGH_VOTES]
    return [SubgroupComment(**{name: getattr(found, name) for name in SubgroupComment.model_fields}) for found in shown]


def _lists(opinions: Opinions, common: dict[str, Any]) -> Iterator[JobResult]:
    for group, representatives in opinions.representatives.items():
        for rank, found in enumerate(representatives):
            yield RepresentativeComment(
                **common,
                group_id=group,
                rank=rank,
                comment_id=found.comment_id,
                side=found.side,
                repful_for=found.repful_for,
                n_success=found.n_success,
                n_trials=found.n_trials,
                p_success=found.p_success,
                p_test=found.p_test,
                repness=found.repness,
                repness_test=found.repness_test,
                n_agree=found.agrees,
                n_disagree=found.disagrees,
                best_agree=found.best_agree,
            )
    yield from _shared("agree", opinions.consensus.agree, common)
    yield from _shared("disagree", opinions.consensus.disagree, common)
    for rank, ground in enumerate(opinions.common_ground):
        yield ConsensusComment(
            **common, kind="common", rank=rank, comment_id=ground.comment_id, at_least=ground.at_least, least_in=ground.least_in
        )


def _shared(side: Side, comments: Iterable[Shared], common: dict[str, Any]) -> Iterator[JobResult]:
    for rank, shared in enumerate(comments):
        yield ConsensusComment(
            **common,
            kind=side,
            rank=rank,
            comment_id=shared.comment_id,
            n_success=shared.n_success,
            n_trials=shared.n_trials,
            p_success=shared.p_success,
            p_test=shared.p_test,
        )


def _correlations(opinions: Opinions, common: dict[str, Any]) -> Iterator[JobResult]:
    found = opinions.correlations
    if found is None or not len(found.comments):
        return
    step = max(1, _CORRELATIONS_PER_CHUNK // len(found.comments))
    for chunk, first in enumerate(range(0, len(found.comments), step)):
        yield CorrelationsChunk(
            **common,
            chunk=chunk,
            comment_ids=found.comments.tolist(),
            first_row=first,
            rows=found.values[first : first + step].round(4).tolist(),
        )


def _participants(opinions: Opinions, common: dict[str, Any]) -> Iterator[JobResult]:
    matrix, groups, found = opinions.matrix, opinions.groups, opinions.participants
    people = len(matrix.participants)
    group_ids = [str(group) for group in groups.groups.clusters.ids.tolist()]
    columns = zip(
        matrix.participants.tolist(),
        opinions.positions.tolist(),
        opinions.inside.tolist(),
        groups.group_of(people).tolist(),
        groups.subgroup_of(people).tolist(),
        groups.base_of(people).tolist(),
        matrix.vote_counts.tolist(),
        found.agrees.tolist(),
        found.disagrees.tolist(),
        found.passes.tolist(),
        found.centricness.tolist(),
        found.coreness.tolist(),
        found.extremeness.tolist(),
        found.group_correlations.round(6).tolist(),
        strict=True,
    )
    for person, position, inside, group, subgroup, base, votes, agrees, disagrees, passes, centric, core, extreme, alike in columns:
        yield ParticipantProjection(
            **common,
            participant_id=person,
            coordinates=position,
            in_conversation=inside,
            group_id=_present(group),
            subgroup_id=_present(subgroup),
            base_cluster_id=_present(base),
            n_votes=votes,
            n_agree=agrees,
            n_disagree=disagrees,
            n_pass=passes,
            centricness=centric,
            coreness=None if math.isnan(core) else core,
            extremeness=None if math.isnan(extreme) else extreme,
            group_correlations=dict(zip(group_ids, alike, strict=True)),
        )


def _present(label: int) -> int | None:
    return None if label < 0 else label


def summary_of(opinions: Opinions) -> dict[str, Any]:
    """The figures that lists of runs show."""
    return {
        "participants": len(opinions.matrix.participants),
        "grouped": int(opinions.inside.sum()),
        "comments": len(opinions.matrix.comments),
        "comments_out": int(opinions.out.sum()),
        "votes": len(opinions.matrix.rows),
        "groups": len(opinions.groups.groups.clusters),
        "group_sizes": opinions.tallies.group_sizes.tolist(),
        "explained": [round(share, 6) for share in opinions.pca.explained.tolist()],
        "stability": None if opinions.stability is None else round(opinions.stability.overall, 4),
        "chance": {"draws": opinions.chance.draws, "as_strong": opinions.chance.as_strong},
        "division": opinions.division,
        "consensus": len(opinions.consensus.agree) + len(opinions.consensus.disagree),
    }
