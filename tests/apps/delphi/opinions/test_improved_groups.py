"""No group is too small, and the number of groups is one that holds for others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.improved_groups import find_improved_groups, least_size, with_improved_subgroups
from gateleg.apps.delphi.opinions.separation import separations
from gateleg.apps.delphi.opinions.stage import analyse
from tests.apps.delphi.real import NAMES, needs_real_conversations, polis_groups, real_conversation

PLAIN = VotesConfig(correlated_comments=0)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 150), st.integers(0, 5))
def test_no_group_has_fewer_than_three_people_or_two_per_cent(seed: int, people: int, far: int) -> None:
    random = np.random.default_rng(seed)
    positions = np.concatenate([random.normal(size=(people, 2)) * [3, 1], random.normal(size=(far, 2)) * 100])
    groups = with_improved_subgroups(find_improved_groups(positions, np.arange(people + far)), positions)
    sizes = np.bincount(groups.group_of(people + far), minlength=0)
    assert len(sizes) <= 1 or sizes.min() >= least_size(people + far)
    inner = [np.bincount(groups.subgroup_of(people + far)[groups.group_of(people + far) == group]) for group in range(len(sizes))]
    assert all(len(part) <= 1 or part.min() >= 3 for part in inner)


def test_groups_that_are_there_separate_people_who_had_no_part_in_finding_them() -> None:
    random = np.random.default_rng(1)
    people = np.concatenate([random.normal(size=(50, 2)) + np.array(middle) for middle in ([0, 0], [8, 0], [0, 8])])
    scores = separations(people, (2, 3, 4, 5), 3)
    assert max(scores, key=scores.__getitem__) == 3


@pytest.mark.parametrize("order", ["reading", "participant", "first-vote"])
def test_exact_mode_takes_people_in_the_order_that_it_is_given(order: str) -> None:
    conversation = synthesise(SyntheticPlan(participants=60, comments=20)).conversation
    opinions = analyse(conversation.votes, conversation.comments, VotesConfig.model_validate({"mode": "exact", "order": order}))
    members = opinions.matrix.participants[opinions.groups.members].tolist()
    if order == "participant":
        assert members == sorted(members)
    if order == "first-vote":
        times = [min(conversation.votes.times[conversation.votes.participants == person]) for person in members]
        assert times == sorted(times)
    assert len(members) == 60


@pytest.mark.parametrize(
    "bad",
    [
        {"order": "first-vote"},
        {"mode": "exact", "replay": True, "order": "participant"},
        {"mode": "exact", "order": "size"},
    ],
)
def test_an_order_is_for_exact_mode_alone(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="order"):
        VotesConfig.model_validate(bad)


def test_a_new_start_is_for_a_replay() -> None:
    with pytest.raises(ValueError, match="replay_from"):
        VotesConfig(mode="exact", replay_from=0.8)


#: Agreement with Polis's groups, as the documentation has it.
AGREEMENT = {
    "15-per-hour-seattle": 0.88,
    "bg2050-volunteers": 1.00,
    "brexit-consensus": 0.65,
    "canadian-electoral-reform": 0.90,
    "hivemind-taxes": 0.86,
    "land-bank-farmland": 0.98,
    "vtaiwan-uberx": 0.91,
}


@pytest.mark.slow
@needs_real_conversations
def test_groups_are_as_near_those_of_polis_as_documented_and_none_is_small() -> None:
    found = {}
    for name in NAMES:
        conversation, theirs = real_conversation(name), polis_groups(name)
        opinions = analyse(conversation.votes, conversation.comments, PLAIN)
        ours = opinions.groups.group_of(len(opinions.matrix.participants))
        both = (ours >= 0) & (theirs >= 0)
        found[name] = agreement(theirs[both], ours[both])
        assert min(opinions.tallies.group_sizes) >= least_size(int(opinions.inside.sum()))
    assert found == pytest.approx(AGREEMENT, abs=0.006)
    assert np.mean(list(found.values())) >= 0.88
