"""How good rankings are, and questions made from documents."""

import math

import pytest

from gateleg.apps.rag.evaluating.measures import Measures, compare, mean, measure
from gateleg.apps.rag.evaluating.question_generator import generate_questions
from tests.apps.rag.filled import MANUAL


def test_the_measures_of_a_ranking() -> None:
    found = measure(["a", "x", "a", "b", "y"], {"a", "b", "c"}, 4)
    assert found.recall == pytest.approx(2 / 3)
    assert found.precision == pytest.approx(2 / 4)
    assert found.reciprocal_rank == 1.0
    # The second "a" is the document that was counted already: "b" is in the third place.
    assert found.ndcg == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3) + 1 / 2))
    assert found.hit == 1.0


def test_a_ranking_without_anything_relevant() -> None:
    assert measure(["x"], {"a"}, 10) == Measures()
    assert measure([], {"a"}, 10) == Measures()
    assert measure(["a"], set(), 10) == Measures()


def test_a_perfect_ranking_is_one() -> None:
    assert measure(["a", "b"], {"a", "b"}, 10).ndcg == pytest.approx(1.0)


def test_means_and_comparisons() -> None:
    low, high = Measures(ndcg=0.2), Measures(ndcg=0.6)
    assert mean([low, high]).ndcg == pytest.approx(0.4)
    assert mean([]) == Measures()
    found = compare([low] * 9 + [high], [high] * 9 + [high])
    assert (found.better, found.equal, found.worse) == (9, 1, 0)
    assert found.difference == pytest.approx(0.36)
    assert found.chance == pytest.approx(2 / 2**9)


def test_questions_are_made_of_telling_words_of_the_documents() -> None:
    passages = [(name, text) for name, texts in MANUAL.items() for text in texts]
    made = generate_questions(passages, 4, seed=3)
    assert made == generate_questions(passages, 4, seed=3)
    assert made != generate_questions(passages, 4, seed=4)
    assert len(made) == 4
    # Documents take turns: there are three.
    assert {document for _, documents in made[:3] for document in documents} == set(MANUAL)
    for question, (document,) in made:
        words = question.split()
        assert 3 <= len(words) <= 7
        assert all(word in " ".join(MANUAL[document]).casefold() for word in words)
        assert "the" not in words
