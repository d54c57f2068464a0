"""Random votes are not taken for groups, and planted groups are not taken for chance."""

import numpy as np
import pytest

from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.chance import chance_of
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.apps.delphi.opinions.stage import Opinions, analyse

PLAIN = VotesConfig(correlated_comments=0)


def random_votes(seed: int, people: int, comments: int, share: float) -> Votes:
    """Votes in which nobody's votes have anything to do with each other; comments are more or less popular, people more or less busy."""
    random = np.random.default_rng(seed)
    popular, busy = random.beta(2, 1, size=comments), np.clip(random.beta(1, 2, size=people) * 2 * share, 0.05, 1)
    voted = random.random((people, comments)) < (busy[:, None] if share < 1 else 1.1)
    choices = np.where(random.random((people, comments)) < 0.1, 0, np.where(random.random((people, comments)) < popular, 1, -1))
    return Votes.of((int(p), int(c), int(choices[p, c]), 0) for p, c in zip(*np.nonzero(voted), strict=True))


@pytest.mark.parametrize(("people", "comments", "share"), [(200, 40, 1.0), (120, 40, 0.4), (40, 15, 1.0)])
def test_random_votes_end_as_one_group(people: int, comments: int, share: float) -> None:
    found = [analyse(random_votes(seed, people, comments, share), [], PLAIN) for seed in range(8)]
    assert sum(len(opinions.groups.groups.clusters) == 1 for opinions in found) >= 7
    assert all(len(opinions.groups.groups.clusters) == 1 for opinions in found if opinions.chance.likely)


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_planted_groups_are_not_taken_for_chance(groups: int) -> None:
    found = [_planted(groups, seed) for seed in range(300, 303)]
    assert [opinions.chance.as_strong for opinions in found] == [0] * 3
    assert sum(len(opinions.groups.groups.clusters) == groups for opinions in found) == 3


def _planted(groups: int, seed: int) -> Opinions:
    conversation = synthesise(SyntheticPlan(groups=groups, seed=seed)).conversation
    return analyse(conversation.votes, conversation.comments, PLAIN)


@pytest.mark.parametrize(
    "rows", [[], [(1, 1, 1, 0)], [(p, c, 1, 0) for p in range(20) for c in range(9)]], ids=["none", "one", "all agree"]
)
def test_where_nothing_differs_nothing_is_found(rows: list[tuple[int, int, int, int]]) -> None:
    matrix = VoteMatrix.of(Votes.of(rows))
    chance = chance_of(matrix, np.zeros(matrix.shape[1], dtype=np.bool_), np.arange(matrix.shape[0]))
    assert chance.likely


def test_exact_mode_shows_its_groups_and_says_that_they_may_be_chance() -> None:
    opinions = analyse(random_votes(3, 100, 30, 1.0), [], VotesConfig(mode="exact", correlated_comments=0))
    assert len(opinions.groups.groups.clusters) > 1
    assert opinions.chance.likely
