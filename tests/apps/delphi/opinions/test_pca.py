import numpy as np
import pytest

from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.config import Method
from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.apps.delphi.opinions.pca import principal_components
from gateleg.apps.delphi.opinions.projection import comment_positions, map_extremity, participant_positions


def matrix_of(*rows: str) -> VoteMatrix:
    """Rows of +, -, o for a pass and . for no vote."""
    choices = {"+": 1, "-": -1, "o": 0}
    return VoteMatrix.of(Votes.of((p, c, choices[mark], 0) for p, row in enumerate(rows) for c, mark in enumerate(row) if mark != "."))


def test_missing_votes_count_as_the_mean() -> None:
    matrix = matrix_of("+-", "-+", "+.", ".+")
    pca = principal_components(matrix, np.array([False, False]))
    assert pca.center == pytest.approx([1 / 3, 1 / 3])
    filled = np.array([[1, -1], [-1, 1], [1, 1 / 3], [1 / 3, 1]]) - 1 / 3
    _, values, vectors = np.linalg.svd(filled)
    assert abs(vectors[0] @ pca.components[0]) == pytest.approx(1)
    assert pca.singular_values == pytest.approx(values)
    assert pca.explained.sum() == pytest.approx(1)


def test_comments_that_are_out_count_as_passes_of_everybody() -> None:
    matrix = matrix_of("+-+", "-+.", "+--")
    out = np.array([False, False, True])
    pca = principal_components(matrix, out)
    assert pca.center[2] == 0
    assert pca.components[:, 2].tolist() == [0, 0]
    positions = participant_positions(matrix, out, pca)
    apart = np.array([[1, -1], [-1, 1], [1, -1]]) - pca.center[:2]
    # All three have voted on both comments that are in, and count as voters on the one that is out.
    assert positions == pytest.approx(np.sqrt(3 / 3) * apart @ pca.components[:, :2].T)


def test_few_votes_are_stretched() -> None:
    matrix = matrix_of("++--", "--++", "+-..")
    out = np.zeros(4, dtype=bool)
    pca = principal_components(matrix, out)
    expected = np.sqrt(4 / 2) * ((1 - pca.center[0]) * pca.components[:, 0] + (-1 - pca.center[1]) * pca.components[:, 1])
    assert participant_positions(matrix, out, pca)[2] == pytest.approx(expected)


def test_a_comment_lies_where_someone_would_who_agrees_with_nothing_else() -> None:
    matrix = matrix_of("++--", "--++", "+-+-", "+++.")
    out = np.array([False, False, False, True])
    pca = principal_components(matrix, out)
    positions = comment_positions(pca)
    assert positions[0] == pytest.approx(2 * (1 - pca.center[0]) * pca.components[:, 0])
    extremity = map_extremity(positions, out)
    assert extremity[0] == pytest.approx(np.hypot(*positions[0]))
    assert extremity[3] == 0


def test_one_participant_has_one_component() -> None:
    pca = principal_components(matrix_of("+-o+"), np.zeros(4, dtype=bool))
    assert pca.components[0] == pytest.approx(np.array([1, -1, 0, 1]) / np.sqrt(3))
    assert pca.components[1].tolist() == [0, 0, 0, 0]


def test_one_comment_is_the_only_component() -> None:
    pca = principal_components(matrix_of("+", "-", "+"), np.zeros(1, dtype=bool))
    assert (pca.center.tolist(), pca.components.tolist()) == ([0], [[1], [0]])


@pytest.mark.parametrize("rows", [("ooo", "ooo"), ("+++", "+++"), ("o", "o"), ("oo",)])
def test_nothing_varies_and_nothing_is_invented(rows: tuple[str, ...]) -> None:
    matrix = matrix_of(*rows)
    out = np.zeros(len(rows[0]), dtype=bool)
    positions = participant_positions(matrix, out, principal_components(matrix, out))
    assert positions.tolist() == [[0, 0]] * len(rows)


def test_nobody_votes() -> None:
    pca = principal_components(VoteMatrix.of(Votes.of([])), np.zeros(0, dtype=bool))
    assert pca.components.shape == (2, 0)


def test_more_components_than_there_are_are_zero() -> None:
    pca = principal_components(matrix_of("+-", "-+", "--"), np.zeros(2, dtype=bool), count=4)
    assert pca.components.shape == (4, 2)
    assert np.abs(pca.components[2:]).max() == 0


@pytest.mark.parametrize(("method", "near"), [("lanczos", 1e-10), ("randomized", 1e-4)])
def test_methods_agree(method: Method, near: float) -> None:
    matrix = VoteMatrix.of(synthesise(SyntheticPlan(participants=400, comments=60)).conversation.votes)
    out = np.zeros(60, dtype=bool)
    full, other = (principal_components(matrix, out, method=name) for name in ("full", method))
    assert np.array_equal(full.center, other.center)
    assert np.abs(1 - (full.components * other.components).sum(axis=1)).max() < near
