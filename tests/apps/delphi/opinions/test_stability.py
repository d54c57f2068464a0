import numpy as np
import pytest

from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.apps.delphi.opinions.stability import Stability
from gateleg.apps.delphi.opinions.stage import analyse

UNCORRELATED = VotesConfig(correlated_comments=0)


def stability_of(votes: Votes) -> Stability | None:
    return analyse(votes, [], UNCORRELATED).stability


def test_planted_groups_come_back_without_some_comments() -> None:
    found = stability_of(synthesise(SyntheticPlan(groups=2)).conversation.votes)
    assert found is not None
    assert found.overall > 0.95
    assert min(found.groups.values()) > 0.95


def test_groups_in_noise_do_not_come_back() -> None:
    random = np.random.default_rng(1)
    votes = Votes.of((person, comment, int(random.integers(-1, 2)), 0) for person in range(150) for comment in range(40))
    found = analyse(votes, [], VotesConfig(mode="exact", correlated_comments=0)).stability
    assert found is not None
    assert found.overall < 0.5


def test_a_conversation_with_few_comments_or_one_group_has_none() -> None:
    assert stability_of(synthesise(SyntheticPlan(comments=8)).conversation.votes) is None
    assert stability_of(Votes.of((person, comment, 1, 0) for person in range(20) for comment in range(20))) is None


@pytest.mark.slow
def test_large_conversations_are_drawn_from() -> None:
    found = stability_of(synthesise(SyntheticPlan(participants=2_500, comments=30, groups=2, votes_per_participant=25)).conversation.votes)
    assert found is not None
    assert found.overall > 0.9


def test_a_part_of_a_matrix_keeps_its_cells() -> None:
    matrix = VoteMatrix.of(synthesise(SyntheticPlan(participants=30, comments=12)).conversation.votes)
    rows, columns = np.array([0, 3, 4, 20]), np.array([1, 2, 11])
    part = matrix.part(rows, columns)
    assert np.array_equal(part.dense(missing=9), matrix.dense(missing=9)[np.ix_(rows, columns)])
    assert part.participants.tolist() == matrix.participants[rows].tolist()
    assert np.array_equal(part.sparse(part.choices.astype(float)).toarray(), part.dense(missing=0))
