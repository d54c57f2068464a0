"""Divisiveness: how much groups differ on a comment. Stored as its extremity, with the method `max_vote_diff`.

Not to be confused with `projection.map_extremity`, its distance from the centre of the map.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats
    from gateleg.apps.delphi.opinions.tallies import Tally

#: The names of the methods in stored results, without and with shrinkage.
PLAIN_METHOD = "max_vote_diff"
SHRUNK_METHOD = "max_vote_diff_shrunk"
#: The number of votes with the average opinion that are added to each group before groups are compared.
PRIOR_VOTES = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Divisiveness:
    """How much groups differ on each comment. Every array has one entry per comment, from 0 to 1."""

    method: str
    #: the largest difference of two groups in any kind of vote, averaged over all pairs of groups
    values: Floats
    #: the largest difference of any two groups, for each kind of vote
    agree: Floats
    disagree: Floats
    passes: Floats


def divisiveness(groups: Tally, prior_votes: float = 0.0) -> Divisiveness:
    """How much groups differ on each comment.

    Without a prior, one voter counts as much as a group of hundreds, and comments with hardly any votes rank highest. `prior_votes` shrinks
    each group's shares towards those of all groups, as if this number of people with the average opinion had also voted.
    """
    shares = _shrunk(groups, prior_votes) if prior_votes > 0 else groups.shares()
    comments = groups.seen.shape[1]
    pairs = list(combinations(range(len(groups.seen)), 2))
    apart = [np.array([np.abs(share[a] - share[b]) for a, b in pairs]).reshape(len(pairs), comments) for share in shares]
    method = SHRUNK_METHOD if prior_votes > 0 else PLAIN_METHOD
    if not pairs:
        nothing = np.zeros(comments)
        return Divisiveness(method, nothing, nothing, nothing, nothing)
    largest = np.maximum.reduce(apart)
    return Divisiveness(method, largest.mean(axis=0), *(component.max(axis=0) for component in apart))


def _shrunk(groups: Tally, prior_votes: float) -> tuple[Floats, Floats, Floats]:
    total = groups.total()
    cast = groups.seen + prior_votes
    agree, disagree, passes = (
        (own + prior_votes * overall) / cast
        for own, overall in zip((groups.agrees, groups.disagrees, groups.passes), total.shares(), strict=True)
    )
    return agree, disagree, passes
