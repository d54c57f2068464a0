"""Which participants are in the conversation: those with enough votes to be compared with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Ints

#: The number of votes that a participant needs, unless there are fewer comments.
ENOUGH_VOTES = 7
#: If fewer participants qualify, those with the most votes are included as well.
FEWEST_MEMBERS = 15


def members(vote_counts: Ints, comments: int, before: Flags | None = None) -> Flags:
    """Whether each participant is in the conversation.

    Participants in `before` stay in. Of those with equally many votes, the ones with smaller ids, which come first, have precedence.
    """
    inside: Flags = vote_counts >= min(ENOUGH_VOTES, comments)
    if before is not None:
        inside = inside | before
    missing = FEWEST_MEMBERS - int(inside.sum())
    if missing > 0:
        outside = np.flatnonzero(~inside)
        ranked = outside[np.argsort(-vote_counts[outside], kind="stable")]
        inside = inside.copy()
        inside[ranked[:missing]] = True
    return inside


class Membership:
    """Which participants are in while votes arrive one by one. Early on, few votes suffice; nobody is removed later."""

    def __init__(self, people: int) -> None:
        #: whether each participant has been let in
        self.inside: Flags = np.zeros(people, dtype=np.bool_)
        self._counts: Ints = np.zeros(people, dtype=np.int64)
        self._seen: set[tuple[int, int]] = set()
        self._comments: set[int] = set()
        self._settled = False

    def add(self, rows: Ints, comments: Ints) -> None:
        """Add votes in order; `rows` are the participants."""
        for row, comment in zip(rows.tolist(), comments.tolist(), strict=True):
            self._comments.add(comment)
            if (row, comment) not in self._seen:
                self._seen.add((row, comment))
                self._counts[row] += 1
            if self._settled:
                self.inside[row] |= self._counts[row] >= ENOUGH_VOTES
            else:
                self._decide()

    def begin(self, rows: Ints, comments: Ints) -> None:
        """Add votes all at once, as after a restart: only the totals decide who is in."""
        pairs = set(zip(rows.tolist(), comments.tolist(), strict=True))
        self._seen |= pairs
        self._comments.update(comments.tolist())
        self._counts += np.bincount([row for row, _ in pairs], minlength=len(self._counts))
        self._decide()

    def _decide(self) -> None:
        voted = self._counts > 0
        self.inside |= members(self._counts, len(self._comments), self.inside) & voted
        # From now on, a vote can only let in the participant who casts it.
        self._settled = len(self._comments) >= ENOUGH_VOTES and int(self.inside.sum()) >= FEWEST_MEMBERS
