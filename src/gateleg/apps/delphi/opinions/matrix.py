"""The latest votes as a sparse matrix: one row for each participant, one column for each comment that has votes."""

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

    Rows are sorted by participant id and columns by comment id, so that results do not depend on the order of the input. A pass is a cell
    with the value `Choice.PASS`; a missing cell is a vote that was not cast.
    """

    #: ids, ascending
    participants: Ints
    #: ids, ascending
    comments: Ints
    #: the row, column and `Choice` of each cell, sorted by row and column
    rows: Indices
    columns: Indices
    choices: npt.NDArray[np.int8]

    @classmethod
    def of(cls, votes: Votes) -> VoteMatrix:
        """The matrix of votes; of re-votes, the last counts."""
        latest = votes.latest()
        participants, rows = np.unique(latest.participants, return_inverse=True)
        comments, columns = np.unique(latest.comments, return_inverse=True)
        return cls(participants, comments, rows, columns, latest.choices)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of participants and comments."""
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
        """The number of votes of each participant, including passes and votes on rejected comments."""
        return np.bincount(self.rows, minlength=len(self.participants)).astype(np.int64)

    @cached_property
    def in_reading_order(self) -> Indices:
        """The rows in the order in which participants appear when votes are read by comment, then by participant.

        The reference takes participants in this order after a restart. It is also the order of the lines of an export.
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
        """A SciPy CSR matrix with these values in the cells."""
        bounds = np.concatenate([[0], np.cumsum(self.vote_counts)])
        return sparse.csr_array((values, self.columns, bounds), shape=self.shape)

    def dense(self, missing: float = np.nan) -> Floats:
        """The dense matrix, for small conversations and tests."""
        full = np.full(self.shape, missing, dtype=np.float64)
        full[self.rows, self.columns] = self.choices
        return full

    def part(self, rows: Ints, columns: Ints) -> VoteMatrix:
        """The submatrix of these rows and columns, given in ascending order. Some of them may end up without votes."""
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
