"""The confidence intervals that `mode="improved"` adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.proportions import wilson_interval

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Floats
    from gateleg.apps.delphi.opinions.tallies import Tally

#: The minimum number of votes of a group on a comment for its share to be stated.
ENOUGH_VOTES = 5


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """95 % intervals of each group's shares. Rows are groups, columns are comments."""

    agree_low: Floats
    agree_high: Floats
    disagree_low: Floats
    disagree_high: Floats
    #: whether the group has cast enough votes
    enough: Flags


def group_intervals(groups: Tally) -> Intervals:
    """Wilson's 95 % intervals for each group's shares of agreement and disagreement."""
    return Intervals(
        *wilson_interval(groups.agrees, groups.seen),
        *wilson_interval(groups.disagrees, groups.seen),
        np.asarray(groups.seen >= ENOUGH_VOTES),
    )
