"""Groups as they form while votes arrive.

A conversation that is analysed while it runs has state: participants who were let in stay in, and base clusters continue from the previous
update and keep their ids. Groups start from the base clusters with the lowest ids at every update, as they do after each restart of Polis;
published results of Polis that include base clusters are reproduced in this way. Replaying the votes of an export by time restores the
state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.groups import (
    BASE_CLUSTERS,
    BASE_ITERATIONS,
    Grouping,
    Groups,
    Patience,
    best_of,
    grouping,
    with_subgroups,
)
from gateleg.apps.delphi.opinions.kmeans import Clusters, k_means
from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.apps.delphi.opinions.membership import Membership
from gateleg.apps.delphi.opinions.pca import principal_components
from gateleg.apps.delphi.opinions.projection import participant_positions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.delphi.conversations.votes import Floats, Ints, Votes
    from gateleg.apps.delphi.opinions.config import Method
    from gateleg.apps.delphi.opinions.moderation import Moderation


@dataclass(frozen=True, slots=True)
class Update:
    """The figures of one update: a conversation after some of its votes."""

    votes: int
    #: the time of the last vote, in milliseconds
    at: int
    participants: int
    members: int
    comments: int
    #: the number of groups that was best in this update, and the one that was shown, which changes with a delay (see `Patience`)
    best_k: int
    kept_k: int


@dataclass(slots=True)
class _State:
    """The state that one update leaves for the next: the base cluster of each participant by id, and the `Patience`."""

    base: dict[int, int] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """The groups after the last vote, and the history of updates."""

    groups: Groups
    history: tuple[Update, ...]


def replay(
    votes: Votes,
    moderation: Moderation,
    updates: int = 100,
    components: int = 2,
    method: Method = "auto",
    start: float = 0.0,
    *,
    followed: bool = True,
) -> Replayed:
    """Process the votes in the order of time, with `updates` evenly spaced updates. Membership is decided vote by vote.

    `start` is the share of votes that had been cast when Polis restarted: they are read at once, comment by comment, before the first
    update. The final moderation applies throughout, because exports do not say when decisions were made. Unless `followed`, groups are
    computed only at the end: the result is the same, but the history has only the last update.
    """
    ordered = votes.in_time()
    people, rows = np.unique(ordered.participants, return_inverse=True)
    membership = Membership(len(people))
    state = _State()
    history: list[Update] = []
    inside, base, chosen = _nobody(components)
    done = 0
    ends = _ends(len(ordered), updates, start)
    for end in ends:
        let_in = membership.begin if start and not done else membership.add
        let_in(rows[done:end], ordered.comments[done:end])
        matrix = VoteMatrix.of(ordered.take(np.arange(end)))
        is_in = membership.inside[np.isin(people, matrix.participants)]
        inside = matrix.in_reading_order[is_in[matrix.in_reading_order]] if start and not done else np.flatnonzero(is_in)
        done = end
        out = moderation.out_of(matrix.comments)
        positions = participant_positions(matrix, out, principal_components(matrix, out, components, method))
        base = _update_base_clusters(matrix, positions, inside, state)
        if not followed and end != ends[-1]:
            continue
        chosen = grouping(base.centers, base.sizes.astype(np.float64))
        state.patience = state.patience.after(best_of(chosen.scores))
        at = int(ordered.times[end - 1])
        seen = state.patience
        history.append(Update(end, at, len(matrix.participants), len(inside), len(matrix.comments), seen.last, seen.kept))
    return Replayed(with_subgroups(inside, base, chosen), tuple(history))


def _nobody(components: int) -> tuple[Ints, Clusters, Grouping]:
    """The members, base clusters and groups of a conversation before its first vote."""
    empty = k_means(np.zeros((0, components)), BASE_CLUSTERS)
    return np.zeros(0, dtype=np.int64), empty, Grouping(empty, {})


def _ends(votes: int, updates: int, start: float = 0.0) -> list[int]:
    """The numbers of votes after which updates happen. The first is after the share `start`, the last after all votes."""
    if not votes:
        return []
    if start:
        ends = np.linspace(max(1, start * votes), votes, max(updates, 2)).astype(int)
    else:
        ends = np.linspace(0, votes, max(updates, 1) + 1).round().astype(int)[1:]
    return [int(end) for end in np.unique(ends) if end]


def _update_base_clusters(matrix: VoteMatrix, positions: Floats, inside: Ints, state: _State) -> Clusters:
    ids = matrix.participants[inside].tolist()
    base = k_means(positions[inside], BASE_CLUSTERS, iterations=BASE_ITERATIONS, earlier=_earlier(ids, state.base))
    state.base = dict(zip(ids, base.labels.tolist(), strict=True))
    return base


def _earlier(ids: list[int], labels: Mapping[int, int]) -> Ints:
    return np.fromiter((labels.get(number, -1) for number in ids), dtype=np.int64, count=len(ids))
