"""How much groups depend on which comments happened to be there.

The groups are looked for again with a fifth of the comments left out, several times. Groups that are in the opinions come back; groups that
are in a few comments, or in where the clustering began, do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.opinions.improved import improved_base_clusters, least_size
from gateleg.apps.delphi.opinions.pca import principal_components
from gateleg.apps.delphi.opinions.projection import participant_positions
from gateleg.apps.delphi.opinions.restarts import restarted_clusters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.delphi.conversations.votes import Flags, Ints
    from gateleg.apps.delphi.opinions.groups import Groups
    from gateleg.apps.delphi.opinions.matrix import VoteMatrix

_REPEATS = 10
_RESTARTS = 10
_KEPT = 0.8
#: More participants than this are drawn from, which changes the figures little.
_MOST_PARTICIPANTS = 2_000
_FEWEST_COMMENTS = 10


@dataclass(frozen=True, slots=True)
class Stability:
    """How well groups come back without some of the comments, from 0, not at all, to 1."""

    #: the mean adjusted Rand index of all groups
    overall: float
    #: for each group id the mean overlap with the group that is most like it: shared members as a share of all of either
    groups: Mapping[int, float]


def group_stability(matrix: VoteMatrix, out: Flags, groups: Groups, components: int = 2) -> Stability | None:
    """How stable groups are; None where there is one group only, or too few comments to leave any out."""
    ids = groups.groups.clusters.ids
    inside = np.flatnonzero(~out)
    if len(ids) < 2 or len(inside) < _FEWEST_COMMENTS:
        return None
    random = np.random.default_rng(0)
    members = np.sort(groups.members)
    if len(members) > _MOST_PARTICIPANTS:
        members = np.sort(random.choice(members, _MOST_PARTICIPANTS, replace=False))
    labels = groups.group_of(len(matrix.participants))[members]
    overall, overlaps = [], []
    for _ in range(_REPEATS):
        kept = np.sort(random.choice(inside, round(_KEPT * len(inside)), replace=False))
        found = _found(matrix.part(members, kept), len(ids), components)
        overall.append(agreement(labels, found))
        overlaps.append([_overlap(labels == group, found) for group in ids])
    means = np.mean(overlaps, axis=0)
    return Stability(float(np.mean(overall)), dict(zip(ids.tolist(), means.tolist(), strict=True)))


def _found(matrix: VoteMatrix, count: int, components: int) -> Ints:
    """The groups of all rows of a matrix, in a given number."""
    nothing_out = np.zeros(len(matrix.comments), dtype=np.bool_)
    positions = participant_positions(matrix, nothing_out, principal_components(matrix, nothing_out, components))
    base = improved_base_clusters(positions)
    found = restarted_clusters(base.centers, count, base.sizes.astype(np.float64), least_size(len(positions)), _RESTARTS)
    return np.zeros(len(positions), dtype=np.int64) if found is None else found.places[base.places].astype(np.int64)


def _overlap(group: Flags, found: Ints) -> float:
    """The share of common members with the group among `found` that has the largest."""
    return max(float((group & (found == other)).sum() / (group | (found == other)).sum()) for other in np.unique(found))
