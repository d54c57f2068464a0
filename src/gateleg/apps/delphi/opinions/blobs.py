"""Opinions in the format of Polis's result documents, for programs that read these.

In them agreement is -1 and disagreement 1; only this module uses these signs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.delphi.conversations.votes import Ints
    from gateleg.apps.delphi.opinions.consensus import Shared
    from gateleg.apps.delphi.opinions.groups import Grouping
    from gateleg.apps.delphi.opinions.representatives import Representative
    from gateleg.apps.delphi.opinions.stage import Opinions
    from gateleg.apps.delphi.opinions.tallies import Tally


def blob_of(opinions: Opinions) -> dict[str, Any]:
    """The result document of a conversation, ready for JSON. Arrays of comments are in the order of `tids`."""
    matrix, groups, tallies = opinions.matrix, opinions.groups, opinions.tallies
    tids = matrix.comments.tolist()
    people = matrix.participants[groups.members]
    return {
        "n": len(matrix.participants),
        "n-cmts": len(tids),
        "tids": tids,
        "in-conv": sorted(people.tolist()),
        "user-vote-counts": dict(zip(map(str, matrix.participants.tolist()), matrix.vote_counts.tolist(), strict=True)),
        "mod-out": sorted(opinions.moderation.out),
        "mod-in": sorted(opinions.moderation.accepted),
        "meta-tids": sorted(opinions.moderation.meta),
        "pca": {
            "center": (-opinions.pca.center).tolist(),
            # Inverted like the votes, so that positions stay the same.
            "comps": (-opinions.pca.components).tolist(),
            "comment-projection": opinions.comment_positions.T.tolist(),
            "comment-extremity": opinions.map_extremity.tolist(),
        },
        "base-clusters": {
            "id": groups.base.ids.tolist(),
            "members": [people[groups.base.places == place].tolist() for place in range(len(groups.base))],
            "x": groups.base.centers[:, 0].tolist(),
            "y": groups.base.centers[:, 1].tolist() if opinions.config.n_components > 1 else [0.0] * len(groups.base),
            "count": groups.base.sizes.tolist(),
        },
        "group-clusters": _clusters(opinions, groups.groups, list(range(len(groups.base))), None),
        "subgroup-clusters": {
            str(parent): _clusters(opinions, grouping, groups.parts[parent].tolist(), parent)
            for parent, grouping in groups.subgroups.items()
        },
        "votes-base": _by_comment(tids, tallies.base),
        "group-votes": _group_votes(opinions, groups.groups, np.arange(len(groups.base)), tallies.groups),
        "subgroup-votes": {
            str(parent): _group_votes(opinions, grouping, groups.parts[parent], tallies.subgroups[parent])
            for parent, grouping in groups.subgroups.items()
        },
        "repness": _repness_lists(opinions.representatives),
        "subgroup-repness": {str(parent): _repness_lists(listed) for parent, listed in opinions.subgroup_representatives.items()},
        "consensus": {
            "agree": [_shared(found) for found in opinions.consensus.agree],
            "disagree": [_shared(found) for found in opinions.consensus.disagree],
        },
        "group-aware-consensus": dict(zip(map(str, tids), opinions.group_aware_consensus.tolist(), strict=True)),
        "comment-priorities": dict(zip(map(str, tids), opinions.priorities.tolist(), strict=True)),
    }


def _clusters(opinions: Opinions, grouping: Grouping, part: list[int], parent: int | None) -> list[dict[str, Any]]:
    """Groups, each with the ids of its base clusters."""
    base = opinions.groups.base.ids
    found = []
    for place, group in enumerate(grouping.clusters.ids.tolist()):
        members = [int(base[cluster]) for cluster, of in zip(part, grouping.clusters.places.tolist(), strict=True) if of == place]
        cluster = {"id": group, "center": grouping.clusters.centers[place].tolist(), "members": members}
        found.append(cluster if parent is None else {**cluster, "parent-id": parent})
    return found


def _by_comment(tids: list[int], base: Tally) -> dict[str, dict[str, list[int]]]:
    """The votes of each base cluster, by comment."""
    return {
        str(tid): {"A": base.agrees[:, place].tolist(), "D": base.disagrees[:, place].tolist(), "S": base.seen[:, place].tolist()}
        for place, tid in enumerate(tids)
    }


def _group_votes(opinions: Opinions, grouping: Grouping, part: Ints, tally: Tally) -> dict[str, dict[str, Any]]:
    """The size and votes of each group. `part` has the indices of the base clusters that were grouped."""
    tids, sizes = opinions.matrix.comments.tolist(), opinions.groups.base.sizes[part]
    return {
        str(group): {
            "id": group,
            "n-members": int(sizes[grouping.clusters.places == place].sum()),
            "votes": {
                str(tid): {"A": int(a), "D": int(d), "S": int(s)}
                for tid, a, d, s in zip(tids, tally.agrees[place], tally.disagrees[place], tally.seen[place], strict=True)
            },
        }
        for place, group in enumerate(grouping.clusters.ids.tolist())
    }


def _repness_lists(representatives: Mapping[int, Sequence[Representative]]) -> dict[str, list[dict[str, Any]]]:
    return {str(group): [_repness(found) for found in listed] for group, listed in representatives.items()}


def _repness(found: Representative) -> dict[str, Any]:
    record: dict[str, Any] = {
        "tid": found.comment_id,
        "n-success": found.n_success,
        "n-trials": found.n_trials,
        "p-success": found.p_success,
        "p-test": found.p_test,
        "repness": found.repness,
        "repness-test": found.repness_test,
        "repful-for": found.repful_for,
    }
    return {**record, "best-agree": True, "n-agree": found.agrees} if found.best_agree else record


def _shared(found: Shared) -> dict[str, Any]:
    return {
        "tid": found.comment_id,
        "n-success": found.n_success,
        "n-trials": found.n_trials,
        "p-success": found.p_success,
        "p-test": found.p_test,
    }
