"""How stable groups are when some comments are left out.

Groups are found again several times, each time without a random fifth of the comments. Groups that reflect opinions reappear; groups that
rest on a few comments, or on the start of the clustering, do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.opinions.improved_groups import improved_base_clusters, least_size
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
#: With more participants a sample is used, which changes the figures little.
_MOST_PARTICIPANTS = 2_000
_FEWEST_COMMENTS = 10


@dataclass(frozen=True, slots=True)
class Stability:
    """How well groups reappear without some of the comments, from 0 to 1."""

    #: the mean adjusted Rand index over all repeats
    overall: float
    #: by group id: the mean Jaccard index with the most similar group
    groups: Mapping[int, float]


def group_stability(matrix: VoteMatrix, out: Flags, groups: Groups, components: int = 2) -> Stability | None:
    """The stability of groups; None if there is only one group, or there are too few comments to leave any out."""
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
        found = _regroup(matrix.part(members, kept), len(ids), components)
        overall.append(agreement(labels, found))
        overlaps.append([_overlap(labels == group, found) for group in ids])
    means = np.mean(overlaps, axis=0)
    return Stability(float(np.mean(overall)), dict(zip(ids.tolist(), means.tolist(), strict=True)))


def _regroup(matrix: VoteMatrix, count: int, components: int) -> Ints:
    """Divide all rows of a matrix into `count` groups."""
    nothing_out = np.zeros(len(matrix.comments), dtype=np.bool_)
    positions = participant_positions(matrix, nothing_out, principal_components(matrix, nothing_out, components))
    base = improved_base_clusters(positions)
    found = restarted_clusters(base.centers, count, base.sizes.astype(np.float64), least_size(len(positions)), _RESTARTS)
    return np.zeros(len(positions), dtype=np.int64) if found is None else found.places[base.places].astype(np.int64)


def _overlap(group: Flags, found: Ints) -> float:
    """The Jaccard index with the most similar of the groups in `found`."""
    return max(float((group & (found == other)).sum() / (group | (found == other)).sum()) for other in np.unique(found))
