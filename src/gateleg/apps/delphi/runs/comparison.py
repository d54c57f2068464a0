"""Compares two runs of the votes stage: the members of groups, consensus and representative comments. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The maximum number of comments that are listed with a changed divisiveness.
MOST_CHANGES = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of a run of the votes stage that are compared."""

    #: the group of each grouped participant
    group_of: Mapping[int, int]
    #: consensus comments, each with the side of the majority
    consensus: frozenset[tuple[int, str]]
    #: groups with their representative comments and the side of the group's majority
    representatives: frozenset[tuple[int, int, str]]
    #: by comment id
    divisiveness: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class GroupMatch:
    """A group of the earlier run and the most similar group of the later run."""

    before: int
    after: int
    #: the number of common participants, and the Jaccard index
    shared: int
    overlap: float


@dataclass(frozen=True, slots=True)
class Move:
    """The number of participants who moved from one group to another; None means no group."""

    before: int | None
    after: int | None
    participants: int


@dataclass(frozen=True, slots=True)
class Change:
    """The divisiveness of a comment in two runs."""

    comment_id: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between two runs."""

    #: the number of participants who are grouped in both
    participants: int
    #: the adjusted Rand index of their groups: 1 when equal, around 0 by chance
    agreement: float
    #: each group at most once, the most similar first
    matches: tuple[GroupMatch, ...]
    #: participants grouped in both who moved to a group that does not match their earlier one
    regrouped: tuple[int, ...]
    #: the numbers of participants by earlier and later group, including those who stayed
    moves: tuple[Move, ...]
    consensus_gained: tuple[tuple[int, str], ...]
    consensus_lost: tuple[tuple[int, str], ...]
    #: groups of the later run with comments and sides
    representatives_gained: tuple[tuple[int, int, str], ...]
    representatives_lost: tuple[tuple[int, int, str], ...]
    #: comments in both runs whose divisiveness changed, largest changes first
    changes: tuple[Change, ...]
    comments_added: tuple[int, ...]
    comments_removed: tuple[int, ...]


def compare(before: Outcome, after: Outcome) -> Comparison:
    """Compare an earlier run with a later one. Groups are matched by members, because their ids may have changed."""
    import numpy as np

    from gateleg.apps.delphi.agreement import agreement

    both = sorted(before.group_of.keys() & after.group_of.keys())
    old, new = (np.array([run.group_of[person] for person in both], dtype=np.int64) for run in (before, after))
    matches = _matches(before, after)
    matched = {match.before: match.after for match in matches}
    carried = frozenset((matched[group], comment, side) for group, comment, side in before.representatives if group in matched)
    lost = frozenset(entry for entry in before.representatives if entry[0] not in matched)
    return Comparison(
        len(both),
        agreement(old, new),
        matches,
        tuple(person for person in both if matched.get(before.group_of[person]) != after.group_of[person]),
        _moves(before, after),
        tuple(sorted(after.consensus - before.consensus)),
        tuple(sorted(before.consensus - after.consensus)),
        tuple(sorted(after.representatives - carried)),
        tuple(sorted((carried - after.representatives) | lost)),
        _changes(before, after),
        tuple(sorted(after.divisiveness.keys() - before.divisiveness.keys())),
        tuple(sorted(before.divisiveness.keys() - after.divisiveness.keys())),
    )


def _matches(before: Outcome, after: Outcome) -> tuple[GroupMatch, ...]:
    old, new = _members(before), _members(after)
    pairs = [
        GroupMatch(one, other, len(mine & theirs), len(mine & theirs) / len(mine | theirs))
        for one, mine in old.items()
        for other, theirs in new.items()
        if mine & theirs
    ]
    found: list[GroupMatch] = []
    for pair in sorted(pairs, key=lambda pair: (-pair.overlap, pair.before, pair.after)):
        if all(pair.before != match.before and pair.after != match.after for match in found):
            found.append(pair)
    return tuple(found)


def _moves(before: Outcome, after: Outcome) -> tuple[Move, ...]:
    people = before.group_of.keys() | after.group_of.keys()
    counted = Counter((before.group_of.get(person), after.group_of.get(person)) for person in people)
    # People without a group come last.
    ordered = sorted(counted.items(), key=lambda entry: [(group is None, group or 0) for group in entry[0]])
    return tuple(Move(old, new, count) for (old, new), count in ordered)


def _members(run: Outcome) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for person, group in run.group_of.items():
        found.setdefault(group, set()).add(person)
    return found


def _changes(before: Outcome, after: Outcome) -> tuple[Change, ...]:
    common = before.divisiveness.keys() & after.divisiveness.keys()
    found = [Change(comment, before.divisiveness[comment], after.divisiveness[comment]) for comment in common]
    moved = [change for change in found if change.before != change.after]
    return tuple(sorted(moved, key=lambda change: (-abs(change.after - change.before), change.comment_id))[:MOST_CHANGES])
