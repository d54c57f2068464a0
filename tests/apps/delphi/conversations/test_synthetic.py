import numpy as np
import pytest

from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.synthetic_texts import TOPICS


def test_the_same_plan_gives_the_same_conversation() -> None:
    one, other = synthesise(SyntheticPlan(seed=3)), synthesise(SyntheticPlan(seed=3))
    assert np.array_equal(one.conversation.votes.choices, other.conversation.votes.choices)
    assert one.conversation.comments == other.conversation.comments
    assert not np.array_equal(one.group_of, synthesise(SyntheticPlan(seed=5)).group_of)


def test_comments_are_about_their_topic_and_all_different() -> None:
    found = synthesise(SyntheticPlan(comments=120, topics=8))
    bodies = [comment.body for comment in found.conversation.comments]
    assert len(set(bodies)) == 120
    for comment, topic in zip(found.conversation.comments, found.topic_of, strict=True):
        assert any(subject.lower() in comment.body.lower() for subject in TOPICS[topic].subjects)


def test_a_claim_comes_again_only_when_all_of_its_topic_have_been_made() -> None:
    claims = TOPICS[0].claims
    bodies = [comment.body.lower() for comment in synthesise(SyntheticPlan(comments=2 * len(claims), topics=1)).conversation.comments]
    assert len(set(bodies)) == 2 * len(claims)
    for half in (bodies[: len(claims)], bodies[len(claims) :]):
        assert all(any(claim.lower() in body for body in half) for claim in claims)


def test_no_claim_and_no_subject_belongs_to_two_topics() -> None:
    for said in ([topic.claims for topic in TOPICS], [topic.subjects for topic in TOPICS]):
        every = [words for topic in said for words in topic]
        assert len(set(every)) == len(every)


def test_more_comments_than_words_still_have_a_body() -> None:
    found = synthesise(SyntheticPlan(participants=10, comments=700, topics=1))
    assert all(comment.body.endswith(".") for comment in found.conversation.comments)


def test_some_votes_are_cast_again() -> None:
    votes = synthesise(SyntheticPlan(changed=0.2)).conversation.votes
    assert 0.1 < 1 - len(votes.latest()) / len(votes) < 0.25


def test_planted_agreement_is_nearly_all() -> None:
    found = synthesise(SyntheticPlan(participants=2000, votes_per_participant=40))
    votes = found.conversation.votes.latest()
    of_agreed = votes.take(np.isin(votes.comments, sorted(found.agreed)))
    assert 0.93 < (of_agreed.choices == 1).mean() < 0.97


def test_groups_are_as_large_beside_each_other_as_is_said() -> None:
    sizes = np.bincount(synthesise(SyntheticPlan(participants=4000, groups=3, shares=(6, 3, 1))).group_of)
    assert sizes / 4000 == pytest.approx([0.6, 0.3, 0.1], abs=0.03)


@pytest.mark.parametrize("shares", [(1.0,), (1.0, 2.0, 3.0), (1.0, 0.0)])
def test_shares_that_are_not_those_of_the_groups_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="shares must have 2 numbers above 0"):
        SyntheticPlan(groups=2, shares=shares)
