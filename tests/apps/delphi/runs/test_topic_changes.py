from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from gateleg.apps.delphi.runs.topic_changes import TopicChange, compare_topics
from gateleg.apps.delphi.topics.names import Naming
from gateleg.apps.delphi.topics.stage import Topic


def topics(*members: Sequence[int], identities: Sequence[str] = ()) -> list[Topic]:
    return [
        Topic(0, n, tuple(own), Naming(str(n), "keywords"), (), (), (0.0, 0.0), None, (), identities[n] if identities else "")
        for n, own in enumerate(members)
    ]


def told(changes: list[TopicChange]) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(one.kind, one.before, one.after) for one in changes]


def test_topics_that_are_known_as_the_same_are_kept_whatever_their_comments() -> None:
    found = compare_topics(topics([1, 2], [3], identities=["a", "b"]), topics([3], [1, 2, 4], identities=["b", "a"]))
    assert told(found) == [("kept", ("layer0_1",), ("layer0_0",)), ("kept", ("layer0_0",), ("layer0_1",))]


def test_topics_with_the_same_comments_are_kept_without_being_known() -> None:
    assert told(compare_topics(topics([1, 2, 3]), topics([1, 2]))) == [("kept", ("layer0_0",), ("layer0_0",))]


def test_a_topic_falls_apart() -> None:
    found = compare_topics(topics([1, 2, 3, 4]), topics([1, 2], [3, 4]))
    assert found == [TopicChange("split", ("layer0_0",), ("layer0_0", "layer0_1"), 4)]


def test_topics_grow_together() -> None:
    found = compare_topics(topics([1, 2], [3, 4]), topics([1, 2, 3, 4]))
    assert found == [TopicChange("merged", ("layer0_0", "layer0_1"), ("layer0_0",), 4)]


def test_what_comes_from_nowhere_is_new_and_what_goes_nowhere_is_gone() -> None:
    found = compare_topics(topics([1, 2], [9]), topics([1, 2], [7, 8]))
    assert told(found)[1:] == [("new", (), ("layer0_1",)), ("gone", ("layer0_1",), ())]


divisions = st.lists(st.integers(0, 4), min_size=1, max_size=30).map(
    lambda labels: topics(*[[n for n, label in enumerate(labels) if label == topic] for topic in sorted(set(labels))])
)


@given(divisions, divisions)
def test_every_topic_is_told_of(before: list[Topic], after: list[Topic]) -> None:
    found = compare_topics(before, after)
    assert {key for one in found for key in one.before} == {topic.key for topic in before}
    assert {key for one in found for key in one.after} == {topic.key for topic in after}


@given(divisions)
def test_a_run_keeps_all_topics_of_itself(both: list[Topic]) -> None:
    assert {one.kind for one in compare_topics(both, both)} == {"kept"}
