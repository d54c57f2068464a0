from dataclasses import replace
from functools import cache

import numpy as np

from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.moderation import Moderation
from gateleg.apps.delphi.opinions.timeline import ABSENT, End, Moment, fit, timeline
from tests.apps.delphi.told import findings, opinions, synthetic


def end() -> End:
    return End(opinions().matrix.participants, findings().people, findings().people_groups)


@cache
def moments() -> tuple[Moment, ...]:
    return timeline(synthetic().conversation.votes, opinions().moderation, end(), moments=6)


def test_the_last_moment_is_how_it_ended() -> None:
    last = moments()[-1]
    assert (last.votes, last.participants) == (findings().totals.votes, findings().totals.participants)
    assert last.groups is end().groups or (last.groups == end().groups).all()
    assert [last.size(group.place) for group in findings().groups] == [group.size for group in findings().groups]


def test_votes_people_and_comments_only_grow() -> None:
    figures = [(one.votes, one.at, one.participants, one.comments) for one in moments()]
    assert len(figures) == 6
    assert figures == sorted(figures)


def test_people_are_where_they_have_voted_and_nowhere_before() -> None:
    first = moments()[0]
    there = np.isfinite(first.positions).all(axis=1)
    assert (there == (first.groups != ABSENT)).all()
    assert there.sum() == first.participants < len(end().people)


def test_planted_groups_are_followed_back() -> None:
    """Most of those who are grouped halfway are in the group that they are in at the end."""
    half = moments()[2]
    both = (half.groups >= 0) & (end().groups >= 0)
    assert both.sum() > 20
    assert (half.groups[both] == end().groups[both]).mean() > 0.9


def test_the_order_of_the_votes_does_not_matter() -> None:
    votes = synthetic().conversation.votes
    shuffled = votes.take(np.random.default_rng(1).permutation(len(votes)))
    again = timeline(shuffled, opinions().moderation, end(), moments=6)
    assert all(
        (a.groups == b.groups).all() and np.array_equal(a.positions, b.positions, equal_nan=True)
        for a, b in zip(moments(), again, strict=True)
    )


def test_there_are_no_groups_while_votes_may_be_chance() -> None:
    random = np.random.default_rng(0)
    rows = [
        (person, comment, int(random.integers(-1, 2)), 1_000 * (30 * person + comment)) for person in range(60) for comment in range(30)
    ]
    people = np.arange(60)
    found = timeline(Votes.of(rows), Moderation(), End(people, random.normal(size=(60, 2)), people % 2), moments=4)
    assert [(one.may_be_chance, one.size(0)) for one in found[:-1] if one.may_be_chance] != []
    assert all(one.size(0) == one.size(1) == 0 for one in found[:-1] if one.may_be_chance)


def test_votes_of_one_moment_have_no_timeline() -> None:
    votes = synthetic().conversation.votes
    assert timeline(replace(votes, times=np.zeros_like(votes.times)), Moderation(), end()) == ()
    nobody = End(np.zeros(0, dtype=np.int64), np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
    assert timeline(Votes.of([]), Moderation(), nobody) == ()


def test_points_that_were_turned_mirrored_and_scaled_are_fitted_exactly() -> None:
    wanted = np.random.default_rng(3).normal(size=(20, 2))
    turned = (wanted @ np.array([[0.0, 1.0], [1.0, 0.0]])) * 3.0 + 5.0
    assert np.allclose(fit(turned, wanted, np.ones(20, dtype=np.bool_)), wanted)
    assert np.isfinite(fit(np.ones((20, 2)), wanted, np.ones(20, dtype=np.bool_))).all()
