"""How evenly people took part: participants with few votes, the busiest ones, when votes were cast, and comments with few votes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.membership import ENOUGH_VOTES

if TYPE_CHECKING:
    from collections.abc import Collection

    from gateleg.apps.delphi.conversations.votes import Votes

#: The share of participants that counts as few, and the share of the busiest.
_TENTH = 0.1
#: The minimum number of participants for a busiest tenth.
_FEWEST = 10


@dataclass(frozen=True, slots=True)
class Participation:
    """Figures of how evenly people took part. Of re-votes, only the last counts."""

    participants: int = 0
    votes: int = 0
    #: participants with fewer than seven votes, and the votes that they cast
    rare: int = 0
    rare_votes: int = 0
    #: the size of the busiest tenth of the participants, and the votes that they cast; 0 if there are fewer than ten participants
    busiest: int = 0
    busiest_votes: int = 0
    #: votes in the first and in the last quarter of the time from the first vote to the last; None if all have the same time
    first_quarter: int | None = None
    last_quarter: int | None = None
    #: the number of shown comments that fewer than a tenth of the participants voted on, and of all shown comments
    seldom_seen: int = 0
    comments: int = 0

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares that the text of a report may state."""
        if not self.votes:
            return ()
        cast = (self.busiest_votes, self.first_quarter or 0, self.last_quarter or 0)
        return tuple(count / self.votes for count in cast)

    @property
    def numbers(self) -> frozenset[int]:
        """The counts that the text of a report may state."""
        return frozenset({self.participants, self.votes, self.rare, self.rare_votes, self.busiest, self.seldom_seen, self.comments})


def participation_of(votes: Votes, shown: Collection[int]) -> Participation:
    """Compute how evenly people took part. `shown` are the comments that moderation does not exclude."""
    if not len(votes):
        return Participation(comments=len(shown), seldom_seen=0)
    ordered = votes.in_time()
    # Reversed, so that `np.unique` finds the last vote of each person on each comment.
    pairs = np.stack([ordered.participants, ordered.comments], axis=1)[::-1]
    _, last = np.unique(pairs, axis=0, return_index=True)
    people, comments, times = pairs[last, 0], pairs[last, 1], ordered.times[::-1][last]
    _, counts = np.unique(people, return_counts=True)
    busiest = round(_TENTH * len(counts)) if len(counts) >= _FEWEST else 0
    quarters = _quarters(times)
    known, seen = np.unique(comments, return_counts=True)
    times_seen = dict(zip(known.tolist(), seen.tolist(), strict=True))
    return Participation(
        participants=len(counts),
        votes=len(people),
        rare=int((counts < ENOUGH_VOTES).sum()),
        rare_votes=int(counts[counts < ENOUGH_VOTES].sum()),
        busiest=busiest,
        busiest_votes=int(np.sort(counts)[len(counts) - busiest :].sum()),
        first_quarter=None if quarters is None else quarters[0],
        last_quarter=None if quarters is None else quarters[1],
        seldom_seen=sum(times_seen.get(number, 0) < _TENTH * len(counts) for number in shown),
        comments=len(shown),
    )


def _quarters(times: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> tuple[int, int] | None:
    """The numbers of votes in the first and in the last quarter of the time."""
    begun, ended = int(times.min()), int(times.max())
    if begun == ended:
        return None
    return int((4 * (times - begun) < ended - begun).sum()), int((4 * (times - begun) >= 3 * (ended - begun)).sum())
