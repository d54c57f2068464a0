"""Tallies and what follows from them, on a conversation that is small enough to count by hand.

Two groups: 0 to 3 and 4 to 6; participant 9 has no group. Comment 1 divides them, all agree with 2, 3 is passed on, 4 is out.
"""

import numpy as np
import pytest

from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.consensus import common_ground, find_consensus, group_aware_consensus, normalised_consensus
from gateleg.apps.delphi.opinions.correlations import correlate
from gateleg.apps.delphi.opinions.divisiveness import divisiveness
from gateleg.apps.delphi.opinions.groups import Grouping, Groups
from gateleg.apps.delphi.opinions.kmeans import Clusters
from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.apps.delphi.opinions.participants import participant_statistics
from gateleg.apps.delphi.opinions.priorities import comment_priorities
from gateleg.apps.delphi.opinions.representatives import contrasts, select_representatives
from gateleg.apps.delphi.opinions.tallies import Tally, tally_votes

VOTES = {0: "++o-", 1: "++o-", 2: "++.-", 3: "+...", 4: "-+o-", 5: "-+o-", 6: "-+.-", 9: "-..-"}
MARKS = {"+": 1, "-": -1, "o": 0}
OUT = np.array([False, False, False, True])
#: x of each participant; the base clusters are 0 and 1, 2 and 3, 4 to 6
POSITIONS = np.array([[1.0, 0], [1, 0], [3, 0], [3, 0], [-2, 0], [-2, 0], [-2, 0], [0, 0]])


@pytest.fixture
def matrix() -> VoteMatrix:
    return VoteMatrix.of(
        Votes.of((person, place + 1, MARKS[mark], 0) for person, marks in VOTES.items() for place, mark in enumerate(marks) if mark != ".")
    )


@pytest.fixture
def groups() -> Groups:
    base = Clusters(np.arange(3), np.array([[1.0, 0], [3, 0], [-2, 0]]), np.array([0, 0, 1, 1, 2, 2, 2]))
    chosen = Grouping(Clusters(np.array([0, 1]), np.array([[2.0, 0], [-2, 0]]), np.array([0, 0, 1])), {2: 1.0})
    return Groups(np.arange(7), base, chosen, {}, {})


def listed(tally: Tally) -> list[list[list[int]]]:
    return [tally.agrees.tolist(), tally.disagrees.tolist(), tally.seen.tolist()]


def test_votes_are_counted_by_base_cluster_by_group_and_in_all(matrix: VoteMatrix, groups: Groups) -> None:
    tallies = tally_votes(matrix, groups)
    assert listed(tallies.base) == [
        [[2, 2, 0, 0], [2, 1, 0, 0], [0, 3, 0, 0]],
        [[0, 0, 0, 2], [0, 0, 0, 1], [3, 0, 0, 3]],
        [[2, 2, 2, 2], [2, 1, 0, 1], [3, 3, 2, 3]],
    ]
    assert listed(tallies.groups) == [[[4, 3, 0, 0], [0, 3, 0, 0]], [[0, 0, 0, 3], [3, 0, 0, 3]], [[4, 3, 2, 3], [3, 3, 2, 3]]]
    assert tallies.groups.passes.tolist() == [[0, 0, 2, 0], [0, 0, 2, 0]]
    assert tallies.group_sizes.tolist() == [4, 3]
    assert tallies.everybody.seen.tolist() == [8, 6, 4, 7]
    assert tallies.grouped.seen.tolist() == [7, 6, 4, 6]


def test_group_aware_consensus_is_a_product_and_the_normalised_one_a_mean(matrix: VoteMatrix, groups: Groups) -> None:
    tally = tally_votes(matrix, groups).groups
    assert group_aware_consensus(tally) == pytest.approx([5 / 6 * 1 / 5, 4 / 5 * 4 / 5, 1 / 4 * 1 / 4, 1 / 5 * 1 / 5])
    assert normalised_consensus(tally) == pytest.approx([(5 / 6 + 1 / 5) / 2, 4 / 5, 1 / 2, 1 / 5])


def test_consensus_is_of_everybody_and_leaves_out_what_is_out(matrix: VoteMatrix, groups: Groups) -> None:
    found = find_consensus(tally_votes(matrix, groups).everybody, matrix.comments, OUT)
    assert [(shared.comment_id, shared.n_success, shared.n_trials) for shared in found.agree] == [(2, 6, 6)]
    assert found.agree[0].p_success == pytest.approx(7 / 8)
    assert found.agree[0].p_test == pytest.approx(2 * np.sqrt(7) * 0.5)
    assert found.disagree == ()


def test_consensus_lists_five_and_the_earlier_of_equals_first() -> None:
    tally = Tally(np.full(7, 9), np.zeros(7, dtype=int), np.array([9, 9, 9, 10, 9, 9, 9]))
    found = find_consensus(tally, np.arange(7) * 10, np.zeros(7, dtype=bool))
    assert [shared.comment_id for shared in found.agree] == [0, 10, 20, 40, 50]


def test_representative_comments_of_two_groups(matrix: VoteMatrix, groups: Groups) -> None:
    one, two = contrasts(tally_votes(matrix, groups).groups)
    assert one.agree_repness[0] == pytest.approx((5 / 6) / (1 / 5))
    assert two.disagree_repness[0] == pytest.approx((4 / 5) / (1 / 6))
    (first,) = select_representatives(one, matrix.comments, OUT)
    assert (first.comment_id, first.side, first.n_success, first.n_trials, first.best_agree) == (1, "agree", 4, 4, True)
    second = select_representatives(two, matrix.comments, OUT)
    # All of the second group agree with comment 2 and disagree with comment 1.
    assert [(found.comment_id, found.side, found.best_agree) for found in second] == [(2, "agree", True), (1, "disagree", False)]
    # Everybody else agrees with comment 2 as well: nothing sets the group apart there, and a tie counts as disagreement in the reference.
    assert second[0].repful_for == "disagree"
    assert second[1].repness_test == float(np.float32(two.disagree_repness_test[0]))


def test_one_comment_is_shown_when_none_is_significant() -> None:
    groups = Tally(np.array([[1, 1], [1, 0]]), np.array([[1, 1], [1, 2]]), np.array([[2, 2], [2, 2]]))
    (found,) = select_representatives(contrasts(groups)[0], np.array([10, 20]), np.zeros(2, dtype=bool))
    assert found.comment_id == 20


def test_no_more_than_five_represent_a_group() -> None:
    groups = Tally(np.array([[20] * 9, [0] * 9]), np.array([[0] * 9, [20] * 9]), np.full((2, 9), 20))
    for contrast in contrasts(groups):
        found = select_representatives(contrast, np.arange(9), np.zeros(9, dtype=bool))
        assert [representative.comment_id for representative in found] == [0, 1, 2, 3, 4]


def test_comments_that_are_out_represent_nobody(matrix: VoteMatrix, groups: Groups) -> None:
    everything_out = np.ones(4, dtype=bool)
    assert all(
        select_representatives(contrast, matrix.comments, everything_out) == ()
        for contrast in contrasts(tally_votes(matrix, groups).groups)
    )


def test_priorities_by_hand() -> None:
    tally = Tally(np.array([3, 0, 5]), np.array([1, 0, 5]), np.array([5, 0, 10]))
    found = comment_priorities(tally, np.array([0.5, 0.0, 2.0]), np.array([False, False, True]))
    # One pass of five: (1 - 2/7) * 1.5 * 4/7, and 1 + 8 / 2 for five votes.
    assert found[0] == pytest.approx(((5 / 7) * 1.5 * (4 / 7) * 5) ** 2)
    assert found[1] == pytest.approx((0.5 * 1.0 * 0.5 * 9) ** 2)
    assert found[2] == 49


def test_divisiveness_is_the_mean_over_pairs_of_the_largest_difference() -> None:
    groups = Tally(np.array([[4], [1], [0]]), np.array([[0], [1], [0]]), np.array([[4], [4], [0]]))
    found = divisiveness(groups)
    # Shares: (1, 0, 0), (1/4, 1/4, 1/2), and (0, 0, 0) where nobody has voted.
    assert found.values.tolist() == pytest.approx([(0.75 + 1.0 + 0.5) / 3])
    assert (found.agree[0], found.disagree[0], found.passes[0]) == (1.0, 0.25, 0.5)


def test_one_group_does_not_divide() -> None:
    assert divisiveness(Tally(np.array([[4]]), np.array([[0]]), np.array([[4]]))).values.tolist() == [0]


def test_few_votes_divide_less_than_many_once_shrunk() -> None:
    groups = Tally(np.array([[1, 50], [0, 0]]), np.array([[0, 0], [1, 50]]), np.array([[1, 50], [1, 50]]))
    assert divisiveness(groups).values.tolist() == [1, 1]
    shrunk = divisiveness(groups, prior_votes=5)
    # One vote and five that are split evenly: 3.5 of 6 against 2.5 of 6.
    assert shrunk.values.tolist() == pytest.approx([1 / 6, 50 / 55])
    assert shrunk.method == "max_vote_diff_shrunk"


def test_common_ground_is_what_the_least_convinced_group_agrees_with() -> None:
    groups = Tally(np.array([[30, 30, 1], [20, 12, 1]]), np.zeros((2, 3), dtype=int), np.array([[30, 30, 1], [20, 20, 1]]))
    (found,) = common_ground(groups, np.array([0, 3]), np.array([7, 8, 9]), np.zeros(3, dtype=bool))
    assert (found.comment_id, found.least_in) == (7, 3)
    assert found.at_least == pytest.approx(20 / (20 + 1.96**2))


def test_participants_beside_their_group(matrix: VoteMatrix, groups: Groups) -> None:
    found = participant_statistics(matrix, POSITIONS, groups, tally_votes(matrix, groups).groups)
    middle = (1 + 1 + 3 + 3 - 6) / 7
    assert (found.agrees[0], found.disagrees[0], found.passes[0]) == (2, 1, 1)
    assert found.passes[3] == 0
    assert found.centricness[0] == pytest.approx(1 - (1 - middle))
    assert found.coreness.tolist()[:3] == [0, 0, 0]
    # Its group lies to the right of the middle: 1 is further in than the group's 2, and 3 further out.
    assert (found.extremeness[0], found.extremeness[2]) == (-1, 1)
    assert np.isnan(found.coreness[7])
    assert np.isnan(found.extremeness[7])


def test_participants_vote_as_their_group_does(matrix: VoteMatrix, groups: Groups) -> None:
    found = participant_statistics(matrix, POSITIONS, groups, tally_votes(matrix, groups).groups)
    # The first group took a side on comments 1, 2 and 4: means 1, 1, -1. The votes of participant 0 are the same.
    assert found.group_correlations[0, 0] == pytest.approx(1)
    assert found.group_correlations[3, 0] == pytest.approx(np.corrcoef([1, 0, 0], [1, 1, -1])[0, 1])
    assert found.group_correlations[4, 1] == pytest.approx(1)


def test_comments_correlate_over_filled_votes(matrix: VoteMatrix) -> None:
    found = correlate(matrix, np.zeros(4, dtype=bool))
    # Comments 2, 3 and 4 have the same vote of everybody who voted, and correlate with nothing.
    assert found.comments.tolist() == [1]
    both = VoteMatrix.of(
        Votes.of([(p, c, v, 0) for p, row in enumerate([(1, 1), (1, -1), (-1, -1), (-1, None)]) for c, v in enumerate(row) if v])
    )
    found = correlate(both, np.zeros(2, dtype=bool))
    assert found.values[0, 1] == pytest.approx(np.corrcoef([1, 1, -1, -1], [1, -1, -1, -1 / 3])[0, 1])


def test_no_more_comments_are_correlated_than_asked_for() -> None:
    random = np.random.default_rng(3)
    votes = Votes.of((p, c, int(random.integers(-1, 2)), 0) for p in range(30) for c in range(12) if c != 5 or p < 3)
    matrix = VoteMatrix.of(votes)
    found = correlate(matrix, np.arange(12) == 2, most=10)
    assert set(found.comments.tolist()) == set(range(12)) - {2, 5}
    assert np.allclose(found.values, found.values.T)
    assert np.allclose(np.diag(found.values), 1)
