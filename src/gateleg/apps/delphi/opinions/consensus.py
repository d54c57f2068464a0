"""Consensus: what the whole conversation agrees or disagrees with, and what every group does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.proportions import Z90, estimate, proportion_test, wilson_interval

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Floats, Ints
    from gateleg.apps.delphi.opinions.tallies import Tally

#: Comments that each side lists.
MOST_COMMENTS = 5


@dataclass(frozen=True, slots=True)
class Shared:
    """A comment that most participants are on one side of."""

    comment_id: int
    n_success: int
    n_trials: int
    p_success: float
    p_test: float


@dataclass(frozen=True, slots=True)
class Consensus:
    """What most participants agree with, and what most disagree with, clearest first."""

    agree: tuple[Shared, ...] = ()
    disagree: tuple[Shared, ...] = ()


def find_consensus(everybody: Tally, comments: Ints, out: Flags) -> Consensus:
    """The comments that significantly more than half of all voters agree, or disagree, with."""
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
    """For each comment the chance that a member of each group, taken at random, all agree: a product, so more groups make it smaller."""
    return np.asarray(estimate(groups.agrees, groups.seen).prod(axis=0))


def normalised_consensus(groups: Tally) -> Floats:
    """For each comment the mean over groups of the share that agrees among those who take a side, whatever the number of groups."""
    if not len(groups.seen):
        return np.full(groups.seen.shape[1], 0.5)
    return np.asarray(estimate(groups.agrees, groups.agrees + groups.disagrees).mean(axis=0))


@dataclass(frozen=True, slots=True)
class CommonGround:
    """A comment that every group agrees with, and how sure that is."""

    comment_id: int
    #: the lower end of the agreement's interval in the group that agrees least
    at_least: float
    #: that group
    least_in: int


def common_ground(groups: Tally, group_ids: Ints, comments: Ints, out: Flags) -> tuple[CommonGround, ...]:
    """The comments that more than half of every group agrees with, beyond chance; surest first.

    A product of shares calls a comment shared that one group has hardly voted on. Here the least convinced group decides, and few votes
    make a wide interval.
    """
    if not len(group_ids):
        return ()
    low, _ = wilson_interval(groups.agrees, groups.seen)
    least, where = low.min(axis=0), low.argmin(axis=0)
    sure = np.flatnonzero((least > 0.5) & ~out)
    ranked = sure[np.argsort(-least[sure], kind="stable")]
    return tuple(CommonGround(int(comments[place]), float(least[place]), int(group_ids[where[place]])) for place in ranked)
