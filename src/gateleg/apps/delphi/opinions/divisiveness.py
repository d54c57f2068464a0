"""How much groups differ on a comment: stored as its extremity, with the method `max_vote_diff`.

Not to be mistaken for how far it lies out on the map (`projection.map_extremity`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats
    from gateleg.apps.delphi.opinions.tallies import Tally

#: What the values are called where they are stored, plain and shrunk.
PLAIN_METHOD = "max_vote_diff"
SHRUNK_METHOD = "max_vote_diff_shrunk"
#: Votes of the whole conversation's opinion that are added to each group's before groups are compared.
PRIOR_VOTES = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Divisiveness:
    """How much groups differ: an entry for each comment in every array, all from 0 to 1."""

    method: str
    #: the mean over pairs of groups of their largest difference
    values: Floats
    #: the largest difference of any two groups in their shares of agreement, disagreement and passes
    agree: Floats
    disagree: Floats
    passes: Floats


def divisiveness(groups: Tally, prior_votes: float = 0.0) -> Divisiveness:
    """How much groups differ on each comment.

    Without a prior a group of one voter counts as much as a group of hundreds, and comments with hardly any votes come out on top. With
    `prior_votes` each group's shares are drawn towards those of all groups together, as if so many more had voted like everybody.
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
