"""Priorities: how much each comment deserves more votes, for the choice of what a participant is asked next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Floats
    from gateleg.apps.delphi.opinions.tallies import Tally

#: Of comments about the voters, whatever their votes.
META_PRIORITY = 49.0


def comment_priorities(grouped: Tally, extremity: Floats, meta: Flags) -> Floats:
    """For each comment a weight for drawing it: high when few pass, many agree, it lies far out on the map, or it has few votes yet.

    `grouped` are the votes of everybody in a group, `extremity` is the distance on the map.
    """
    seen = grouped.seen + 2.0
    importance = (1.0 - (grouped.passes + 1.0) / seen) * (extremity + 1.0) * ((grouped.agrees + 1.0) / seen)
    novelty = 1.0 + 8.0 * np.exp2(-grouped.seen / 5.0)
    return np.where(meta, META_PRIORITY, (importance * novelty) ** 2)
