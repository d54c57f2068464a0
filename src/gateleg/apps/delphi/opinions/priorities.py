"""Priorities of comments, for choosing the comment that a participant votes on next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Floats
    from gateleg.apps.delphi.opinions.tallies import Tally

#: The priority of meta comments, independent of their votes.
META_PRIORITY = 49.0


def comment_priorities(grouped: Tally, extremity: Floats, meta: Flags) -> Floats:
    """The weight of each comment in a random draw: high if few pass, many agree, it lies far out on the map, or has few votes so far.

    `grouped` has the votes of all participants in groups, `extremity` the distances from the centre of the map.
    """
    seen = grouped.seen + 2.0
    importance = (1.0 - (grouped.passes + 1.0) / seen) * (extremity + 1.0) * ((grouped.agrees + 1.0) / seen)
    novelty = 1.0 + 8.0 * np.exp2(-grouped.seen / 5.0)
    return np.where(meta, META_PRIORITY, (importance * novelty) ** 2)
