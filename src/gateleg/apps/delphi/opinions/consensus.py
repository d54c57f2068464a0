"""Consensus: comments that most participants, or most members of every group, agree or disagree with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.proportions import Z90, estimate, proportion_test, wilson_interval

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Floats, Ints
    from gateleg.apps.delphi.opinions.tallies import Tally

#: The maximum number of comments on each side.
MOST_COMMENTS = 5


@dataclass(frozen=True, slots=True)
class Shared:
    """A comment that most participants agree with, or that most disagree with."""

    comment_id: int
    n_success: int
    n_trials: int
    p_success: float
    p_test: float


@dataclass(frozen=True, slots=True)
class Consensus:
    """The comments that most participants agree with, and those that most disagree with, clearest first."""

    agree: tuple[Shared, ...] = ()
    disagree: tuple[Shared, ...] = ()


def find_consensus(everybody: Tally, comments: Ints, out: Flags) -> Consensus:
    """The comments that significantly more than half of all voters agree with, or disagree with."""
    return Consensus(
        _clearest(everybody.agrees, everybody.seen, comments, out), _clearest(everybody.disagrees, everybody.seen, comments, out)
    )


def _clearest(successes: Ints, seen: Ints, comments: Ints, out: Flags) -> tuple[Shared, ...]:
    share, test = estimate(successes, seen), proportion_test(successes, seen)
    sure = np.flatnonzero((share > 0.5) & (test > Z90) & ~out)
    ranked = sure[np.argsort(-(share * test)[sure], kind="stable")][:MOST_COMMENTS]
    return tuple(
        Shared(int(comments[place]), int(successes[place]), int(seen[place]), float(share[place]), float(test[place])) for place in ranked
    )


def group_aware_consensus(groups: Tally) -> Floats:
    """For each comment the probability that random members of all groups, one of each, agree with it. It shrinks with more groups."""
    return np.asarray(estimate(groups.agrees, groups.seen).prod(axis=0))


def normalised_consensus(groups: Tally) -> Floats:
    """For each comment the mean over groups of the share that agrees among those who do not pass. Independent of the number of groups."""
    if not len(groups.seen):
        return np.full(groups.seen.shape[1], 0.5)
    return np.asarray(estimate(groups.agrees, groups.agrees + groups.disagrees).mean(axis=0))


@dataclass(frozen=True, slots=True)
class CommonGround:
    """A comment that a majority of every group agrees with, beyond chance."""

    comment_id: int
    #: the lower bound of the interval of agreement in the group that agrees least
    at_least: float
    #: the id of that group
    least_in: int


def common_ground(groups: Tally, group_ids: Ints, comments: Ints, out: Flags) -> tuple[CommonGround, ...]:
    """The comments that more than half of every group agrees with, beyond chance; the clearest first.

    The product of shares may be high for a comment on which one group has hardly voted. Here the group that agrees least decides, and few
    votes make its interval wide.
    """
    if not len(group_ids):
        return ()
    low, _ = wilson_interval(groups.agrees, groups.seen)
    least, where = low.min(axis=0), low.argmin(axis=0)
    sure = np.flatnonzero((least > 0.5) & ~out)
    ranked = sure[np.argsort(-least[sure], kind="stable")]
    return tuple(CommonGround(int(comments[place]), float(least[place]), int(group_ids[where[place]])) for place in ranked)
