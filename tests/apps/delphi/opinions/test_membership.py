import numpy as np

from gateleg.apps.delphi.opinions.membership import Membership, members


def test_seven_votes_let_a_participant_in() -> None:
    counts = np.array([7] * 15 + [6, 8])
    assert members(counts, comments=50).tolist() == [True] * 15 + [False, True]


def test_all_votes_let_a_participant_in_where_there_are_fewer_comments() -> None:
    assert members(np.array([3] * 15 + [2]), comments=3).tolist() == [True] * 15 + [False]


def test_the_busiest_fill_up_to_fifteen_and_smaller_ids_come_first() -> None:
    counts = np.array([1, 3, 2, 3] + [1] * 20)
    inside = members(counts, comments=50)
    assert int(inside.sum()) == 15
    assert np.flatnonzero(inside).tolist() == list(range(15))
    assert members(np.array([1] * 15 + [2]), comments=50).tolist() == [True] * 14 + [False, True]


def test_nobody_is_put_out_again() -> None:
    before = np.array([True] + [False] * 15)
    assert members(np.array([1] + [9] * 15), 50, before)[0]


def test_whoever_was_let_in_early_stays() -> None:
    membership = Membership(20)
    membership.add(np.array([19]), np.array([0]))
    assert np.flatnonzero(membership.inside).tolist() == [19]
    rows, comments = np.meshgrid(np.arange(18), np.arange(8), indexing="ij")
    membership.add(rows.ravel(), comments.ravel())
    assert membership.inside[19]
    assert not membership.inside[18]


def test_a_vote_that_is_cast_again_counts_once() -> None:
    membership = Membership(16)
    rows, comments = np.meshgrid(np.arange(15), np.arange(8), indexing="ij")
    membership.add(rows.ravel(), comments.ravel())
    membership.add(np.full(9, 15), np.zeros(9, dtype=int))
    assert not membership.inside[15]
