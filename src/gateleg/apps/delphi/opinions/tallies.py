"""Vote counts of everybody, of base clusters, of groups and of subgroups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gateleg.apps.delphi.conversations.votes import Flags, Floats, Ints
    from gateleg.apps.delphi.opinions.groups import Groups
    from gateleg.apps.delphi.opinions.matrix import VoteMatrix


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Vote counts on each comment. The last axis is comments; if there are two, the first is groups or clusters."""

    agrees: Ints
    disagrees: Ints
    #: all votes cast, passes included
    seen: Ints

    @property
    def passes(self) -> Ints:
        """Votes that neither agree nor disagree."""
        return self.seen - self.agrees - self.disagrees

    def total(self) -> Tally:
        """The sums over all groups or clusters."""
        return Tally(self.agrees.sum(axis=0), self.disagrees.sum(axis=0), self.seen.sum(axis=0))

    def part(self, rows: Ints) -> Tally:
        """The counts of some groups or clusters."""
        return Tally(self.agrees[rows], self.disagrees[rows], self.seen[rows])

    def others(self) -> Tally:
        """For each group, the votes of all other groups together."""
        whole = self.total()
        return Tally(whole.agrees - self.agrees, whole.disagrees - self.disagrees, whole.seen - self.seen)

    def shares(self) -> tuple[Floats, Floats, Floats]:
        """The shares of agreement, disagreement and passes; 0 without votes."""
        cast = np.maximum(self.seen, 1)
        return self.agrees / cast, self.disagrees / cast, self.passes / cast


@dataclass(frozen=True, slots=True, eq=False)
class Tallies:
    """All vote counts of a conversation, including votes on excluded comments."""

    everybody: Tally
    #: rows are base clusters by id
    base: Tally
    #: rows are groups by id
    groups: Tally
    #: the number of participants in each group
    group_sizes: Ints
    #: by group id; rows are its subgroups by id
    subgroups: Mapping[int, Tally]

    @property
    def grouped(self) -> Tally:
        """The votes of all participants in groups."""
        return self.groups.total()


def tally_votes(matrix: VoteMatrix, groups: Groups) -> Tallies:
    """Count the votes of everybody, of each base cluster, and of each group and subgroup."""
    people = matrix.shape[0]
    place_of_base = np.full(people, -1, dtype=np.int64)
    place_of_base[groups.members] = groups.base.places
    base = _tally(matrix, place_of_base, len(groups.base))
    of_group = groups.groups.clusters.places
    count = len(groups.groups.clusters)
    sizes = np.bincount(of_group, weights=groups.base.sizes, minlength=count).astype(np.int64)
    subgroups = {
        group: _sum_by_group(base.part(part), groups.subgroups[group].clusters.places, len(groups.subgroups[group].clusters))
        for group, part in groups.parts.items()
    }
    everybody = _tally(matrix, np.zeros(people, dtype=np.int64), 1).total()
    return Tallies(everybody, base, _sum_by_group(base, of_group, count), sizes, subgroups)


def _tally(matrix: VoteMatrix, place: Ints, count: int) -> Tally:
    comments = len(matrix.comments)
    of_cell = place[matrix.rows]
    cells = of_cell * comments + matrix.columns
    known = of_cell >= 0

    def count_cells(which: Flags) -> Ints:
        return np.bincount(cells[which], minlength=count * comments).reshape(count, comments).astype(np.int64)

    return Tally(count_cells(known & matrix.agreed), count_cells(known & matrix.disagreed), count_cells(known))


def _sum_by_group(base: Tally, of_group: npt.NDArray[np.intp], count: int) -> Tally:
    def sum_rows(rows: Ints) -> Ints:
        found = np.zeros((count, rows.shape[1]), dtype=np.int64)
        np.add.at(found, of_group, rows)
        return found

    return Tally(sum_rows(base.agrees), sum_rows(base.disagrees), sum_rows(base.seen))
