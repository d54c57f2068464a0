"""Two runs side by side: whether groups are the same people, and what has changed about comments. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Comments whose divisiveness has changed most that are told.
MOST_CHANGES = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the votes stage has come to, as far as runs can be compared."""

    #: for each participant who has one their group
    group_of: Mapping[int, int]
    #: comments and the side that most of all participants are on
    consensus: frozenset[tuple[int, str]]
    #: groups with their representative comments and the side that most of the group are on
    representatives: frozenset[tuple[int, int, str]]
    #: how much groups differ on each comment
    divisiveness: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class GroupMatch:
    """A group of the earlier run and the one of the later run that is most like it."""

    before: int
    after: int
    #: participants that both have, and as a share of all that either has
    shared: int
    overlap: float


@dataclass(frozen=True, slots=True)
class Move:
    """How many participants went from one group to another; None is to have none."""

    before: int | None
    after: int | None
    participants: int


@dataclass(frozen=True, slots=True)
class Change:
    """How much groups differed on a comment in two runs."""

    comment_id: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two runs."""

    #: participants who have a group in both
    participants: int
    #: how far both divide them alike (adjusted Rand index): 1 when they do so entirely, around 0 by chance
    agreement: float
    #: each group at most once, the most alike first
    matches: tuple[GroupMatch, ...]
    #: participants of both whose group is another one than the match of the group that they had
    regrouped: tuple[int, ...]
    #: who was where, those included who stayed; by groups
    moves: tuple[Move, ...]
    consensus_gained: tuple[tuple[int, str], ...]
    consensus_lost: tuple[tuple[int, str], ...]
    #: by the later run's group; comments and sides
    representatives_gained: tuple[tuple[int, int, str], ...]
    representatives_lost: tuple[tuple[int, int, str], ...]
    #: comments of both runs on which groups differ more, or less, than before; the largest changes first
    changes: tuple[Change, ...]
    comments_added: tuple[int, ...]
    comments_removed: tuple[int, ...]


def compare(before: Outcome, after: Outcome) -> Comparison:
    """Compare an earlier run with a later one. Groups are matched by their members: their numbers may have changed."""
    import numpy as np

    from gateleg.apps.delphi.agreement import agreement

    both = sorted(before.group_of.keys() & after.group_of.keys())
    old, new = (np.array([run.group_of[person] for person in both], dtype=np.int64) for run in (before, after))
    matches = _matches(before, after)
    renamed = {match.before: match.after for match in matches}
    carried = frozenset((renamed[group], comment, side) for group, comment, side in before.representatives if group in renamed)
    lost = frozenset(entry for entry in before.representatives if entry[0] not in renamed)
    return Comparison(
        len(both),
        agreement(old, new),
        matches,
        tuple(person for person in both if renamed.get(before.group_of[person]) != after.group_of[person]),
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
    # Those without a group come last.
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
