"""Improved mode shows the division that participants saw, unless the votes clearly show another."""

from dataclasses import replace

import numpy as np
import pytest

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.conversations.synthetic import Synthetic, SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.votes import Floats, Ints, Votes
from gateleg.apps.delphi.opinions import division_choice
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.groups import Groups
from gateleg.apps.delphi.opinions.improved_groups import find_improved_groups, least_size, regroup
from gateleg.apps.delphi.opinions.moderation import Moderation
from gateleg.apps.delphi.opinions.replay import replay
from gateleg.apps.delphi.opinions.silhouette import distances_between, silhouettes_at
from gateleg.apps.delphi.opinions.stage import Opinions, analyse
from tests.apps.delphi.real import needs_real_conversations, polis_groups, real_conversation

PLAIN = VotesConfig(correlated_comments=0)


def crowd() -> tuple[Floats, Ints]:
    """Two crowds that touch: which of them the people in the middle belong to is a matter of taste."""
    random = np.random.default_rng(4)
    people = np.concatenate([random.normal(size=(60, 2)), random.normal([4.0, 0.0], size=(60, 2))])
    return people, np.repeat([0, 1], 60)


def found() -> Groups:
    people, _ = crowd()
    return find_improved_groups(people, np.arange(len(people)))


def with_times(votes: Votes, times: Ints) -> Votes:
    return replace(votes, times=times)


def test_a_division_that_separates_people_nearly_as_well_is_taken() -> None:
    people, _ = crowd()
    shifted = (people[:, 0] > 2.6).astype(np.intp)
    assert division_choice.weigh(found(), people, shifted) == "seen"
    taken = regroup(found(), shifted)
    assert agreement(taken.group_of(len(people)), shifted.astype(np.int64)) == 1.0
    assert np.bincount(taken.group_of(len(people)))[0] == max(np.bincount(shifted))


def test_one_that_cuts_through_distinct_groups_is_not() -> None:
    people, _ = crowd()
    assert division_choice.weigh(found(), people, np.digitize(people[:, 1], [0.0])) == "less-separated"


def test_where_no_groups_are_distinct_the_one_that_participants_saw_is_taken_however_it_cuts() -> None:
    people = np.random.default_rng(2).normal(size=(150, 2))
    own = find_improved_groups(people, np.arange(len(people)))
    across = np.digitize(people @ np.array([1.0, 1.0]), [-1.5, 1.5])
    distances = distances_between(people)
    ours, theirs = (silhouettes_at(distances, one).mean() for one in (own.groups.clusters.places[own.base.places], across))
    assert theirs < 0.85 * ours
    assert division_choice.weigh(own, people, across) == "seen"
    assert len(regroup(own, across).groups.clusters) == 3


@pytest.mark.parametrize("groups", [2, 3, 4, 5])
def test_a_crowd_without_groups_has_the_silhouette_that_is_expected_of_it(groups: int) -> None:
    people = np.random.default_rng(groups).normal(size=(200, 2)) * [3.0, 1.0]
    own = find_improved_groups(people, np.arange(len(people)))
    score = silhouettes_at(distances_between(people), own.groups.clusters.places[own.base.places]).mean()
    expected = division_choice.crowd_silhouette(people, len(own.groups.clusters))
    assert abs(score - expected) < division_choice.DISTINCT_MARGIN
    assert division_choice.crowd_silhouette(people, groups) == division_choice.crowd_silhouette(people, groups)


def test_another_number_of_distinct_groups_must_separate_people_better_than_the_same_number(monkeypatch: pytest.MonkeyPatch) -> None:
    people, _ = crowd()
    thirds = np.digitize(people[:, 0], [1.5, 2.5])
    own, distances = found(), distances_between(people)
    ours, theirs = (silhouettes_at(distances, one).mean() for one in (own.groups.clusters.places[own.base.places], thirds))
    monkeypatch.setattr(division_choice, "OTHER_NUMBER_SHARE", theirs / ours - 0.001)
    assert division_choice.weigh(own, people, thirds) == "seen"
    monkeypatch.setattr(division_choice, "OTHER_NUMBER_SHARE", theirs / ours + 0.001)
    assert division_choice.weigh(own, people, thirds) == "less-separated"


@pytest.mark.parametrize("groups", [4, 5])
def test_planted_groups_are_neither_merged_nor_split_for_a_replay(groups: int) -> None:
    conversation = synthesise(SyntheticPlan(groups=groups, seed=301)).conversation
    assert len(analyse(conversation.votes, conversation.comments).groups.groups.clusters) == groups


def test_small_groups_that_participants_saw_join_the_nearest() -> None:
    people, sides = crowd()
    split = sides.astype(np.intp)
    split[np.argsort(people[:, 0])[-2:]] = 2
    joined = division_choice.without_small_groups(people, split)
    assert np.bincount(split).min() < least_size(len(people))
    assert joined.tolist() == sides.tolist()


def test_a_division_with_one_large_group_is_not_taken() -> None:
    people, _ = crowd()
    alone = (people[:, 0] >= np.sort(people[:, 0])[-2]).astype(np.intp)
    assert division_choice.weigh(found(), people, division_choice.without_small_groups(people, alone)) == "too-small"


@pytest.mark.parametrize(("votes", "updates"), [(0, 0), (150, 150), (1_000, 1_000), (3_000, 500), (10_000, 200), (150_000, 200)])
def test_a_short_conversation_is_replayed_vote_by_vote(votes: int, updates: int) -> None:
    assert division_choice.replay_updates(votes, 200) == updates


def test_the_same_groups_by_other_names_are_the_same() -> None:
    people, _ = crowd()
    own = found().group_of(len(people))
    assert division_choice.weigh(found(), people, (1 - own).astype(np.intp)) == "same"


def planted(groups: int = 3, seed: int = 11) -> Synthetic:
    return synthesise(SyntheticPlan(participants=120, comments=40, groups=groups, seed=seed))


def analysed(synthetic: Synthetic, votes: Votes) -> tuple[Opinions, float]:
    opinions = analyse(votes, synthetic.conversation.comments, PLAIN)
    labels = opinions.groups.group_of(len(opinions.matrix.participants))
    return opinions, agreement(labels, synthetic.group_of[opinions.matrix.participants])


def test_planted_groups_are_found_although_the_times_of_the_votes_tell_another_story() -> None:
    synthetic = planted()
    latest = synthetic.conversation.votes.latest()
    shuffled = with_times(latest, np.random.default_rng(0).permutation(len(latest)).astype(np.int64) * 1_000)
    for votes in (synthetic.conversation.votes, shuffled):
        opinions, right = analysed(synthetic, votes)
        assert right > 0.9
        assert opinions.division != "not-weighed"


def test_what_a_poor_replay_ends_with_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    synthetic = planted()
    _, before = analysed(synthetic, synthetic.conversation.votes)

    def halved(people: Floats, labels: Ints) -> Ints:
        return np.arange(len(people)) % 3

    monkeypatch.setattr(division_choice, "_places", halved)
    opinions, after = analysed(synthetic, synthetic.conversation.votes)
    assert (opinions.division, after) == ("less-separated", before)


def test_votes_without_times_tell_no_history() -> None:
    synthetic = planted()
    latest = synthetic.conversation.votes.latest()
    opinions, right = analysed(synthetic, with_times(latest, np.zeros_like(latest.times)))
    assert opinions.division == "no-times"
    assert right > 0.9


def test_many_votes_are_not_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division_choice, "MAX_REPLAYED_VOTES", 100)
    synthetic = planted()
    assert analysed(synthetic, synthetic.conversation.votes)[0].division == "too-many"


def test_where_there_are_no_groups_there_is_nothing_to_weigh() -> None:
    random = np.random.default_rng(5)
    cells = [(person, comment, int(random.integers(-1, 2)), person) for person in range(60) for comment in range(20)]
    opinions = analyse(Votes.of(cells), (), PLAIN)
    assert opinions.division == "one-group"


def test_exact_mode_weighs_nothing() -> None:
    conversation = planted().conversation
    assert analyse(conversation.votes, conversation.comments, VotesConfig(mode="exact")).division == "not-weighed"


def test_a_replay_that_nobody_follows_ends_with_the_same_groups() -> None:
    conversation = planted(groups=4).conversation
    moderation = Moderation.of(conversation.comments)
    followed, quick = (replay(conversation.votes, moderation, 20, followed=one) for one in (True, False))
    people = len(np.unique(conversation.votes.participants))
    assert followed.groups.group_of(people).tolist() == quick.groups.group_of(people).tolist()
    assert (len(followed.history), len(quick.history)) == (20, 1)


@needs_real_conversations
def test_where_several_divisions_are_as_good_the_one_that_polis_showed_is_taken() -> None:
    conversation, theirs = real_conversation("bg2050-volunteers"), polis_groups("bg2050-volunteers")
    opinions = analyse(conversation.votes, conversation.comments, PLAIN)
    ours = opinions.groups.group_of(len(opinions.matrix.participants))
    both = (ours >= 0) & (theirs >= 0)
    assert opinions.division == "seen"
    assert agreement(theirs[both], ours[both]) == 1.0
