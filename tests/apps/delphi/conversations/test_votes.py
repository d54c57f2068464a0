from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.apps.delphi.conversations.votes import Choice, Votes
from gateleg.apps.delphi.opinions.matrix import VoteMatrix

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([-1, 0, 1]), st.integers(0, 3)), max_size=40)


def cells(votes: Votes) -> dict[tuple[int, int], int]:
    return {
        (int(person), int(comment)): int(choice)
        for person, comment, choice in zip(votes.participants, votes.comments, votes.choices, strict=True)
    }


def test_the_latest_vote_wins_whatever_the_order_of_rows() -> None:
    rows = [(1, 1, Choice.AGREE, 20), (1, 1, Choice.DISAGREE, 10), (2, 1, Choice.PASS, 5)]
    for given_rows in (rows, rows[::-1]):
        assert cells(Votes.of(given_rows).latest()) == {(1, 1): Choice.AGREE, (2, 1): Choice.PASS}


@settings(deadline=None)
@given(ROWS, st.randoms())
def test_the_matrix_does_not_depend_on_the_order_of_rows(rows: list[tuple[int, int, int, int]], random: st.DataObject) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = VoteMatrix.of(Votes.of(rows)), VoteMatrix.of(Votes.of(shuffled))
    assert one.participants.tolist() == other.participants.tolist()
    assert one.comments.tolist() == other.comments.tolist()
    assert (one.rows.tolist(), one.columns.tolist(), one.choices.tolist()) == (
        other.rows.tolist(),
        other.columns.tolist(),
        other.choices.tolist(),
    )


def test_the_first_votes_are_the_earliest() -> None:
    votes = Votes.of([(1, 1, 1, 30), (2, 1, 1, 10), (3, 1, 1, 20)])
    assert votes.first(2).participants.tolist() == [2, 3]
    assert len(votes.first(9)) == 3


def test_the_votes_of_removed_participants_are_gone() -> None:
    votes = Votes.of([(1, 1, 1, 0), (2, 1, 1, 0)])
    assert votes.without([2]).participants.tolist() == [1]
    assert len(votes.without([])) == 2


def test_a_pass_is_a_vote_and_a_missing_vote_is_none() -> None:
    matrix = VoteMatrix.of(Votes.of([(1, 1, Choice.PASS, 0), (1, 2, Choice.AGREE, 0), (2, 2, Choice.DISAGREE, 0)]))
    assert matrix.vote_counts.tolist() == [2, 1]
    assert matrix.column_means().tolist() == [0.0, 0.0]
    assert matrix.dense(missing=9).tolist() == [[0, 1], [9, -1]]
    assert matrix.sparse(matrix.choices.astype(float)).toarray().tolist() == [[0, 1], [0, -1]]
