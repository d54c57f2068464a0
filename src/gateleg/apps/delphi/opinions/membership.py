"""Who is in the conversation: the participants with enough votes to be placed among others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Ints

#: Votes that let a participant in, or all comments where there are fewer.
ENOUGH_VOTES = 7
#: With fewer participants than this, those with the most votes are let in although they have too few.
FEWEST_MEMBERS = 15


def members(vote_counts: Ints, comments: int, before: Flags | None = None) -> Flags:
    """For each participant whether they are in.

    `before` are those who were in already: nobody is put out again. Of participants with equally many votes those with smaller ids, which
    come first, are let in first.
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
    """Who is in while votes arrive one by one. Early on few votes are enough, and whoever was let in then stays."""

    def __init__(self, people: int) -> None:
        #: for each participant whether they were in at any moment
        self.inside: Flags = np.zeros(people, dtype=np.bool_)
        self._counts: Ints = np.zeros(people, dtype=np.int64)
        self._seen: set[tuple[int, int]] = set()
        self._comments: set[int] = set()
        self._settled = False

    def add(self, rows: Ints, comments: Ints) -> None:
        """Take votes in order: who cast each, and on what."""
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
        """Take votes all at once, as after a new start: only what they come to in the end lets somebody in."""
        pairs = set(zip(rows.tolist(), comments.tolist(), strict=True))
        self._seen |= pairs
        self._comments.update(comments.tolist())
        self._counts += np.bincount([row for row, _ in pairs], minlength=len(self._counts))
        self._decide()

    def _decide(self) -> None:
        voted = self._counts > 0
        self.inside |= members(self._counts, len(self._comments), self.inside) & voted
        # From here on a vote can only let in the one who casts it.
        self._settled = len(self._comments) >= ENOUGH_VOTES and int(self.inside.sum()) >= FEWEST_MEMBERS
