import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.apps.delphi.topics.identity import Sketch, identities, match_topics

EAST, NORTH = np.array([1.0, 0.0]), np.array([0.0, 1.0])


def _sketch(key: str, comments: set[int], centroid: np.ndarray = EAST, identity: str = "") -> Sketch:
    return Sketch(key, frozenset(comments), centroid, identity)


def test_topics_are_matched_by_the_comments_that_both_runs_know() -> None:
    before = [_sketch("a", {1, 2, 3}), _sketch("b", {4, 5, 6})]
    after = [_sketch("x", {4, 5, 6, 7, 8, 9, 10}), _sketch("y", {1, 2, 11})]
    found = {(match.before, match.after): (match.by, match.strength) for match in match_topics(before, after)}
    assert found == {("b", "x"): ("comments", 1.0), ("a", "y"): ("comments", 1.0)}


def test_topics_without_common_comments_are_matched_by_meaning() -> None:
    found = match_topics([_sketch("a", {1}, NORTH), _sketch("b", {2}, EAST)], [_sketch("x", {8}, EAST), _sketch("y", {9}, -NORTH)])
    assert [(match.before, match.after, match.by) for match in found] == [("b", "x", "meaning")]


def test_vectors_of_different_models_are_not_compared() -> None:
    assert match_topics([_sketch("a", {1}, np.ones(3))], [_sketch("x", {2}, np.ones(2))]) == []


def test_of_two_halves_the_larger_keeps_the_identity() -> None:
    before = [_sketch("a", {1, 2, 3, 4, 5}, EAST, "old")]
    found = identities([_sketch("x", {1, 2}, NORTH), _sketch("y", {3, 4, 5}, NORTH)], before)
    assert found["y"] == "old"
    assert found["x"] != "old"


@given(st.lists(st.sets(st.integers(0, 20), min_size=1), min_size=1, max_size=6))
@settings(deadline=None)
def test_the_same_topics_keep_their_identities_in_whatever_order(members: list[set[int]]) -> None:
    topics = [_sketch(f"t{number}", comments) for number, comments in enumerate(members)]
    first = identities(topics)
    assert len(set(first.values())) == len(topics)
    again = [_sketch(topic.key, set(topic.comments), topic.centroid, first[topic.key]) for topic in topics]
    then = identities(list(reversed(topics)), again)
    assert sorted(then.values()) == sorted(first.values())
    assert identities(topics) == first
