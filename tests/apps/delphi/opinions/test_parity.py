"""The votes stage beside a plain and slow writing-down of its formulas."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score  # type: ignore[import-untyped]

from gateleg.apps.delphi.conversations.conversation import Comment
from gateleg.apps.delphi.conversations.votes import Ints, Votes
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.kmeans import k_means
from gateleg.apps.delphi.opinions.modes import Order
from gateleg.apps.delphi.opinions.representatives import Representative
from gateleg.apps.delphi.opinions.stage import Opinions, analyse
from tests.apps.delphi.real import SMALL, needs_real_conversations, polis_groups, real_conversation
from tests.apps.delphi.reference import Reference

EXACT = VotesConfig(mode="exact", correlated_comments=0)


def reference_of(opinions: Opinions) -> Reference:
    matrix = opinions.matrix
    cells = {
        (int(matrix.participants[row]), int(matrix.comments[column])): -int(choice)
        for row, column, choice in zip(matrix.rows, matrix.columns, matrix.choices, strict=True)
    }
    return Reference(cells, set(opinions.moderation.out), set(opinions.moderation.meta))


def cosine(ours: Any, theirs: Any) -> float:
    return float(abs(np.dot(ours, theirs)))


def in_order_of(reference: Reference, opinions: Opinions) -> Ints:
    """Our row for each row of the reference, which takes participants in another order."""
    return np.searchsorted(opinions.matrix.participants, reference.pids)


def rows_of_groups(opinions: Opinions, reference: Reference) -> list[list[int]]:
    """The reference's rows in each of our groups."""
    labels = opinions.groups.group_of(len(opinions.matrix.participants))[in_order_of(reference, opinions)]
    return [np.flatnonzero(labels == group).tolist() for group in opinions.groups.groups.clusters.ids]


def assert_same_groups(opinions: Opinions, reference: Reference) -> list[list[int]]:
    """Who is in, the silhouettes and the groups, given our positions."""
    ours = in_order_of(reference, opinions)
    assert np.flatnonzero(opinions.inside[ours]).tolist() == reference.in_conv
    groups, scores = reference.groups(opinions.positions[ours].tolist())
    assert opinions.groups.groups.scores == pytest.approx(scores, abs=1e-9)
    assert [sorted(group) for group in groups] == rows_of_groups(opinions, reference)
    return groups


def assert_same_lists(opinions: Opinions, reference: Reference) -> None:
    """Representative comments of groups and subgroups, and consensus, given the groups."""
    groups = rows_of_groups(opinions, reference)
    for group, theirs in zip(opinions.groups.groups.clusters.ids, reference.repness(groups), strict=True):
        assert_same_records(opinions.representatives[int(group)], theirs)
    subgroup_of = opinions.groups.subgroup_of(len(opinions.matrix.participants))[in_order_of(reference, opinions)]
    for group, rows in zip(opinions.groups.groups.clusters.ids.tolist(), groups, strict=True):
        ids = opinions.groups.subgroups[group].clusters.ids.tolist()
        parts = [[row for row in rows if subgroup_of[row] == number] for number in ids]
        for number, theirs in zip(ids, reference.repness(parts), strict=True):
            assert_same_records(opinions.subgroup_representatives[group][number], theirs)
    consensus = reference.consensus()
    for side in ("agree", "disagree"):
        listed = getattr(opinions.consensus, side)
        assert [found.comment_id for found in listed] == [record["tid"] for record in consensus[side]]
        assert [found.p_test for found in listed] == pytest.approx([record["p-test"] for record in consensus[side]])


def assert_same_records(representatives: tuple[Representative, ...], records: list[dict[str, Any]]) -> None:
    ours = [
        {
            "tid": found.comment_id,
            "n-success": found.n_success,
            "n-trials": found.n_trials,
            "p-success": found.p_success,
            "p-test": found.p_test,
            "repness": found.repness,
            "repness-test": found.repness_test,
            "repful-for": found.repful_for,
        }
        | ({"best-agree": True, "n-agree": found.agrees} if found.best_agree else {})
        for found in representatives
    ]
    assert ours == [approx(record) for record in records]


def approx(record: dict[str, Any]) -> dict[str, Any]:
    return {name: pytest.approx(value, rel=1e-6) if isinstance(value, float) else value for name, value in record.items()}


@needs_real_conversations
@pytest.mark.parametrize("name", SMALL)
def test_real_conversations_agree_with_the_formulas(name: str) -> None:
    conversation = real_conversation(name)
    opinions = analyse(conversation.votes, conversation.comments, EXACT)
    reference = reference_of(opinions)
    assert np.abs(-opinions.pca.center - reference.center).max() < 1e-12
    for ours, theirs in zip(opinions.pca.components, reference.comps, strict=True):
        assert cosine(ours, theirs) > 1 - 1e-9
    assert opinions.map_extremity == pytest.approx(reference.extremity, abs=1e-7)
    groups = assert_same_groups(opinions, reference)
    assert_same_lists(opinions, reference)
    assert opinions.priorities == pytest.approx(reference.priorities(groups), rel=1e-6)


@pytest.mark.slow
@needs_real_conversations
@pytest.mark.parametrize(("name", "least"), [("15-per-hour-seattle", 0.94), ("brexit-consensus", 0.88), ("canadian-electoral-reform", 1.0)])
def test_the_groups_that_polis_kept_stay_as_they_are_on_our_map(name: str, least: float) -> None:
    """History decides where its clustering began; where it ended is also where ours ends when it begins there."""
    conversation, theirs = real_conversation(name), polis_groups(name)
    opinions = analyse(conversation.votes, conversation.comments, EXACT)
    grouped = theirs >= 0
    ended = k_means(opinions.positions[grouped], 2, earlier=theirs[grouped])
    assert adjusted_rand_score(theirs[grouped], ended.labels) >= least - 1e-3


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Votes, list[Comment]]:
    people, comments = draw(st.integers(3, 40)), draw(st.integers(2, 12))
    seed = draw(st.integers(0, 2**32))
    random = np.random.default_rng(seed)
    leaning = random.normal(size=(2, comments))[random.integers(2, size=people)]
    choices = np.sign(np.round(leaning + random.normal(size=(people, comments)))).astype(int)
    voted = random.random((people, comments)) < draw(st.floats(0.3, 1.0))
    rows = [(p * 3, c * 7, int(choices[p, c]), 1_000 + p) for p, c in zip(*np.nonzero(voted), strict=True)]
    moderated = [
        Comment(c * 7, "", moderated=draw(st.sampled_from([-1, 0, 1, 1, 1])), is_meta=draw(st.integers(0, 9)) == 0) for c in range(comments)
    ]
    return Votes.of(rows), moderated


@settings(max_examples=40, deadline=None)
@given(conversations())
def test_any_conversation_agrees_with_the_formulas(conversation: tuple[Votes, list[Comment]]) -> None:
    opinions = analyse(*conversation, EXACT)
    if min(opinions.matrix.shape, default=0) < 2:
        return
    reference = reference_of(opinions)
    assert np.abs(-opinions.pca.center - reference.center).max() < 1e-12
    first, second = opinions.pca.singular_values[:2]
    if first > 1.05 * second > 0.1:
        # Where two components explain equally much, any two directions in their plane are right.
        assert cosine(opinions.pca.components[0], reference.comps[0]) > 0.9999
    assert_same_groups(opinions, reference)
    assert_same_lists(opinions, reference)


@pytest.mark.slow
@needs_real_conversations
@pytest.mark.parametrize(
    ("name", "exact", "improved"),
    [
        ("15-per-hour-seattle", 0.56, 0.88),
        ("bg2050-volunteers", 1.0, 1.0),
        ("brexit-consensus", 0.54, 0.65),
        ("canadian-electoral-reform", 0.17, 0.90),
        ("hivemind-taxes", 0.81, 0.86),
        ("land-bank-farmland", 0.94, 0.98),
        ("vtaiwan-uberx", 0.93, 0.91),
    ],
)
def test_the_page_on_groups_says_how_far_they_are_those_of_polis(name: str, exact: float, improved: float) -> None:
    conversation, theirs = real_conversation(name), polis_groups(name)
    for expected, config in ((exact, EXACT), (improved, VotesConfig())):
        ours = analyse(conversation.votes, conversation.comments, config).groups.group_of(len(theirs))
        both = (ours >= 0) & (theirs >= 0)
        assert adjusted_rand_score(theirs[both], ours[both]) == pytest.approx(expected, abs=0.02)


@pytest.mark.slow
@needs_real_conversations
@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("bg2050-volunteers", "reading"),
        ("bg2050-volunteers", "participant"),
        ("bg2050-volunteers", "first-vote"),
        ("land-bank-farmland", "participant"),
        ("land-bank-farmland", "first-vote"),
    ],
)
def test_exact_mode_finds_the_groups_of_polis_where_its_history_is_that_of_the_order(name: str, order: Order) -> None:
    conversation, theirs = real_conversation(name), polis_groups(name)
    config = VotesConfig(mode="exact", order=order)
    ours = analyse(conversation.votes, conversation.comments, config).groups.group_of(len(theirs))
    both = (ours >= 0) & (theirs >= 0)
    # Polis has let in one more person in each.
    assert both.sum() == (ours >= 0).sum() == (theirs >= 0).sum() - 1
    assert adjusted_rand_score(theirs[both], ours[both]) >= 0.95


@pytest.mark.slow
@needs_real_conversations
@pytest.mark.parametrize(
    ("name", "start", "expected", "members"),
    [("15-per-hour-seattle", 0.8, 0.86, 138), ("canadian-electoral-reform", 0.6, 0.96, 281)],
)
def test_the_page_on_groups_says_how_far_a_new_start_explains_them(name: str, start: float, expected: float, members: int) -> None:
    theirs = polis_groups(name)
    ours = replayed_groups(name, updates=12, start=start)
    assert ((ours >= 0).sum(), (theirs >= 0).sum()) == (members, members)
    assert adjusted_rand_score(theirs[ours >= 0], ours[ours >= 0]) == pytest.approx(expected, abs=0.02)


@pytest.mark.slow
@needs_real_conversations
@pytest.mark.parametrize(("name", "expected"), [("canadian-electoral-reform", 0.90), ("brexit-consensus", 0.92)])
def test_the_page_on_groups_says_how_far_a_replay_explains_them(name: str, expected: float) -> None:
    theirs, ours = polis_groups(name), replayed_groups(name, updates=100)
    both = (ours >= 0) & (theirs >= 0)
    assert adjusted_rand_score(theirs[both], ours[both]) == pytest.approx(expected, abs=0.02)


def replayed_groups(name: str, updates: int, start: float = 0.0) -> Ints:
    conversation = real_conversation(name)
    config = VotesConfig(mode="exact", replay=True, replay_updates=updates, replay_from=start, correlated_comments=0)
    return analyse(conversation.votes, conversation.comments, config).groups.group_of(len(polis_groups(name)))
