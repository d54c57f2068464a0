"""Votes as they were cast. Only this module defines which number stands for which choice.

Polis exports have 1 for agree and -1 for disagree; Polis's own mathematics uses the opposite sign. Here, arrays hold the values of
`Choice`, and results name agreement and disagreement instead of using signs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Choice(IntEnum):
    """A participant's vote on a comment."""

    DISAGREE = -1
    PASS = 0
    AGREE = 1


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """Votes as columns of equal length, with one entry per vote cast, re-votes included. The order has no meaning."""

    participants: Ints
    comments: Ints
    #: values of `Choice`
    choices: npt.NDArray[np.int8]
    #: milliseconds since 1970
    times: Ints

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, int, int]]) -> Votes:
        """Votes from tuples of participant, comment, choice and time in milliseconds."""
        table: npt.NDArray[Any] = np.array(list(rows), dtype=np.int64).reshape(-1, 4)
        return cls(table[:, 0], table[:, 1], table[:, 2].astype(np.int8), table[:, 3])

    @classmethod
    def joined(cls, parts: Sequence[Votes]) -> Votes:
        """The votes of all parts."""
        if not parts:
            return cls.of([])
        names = ("participants", "comments", "choices", "times")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def __len__(self) -> int:
        return len(self.participants)

    def take(self, places: npt.NDArray[Any]) -> Votes:
        """The votes at these indices, or where a mask is true."""
        return Votes(self.participants[places], self.comments[places], self.choices[places], self.times[places])

    def by_person(self) -> Votes:
        """The votes sorted by participant, comment, time and choice, independent of the order of the input."""
        return self.take(np.lexsort((self.choices, self.times, self.comments, self.participants)))

    def in_time(self) -> Votes:
        """The votes sorted by time, participant, comment and choice, independent of the order of the input."""
        return self.take(np.lexsort((self.choices, self.comments, self.participants, self.times)))

    def first(self, count: int) -> Votes:
        """The earliest `count` votes."""
        return self if len(self) <= count else self.in_time().take(np.arange(count))

    def without(self, participants: Iterable[int]) -> Votes:
        """The votes of all other participants."""
        removed = np.fromiter(participants, dtype=np.int64)
        return self if not len(removed) else self.take(~np.isin(self.participants, removed))

    def latest(self) -> Votes:
        """The last vote of each participant on each comment, sorted by participant and comment.

        Of two votes at the same time, the one with the higher value of `Choice` counts.
        """
        ordered = self.by_person()
        people, comments = ordered.participants, ordered.comments
        last = np.ones(len(ordered), dtype=np.bool_)
        last[:-1] = (people[1:] != people[:-1]) | (comments[1:] != comments[:-1])
        return ordered.take(last)
