"""The votes that count as a sparse matrix: one row for each participant, one column for each comment that somebody has voted on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse  # type: ignore[import-untyped]

from gateleg.apps.delphi.conversations.votes import Choice, Flags, Floats, Ints

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Votes

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class VoteMatrix:
    """The last vote of each participant on each comment.

    Rows are by participant id and columns by comment id, so that results do not depend on the order of the input. A pass is a cell with the
    value `Choice.PASS`; a cell that is not there is a vote that was not cast.
    """

    #: ids, ascending
    participants: Ints
    #: ids, ascending
    comments: Ints
    #: for each cell its row, its column and its `Choice`, by row and column
    rows: Indices
    columns: Indices
    choices: npt.NDArray[np.int8]

    @classmethod
    def of(cls, votes: Votes) -> VoteMatrix:
        """The matrix of some votes, re-votes resolved."""
        latest = votes.latest()
        participants, rows = np.unique(latest.participants, return_inverse=True)
        comments, columns = np.unique(latest.comments, return_inverse=True)
        return cls(participants, comments, rows, columns, latest.choices)

    @property
    def shape(self) -> tuple[int, int]:
        """How many participants and comments."""
        return len(self.participants), len(self.comments)

    @cached_property
    def agreed(self) -> Flags:
        """Which cells are agreement."""
        return np.asarray(self.choices == Choice.AGREE)

    @cached_property
    def disagreed(self) -> Flags:
        """Which cells are disagreement."""
        return np.asarray(self.choices == Choice.DISAGREE)

    @cached_property
    def vote_counts(self) -> Ints:
        """How many votes each participant has cast, passes and votes on rejected comments included."""
        return np.bincount(self.rows, minlength=len(self.participants)).astype(np.int64)

    @cached_property
    def in_reading_order(self) -> Indices:
        """The rows as participants come up when votes are read comment by comment, and the votes on a comment by participant.

        That is the order in which the reference takes participants when it starts afresh, and the order of an export's lines.
        """
        first = np.full(len(self.participants), len(self.comments), dtype=np.intp)
        np.minimum.at(first, self.rows, self.columns)
        return np.argsort(first, kind="stable")

    def column_means(self) -> Floats:
        """The mean vote on each comment: 1 when all agree, -1 when all disagree."""
        size = len(self.comments)
        sums = np.bincount(self.columns, weights=self.choices.astype(np.float64), minlength=size)
        return sums / np.maximum(np.bincount(self.columns, minlength=size), 1)

    def sparse(self, values: npt.NDArray[Any]) -> Any:
        """A SciPy CSR matrix with a value for each cell."""
        bounds = np.concatenate([[0], np.cumsum(self.vote_counts)])
        return sparse.csr_array((values, self.columns, bounds), shape=self.shape)

    def dense(self, missing: float = np.nan) -> Floats:
        """The whole matrix. For small conversations and for tests."""
        full = np.full(self.shape, missing, dtype=np.float64)
        full[self.rows, self.columns] = self.choices
        return full

    def part(self, rows: Ints, columns: Ints) -> VoteMatrix:
        """Some participants and comments, given by their places in ascending order; votes may be missing entirely for some of them."""
        row_of, column_of = (np.full(size, -1, dtype=np.intp) for size in self.shape)
        row_of[rows], column_of[columns] = np.arange(len(rows)), np.arange(len(columns))
        kept = (row_of[self.rows] >= 0) & (column_of[self.columns] >= 0)
        return VoteMatrix(
            self.participants[rows],
            self.comments[columns],
            row_of[self.rows[kept]],
            column_of[self.columns[kept]],
            self.choices[kept],
        )
