"""How sure the figures are: the intervals that `mode="improved"` adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.proportions import wilson_interval

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Floats
    from gateleg.apps.delphi.opinions.tallies import Tally

#: Votes that a group must have cast on a comment before its share is worth saying.
ENOUGH_VOTES = 5


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """95 % intervals of each group's shares: rows are groups, columns comments."""

    agree_low: Floats
    agree_high: Floats
    disagree_low: Floats
    disagree_high: Floats
    #: where the group has voted often enough
    enough: Flags


def group_intervals(groups: Tally) -> Intervals:
    """Between which bounds the true shares of agreement and disagreement of each group lie."""
    return Intervals(
        *wilson_interval(groups.agrees, groups.seen),
        *wilson_interval(groups.disagrees, groups.seen),
        np.asarray(groups.seen >= ENOUGH_VOTES),
    )
