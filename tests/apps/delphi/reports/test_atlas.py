import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.apps.delphi.reports import atlas as drawn
from gateleg.apps.delphi.reports.atlas import atlas, map_positions, packed_votes
from tests.apps.delphi.told import empty, findings, opinions

cast = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6), st.sampled_from([-1, 0, 1])), unique_by=lambda vote: vote[:2], min_size=1)


def unpacked(packed: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], people: int, comments: int) -> list[list[int]]:
    rows = packed.reshape(comments, -1)
    return [[int(rows[comment, person // 4] >> (person % 4 * 2)) & 3 for person in range(people)] for comment in range(comments)]


@given(cast)
def test_every_vote_is_found_again_in_its_two_bits(votes: list[tuple[int, int, int]]) -> None:
    matrix = VoteMatrix.of(Votes.of([(person, comment, choice, 0) for person, comment, choice in votes]))
    comments = matrix.comments.tolist()
    found = unpacked(packed_votes(matrix, np.arange(matrix.shape[0]), comments), *matrix.shape)
    codes = {1: 1, -1: 2, 0: 3}
    expected = {(comments.index(comment), matrix.participants.tolist().index(person)): codes[choice] for person, comment, choice in votes}
    assert {(c, p): code for c, row in enumerate(found) for p, code in enumerate(row) if code} == expected


def test_the_votes_of_people_who_are_not_drawn_and_of_comments_that_are_out_are_left_out() -> None:
    matrix = VoteMatrix.of(Votes.of([(1, 1, 1, 0), (2, 1, -1, 0), (2, 2, 0, 0)]))
    assert unpacked(packed_votes(matrix, np.array([1]), [1]), 1, 1) == [[2]]


def test_people_far_outside_of_the_groups_are_drawn_at_the_rim() -> None:
    people = np.array([[-1.0, 0.0], [1.0, 0.5], [900.0, 0.0]])
    places = map_positions(people, np.array([0, 1, -1]))
    assert np.abs(places).max() <= 32_767
    assert places[1, 0] - places[0, 0] > 50_000


def test_the_maps_have_everybody_every_group_and_every_comment() -> None:
    found = atlas(findings(), opinions().matrix)
    assert found["people"]["count"] == found["people"]["drawn"] == findings().totals.participants
    groups = np.frombuffer(base64.b64decode(found["people"]["groups"]), dtype=np.int8)
    assert [int((groups == group.place).sum()) for group in findings().groups] == [group.size for group in findings().groups]
    assert [one["id"] for one in found["comments"]] == list(findings().statements)
    assert all(group["motto"].startswith(("for “", "against “")) for group in found["groups"])


def test_the_votes_in_the_maps_are_those_that_are_counted() -> None:
    found = atlas(findings(), opinions().matrix)
    packed = np.frombuffer(base64.b64decode(found["people"]["votes"]), dtype=np.uint8)
    for row, comment in zip(unpacked(packed, found["people"]["drawn"], len(found["comments"])), found["comments"], strict=True):
        assert [row.count(code) for code in (1, 2, 3)] == comment["all"]


def test_of_many_people_a_sample_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "MOST_PEOPLE", 40)
    people = atlas(findings(), opinions().matrix)["people"]
    assert (people["count"], people["drawn"]) == (findings().totals.participants, 40)
    assert len(base64.b64decode(people["votes"])) == 10 * len(findings().statements)


def test_there_are_maps_of_nothing() -> None:
    found = atlas(empty(), VoteMatrix.of(Votes.of([])))
    assert (found["people"], found["comments"], found["groups"], found["layers"]) == (None, [], [], [])
