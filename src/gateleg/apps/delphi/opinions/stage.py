"""The votes stage: a pure function from votes and comments to opinions.

    opinions = analyse(conversation.votes, conversation.comments, VotesConfig(mode="improved"))

The entries of arrays belong to `opinions.matrix.participants` or `opinions.matrix.comments`, in that order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.certainty import ENOUGH_VOTES, Intervals, group_intervals
from gateleg.apps.delphi.opinions.chance import Chance, chance_of
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.consensus import (
    CommonGround,
    Consensus,
    common_ground,
    find_consensus,
    group_aware_consensus,
    normalised_consensus,
)
from gateleg.apps.delphi.opinions.correlations import Correlations, correlate
from gateleg.apps.delphi.opinions.division_choice import choose_division
from gateleg.apps.delphi.opinions.divisiveness import PRIOR_VOTES, Divisiveness, divisiveness
from gateleg.apps.delphi.opinions.groups import Groups, find_groups
from gateleg.apps.delphi.opinions.improved_groups import find_improved_groups, with_improved_subgroups
from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.apps.delphi.opinions.membership import members
from gateleg.apps.delphi.opinions.moderation import Moderation
from gateleg.apps.delphi.opinions.participants import ParticipantStatistics, participant_statistics
from gateleg.apps.delphi.opinions.pca import Components, principal_components
from gateleg.apps.delphi.opinions.priorities import comment_priorities
from gateleg.apps.delphi.opinions.projection import comment_positions, map_extremity, participant_positions
from gateleg.apps.delphi.opinions.replay import Update, replay
from gateleg.apps.delphi.opinions.representatives import Representative, representatives_of
from gateleg.apps.delphi.opinions.stability import Stability, group_stability
from gateleg.apps.delphi.opinions.tallies import Tallies, tally_votes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateleg.apps.delphi.conversations.conversation import Comment
    from gateleg.apps.delphi.conversations.votes import Flags, Floats, Votes
    from gateleg.apps.delphi.opinions.matrix import Indices
    from gateleg.apps.delphi.opinions.modes import Division, Order


@dataclass(frozen=True, slots=True, eq=False)
class Opinions:
    """The results of analysing the votes of a conversation."""

    config: VotesConfig
    matrix: VoteMatrix
    moderation: Moderation
    #: whether each participant is in the conversation
    inside: Flags
    pca: Components
    #: the positions of participants and comments on the map
    positions: Floats
    comment_positions: Floats
    #: the distance of each comment from the centre of the map
    map_extremity: Floats
    groups: Groups
    tallies: Tallies
    #: by group id
    representatives: dict[int, tuple[Representative, ...]]
    #: by group id and subgroup id: the comments that distinguish a subgroup from the others of its group
    subgroup_representatives: dict[int, dict[int, tuple[Representative, ...]]]
    consensus: Consensus
    group_aware_consensus: Floats
    normalised_consensus: Floats
    divisiveness: Divisiveness
    priorities: Floats
    participants: ParticipantStatistics
    correlations: Correlations | None
    #: only in improved mode, as is `common_ground`
    intervals: Intervals | None
    common_ground: tuple[CommonGround, ...]
    #: None if it cannot be determined
    stability: Stability | None
    #: the test of whether chance alone explains the differences
    chance: Chance
    #: only with replay
    history: tuple[Update, ...]
    #: which division improved mode has chosen, and why
    division: Division

    @property
    def out(self) -> Flags:
        """Whether moderation excludes each comment."""
        return self.moderation.out_of(self.matrix.comments)


def analyse(
    votes: Votes,
    comments: Iterable[Comment],
    config: VotesConfig | None = None,
    *,
    removed_participants: Iterable[int] = (),
    report: Callable[[str], object] = lambda step: None,
) -> Opinions:
    """Analyse the votes on comments. The order of the votes does not matter.

    `report` is called with the name of each step as it begins, and may raise to stop the analysis.
    """
    config = config or VotesConfig()
    report("matrix")
    cast = votes.without(removed_participants)
    cast = cast if config.max_votes is None else cast.first(config.max_votes)
    matrix, moderation = VoteMatrix.of(cast), Moderation.of(comments, config.excluded_comments)
    out = moderation.out_of(matrix.comments)
    report("components")
    pca = principal_components(matrix, out, config.n_components, config.pca_method)
    positions = participant_positions(matrix, out, pca)
    report("groups")
    inside = members(matrix.vote_counts, len(matrix.comments))
    chance = chance_of(matrix, out, np.flatnonzero(inside))
    found = _groups(cast, matrix, moderation, positions, config, inside, chance)
    report("statistics")
    return _with_statistics(config, matrix, moderation, pca, positions, found, chance)


def _with_statistics(
    config: VotesConfig,
    matrix: VoteMatrix,
    moderation: Moderation,
    pca: Components,
    positions: Floats,
    found: _FoundGroups,
    chance: Chance,
) -> Opinions:
    """The results, including all statistics that need positions and groups."""
    groups = found.groups
    improved = config.mode == "improved"
    ids, out = matrix.comments, moderation.out_of(matrix.comments)
    tallies = tally_votes(matrix, groups)
    group_ids = groups.groups.clusters.ids
    of_comments = comment_positions(pca)
    extremity = map_extremity(of_comments, out)
    return Opinions(
        config=config,
        matrix=matrix,
        moderation=moderation,
        inside=np.isin(np.arange(len(matrix.participants)), groups.members),
        pca=pca,
        positions=positions,
        comment_positions=of_comments,
        map_extremity=extremity,
        groups=groups,
        tallies=tallies,
        representatives=representatives_of(tallies.groups, group_ids, ids, out, ENOUGH_VOTES if improved else 0),
        subgroup_representatives={
            group: representatives_of(tallies.subgroups[group], division.clusters.ids, ids, out, ENOUGH_VOTES if improved else 0)
            for group, division in groups.subgroups.items()
        },
        consensus=find_consensus(tallies.everybody, ids, out),
        group_aware_consensus=group_aware_consensus(tallies.groups),
        normalised_consensus=normalised_consensus(tallies.groups),
        divisiveness=divisiveness(tallies.groups, PRIOR_VOTES if improved else 0.0),
        priorities=comment_priorities(tallies.grouped, extremity, moderation.meta_of(ids)),
        participants=participant_statistics(matrix, positions, groups, tallies.groups),
        correlations=correlate(matrix, out, config.correlated_comments) if config.correlated_comments else None,
        intervals=group_intervals(tallies.groups) if improved else None,
        common_ground=common_ground(tallies.groups, group_ids, ids, out) if improved else (),
        stability=group_stability(matrix, out, groups, config.n_components),
        chance=chance,
        history=found.history,
        division=found.division,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _FoundGroups:
    """The groups, the history if the votes were replayed, and the chosen division in improved mode."""

    groups: Groups
    history: tuple[Update, ...] = ()
    division: Division = "not-weighed"


def _groups(
    votes: Votes, matrix: VoteMatrix, moderation: Moderation, positions: Floats, config: VotesConfig, inside: Flags, chance: Chance
) -> _FoundGroups:
    if config.replay:
        replayed = replay(votes, moderation, config.replay_updates, config.n_components, config.pca_method, config.replay_from)
        return _FoundGroups(replayed.groups, replayed.history)
    order = _order(votes, matrix, config.order)
    rows = order[inside[order]]
    if config.mode == "exact":
        return _FoundGroups(find_groups(positions, rows))
    found = find_improved_groups(positions, rows, apart=not chance.likely)
    groups, division = choose_division(found, votes, moderation, positions, config)
    return _FoundGroups(with_improved_subgroups(groups, positions, apart=not chance.likely), division=division)


def _order(votes: Votes, matrix: VoteMatrix, order: Order) -> Indices:
    """The rows of all participants in the order of clustering."""
    if order == "reading":
        return matrix.in_reading_order
    if order == "participant":
        return np.arange(len(matrix.participants))
    people, first = np.unique(votes.in_time().participants, return_index=True)
    return np.argsort(first[np.searchsorted(people, matrix.participants)], kind="stable")
