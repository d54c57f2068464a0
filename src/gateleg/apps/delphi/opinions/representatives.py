"""Representative comments: the comments that distinguish a group from the other groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from gateleg.apps.delphi.opinions.proportions import Z90, estimate, proportion_test, two_proportion_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.delphi.conversations.votes import Flags, Floats, Ints
    from gateleg.apps.delphi.opinions.tallies import Tally

Side = Literal["agree", "disagree"]
#: The maximum number of representative comments per group.
MOST_COMMENTS = 5


@dataclass(frozen=True, slots=True)
class Representative:
    """A comment that is representative of a group.

    `repful_for` and its figures follow the reference: the side that distinguishes the group from others, which need not be the side of the
    majority of its members. Pages and reports show `side`.
    """

    comment_id: int
    repful_for: Side
    #: members of the group on that side, and all who voted
    n_success: int
    n_trials: int
    p_success: float
    p_test: float
    #: how many times likelier that side is in the group than in the other groups
    repness: float
    repness_test: float
    #: members of the group who agree, and who disagree
    agrees: int
    disagrees: int
    #: whether it is the comment that the group agrees on most
    best_agree: bool = False

    @property
    def side(self) -> Side:
        """The side that more members of the group have taken."""
        if self.agrees == self.disagrees:
            return self.repful_for
        return "agree" if self.agrees > self.disagrees else "disagree"

    @property
    def metric(self) -> float:
        """The value that representative comments are ranked by."""
        return self.repness * self.repness_test * self.p_success * self.p_test


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """Compares one group with all other groups. Every array has one entry per comment."""

    agrees: Ints
    disagrees: Ints
    seen: Ints
    p_agree: Floats
    p_disagree: Floats
    agree_test: Floats
    disagree_test: Floats
    agree_repness: Floats
    disagree_repness: Floats
    agree_repness_test: Floats
    disagree_repness_test: Floats


def representatives_of(
    groups: Tally, group_ids: Ints, comments: Ints, out: Flags, fewest_votes: int = 0
) -> dict[int, tuple[Representative, ...]]:
    """The representative comments of each group, by group id. Comments need at least `fewest_votes` votes of the group."""
    beside_others = zip(group_ids.tolist(), contrasts(groups), strict=True)
    return {group: select_representatives(contrast, comments, out | (contrast.seen < fewest_votes)) for group, contrast in beside_others}


def contrasts(groups: Tally) -> list[Contrast]:
    """Compare each group with the other groups. Participants without a group are ignored."""
    rest = groups.others()
    return [_contrast(groups, rest, place) for place in range(len(groups.seen))]


def _contrast(groups: Tally, others: Tally, place: int) -> Contrast:
    agrees, disagrees, seen = groups.agrees[place], groups.disagrees[place], groups.seen[place]
    rest_agrees, rest_disagrees, rest_seen = others.agrees[place], others.disagrees[place], others.seen[place]
    p_agree, p_disagree = estimate(agrees, seen), estimate(disagrees, seen)
    return Contrast(
        agrees,
        disagrees,
        seen,
        p_agree,
        p_disagree,
        proportion_test(agrees, seen),
        proportion_test(disagrees, seen),
        p_agree / estimate(rest_agrees, rest_seen),
        p_disagree / estimate(rest_disagrees, rest_seen),
        two_proportion_test(agrees, rest_agrees, seen, rest_seen),
        two_proportion_test(disagrees, rest_disagrees, seen, rest_seen),
    )


def select_representatives(contrast: Contrast, comments: Ints, out: Flags) -> tuple[Representative, ...]:
    """The comments that represent a group: agreement first, then disagreement, each by rank.

    At most five: the comment that the group agrees on most, then comments that are significant on either side. If none is significant, only
    the former, or else the comment that is nearest to significance. On a tie, the earlier comment wins.
    """
    significant: list[int] = []
    nearest: int | None = None
    agreed: int | None = None
    for place in np.flatnonzero(~out).tolist():
        if _is_significant(contrast, place):
            significant.append(place)
        elif not significant and _is_nearer(contrast, place, nearest):
            nearest = place
        if _is_more_agreed(contrast, place, agreed):
            agreed = place
    return _ranked(contrast, comments, significant, nearest, agreed)


def _ranked(
    contrast: Contrast, comments: Ints, significant: Sequence[int], nearest: int | None, agreed: int | None
) -> tuple[Representative, ...]:
    best = [] if agreed is None else [_record(contrast, comments, agreed, best_agree=True)]
    if not significant:
        return tuple(best or ([] if nearest is None else [_record(contrast, comments, nearest)]))
    ranked = sorted((_record(contrast, comments, place) for place in significant if place != agreed), key=lambda found: -found.metric)
    chosen = [*best, *ranked][:MOST_COMMENTS]
    return tuple(sorted(chosen, key=lambda found: found.repful_for != "agree"))


def _is_significant(contrast: Contrast, place: int) -> bool:
    agree = contrast.agree_repness_test[place] > Z90 and contrast.agree_test[place] > Z90
    disagree = contrast.disagree_repness_test[place] > Z90 and contrast.disagree_test[place] > Z90
    return bool(agree or disagree)


def _is_nearer(contrast: Contrast, place: int, current: int | None) -> bool:
    if current is None:
        return True
    test = max(contrast.agree_repness_test[place], contrast.disagree_repness_test[place])
    return bool(test > _repness_test(contrast, current))


def _is_more_agreed(contrast: Contrast, place: int, current: int | None) -> bool:
    if contrast.agrees[place] == 0 and contrast.disagrees[place] == 0:
        return False
    if current is None:
        liked = contrast.agree_repness[place] > 1.0 and contrast.p_agree[place] > 0.5
        return bool(contrast.agree_test[place] > Z90 or liked)
    if contrast.agree_repness[current] > 1.0:
        return bool(_agreement_metric(contrast, place) > _agreement_metric(contrast, current))
    return bool(contrast.p_agree[place] * contrast.agree_test[place] > contrast.p_agree[current] * contrast.agree_test[current])


def _agreement_metric(contrast: Contrast, place: int) -> float:
    repness = contrast.agree_repness[place] * contrast.agree_repness_test[place]
    return float(repness * contrast.p_agree[place] * contrast.agree_test[place])


def _distinguishing_side(contrast: Contrast, place: int) -> Side:
    return "agree" if contrast.agree_repness_test[place] > contrast.disagree_repness_test[place] else "disagree"


def _repness_test(contrast: Contrast, place: int) -> float:
    """The test of the comment's side, in single precision as in the reference."""
    tests = contrast.agree_repness_test if _distinguishing_side(contrast, place) == "agree" else contrast.disagree_repness_test
    return float(np.float32(tests[place]))


def _record(contrast: Contrast, comments: Ints, place: int, best_agree: bool = False) -> Representative:
    side = _distinguishing_side(contrast, place)
    agree = side == "agree"
    return Representative(
        comment_id=int(comments[place]),
        repful_for=side,
        n_success=int((contrast.agrees if agree else contrast.disagrees)[place]),
        n_trials=int(contrast.seen[place]),
        p_success=float((contrast.p_agree if agree else contrast.p_disagree)[place]),
        p_test=float((contrast.agree_test if agree else contrast.disagree_test)[place]),
        repness=float((contrast.agree_repness if agree else contrast.disagree_repness)[place]),
        repness_test=_repness_test(contrast, place),
        agrees=int(contrast.agrees[place]),
        disagrees=int(contrast.disagrees[place]),
        best_agree=best_agree,
    )
