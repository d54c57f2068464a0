"""Languages that the local model does not know."""

import numpy as np
import pytest

from gateleg.apps.delphi.conversations.conversation import Comment
from gateleg.apps.delphi.topics.keywords import tokens
from gateleg.apps.delphi.topics.segmentation import learn_words, segment
from gateleg.apps.delphi.topics.stage import analyse_comments
from gateleg.apps.delphi.topics.words import LEAST_KNOWN, known_share, word_vectors
from tests.apps.delphi.texts import local_embeddings

BUSES = [
    "Der Nachtbus nach {} kommt immer zu spät",
    "Ein Nachtbus nach {} wäre gut für Jugendliche",
    "Wann fährt endlich ein Nachtbus nach {}?",
]
RENTS = [
    "Die Mieten in {} steigen ohne Ende",
    "Wer kann die Mieten in {} noch bezahlen?",
    "Bezahlbare Mieten in {} sind wichtiger als Büros",
]
PLACES = ("Altdorf", "Neustadt", "Oberheim", "Unterbach")
GERMAN = [text.format(place) for text in (*BUSES, *RENTS) for place in PLACES]


@pytest.mark.parametrize(
    ("texts", "known"),
    [
        (["The night bus is always late", "Rents are too high for most people"], True),
        (GERMAN, False),
        (["計程車司機的收入", "自用車載客合法"], False),
    ],
    ids=["English", "German", "Chinese"],
)
def test_the_model_knows_the_words_of_its_language(texts: list[str], known: bool) -> None:
    share = known_share(local_embeddings(), texts)
    assert share is not None
    assert (share >= LEAST_KNOWN) is known


def test_texts_that_share_words_are_near() -> None:
    vectors = word_vectors(GERMAN)
    nearness = vectors @ vectors.T
    same = np.arange(len(GERMAN)) < len(GERMAN) // 2
    alike = same[:, None] == same[None, :]
    np.fill_diagonal(alike, False)
    assert nearness[alike].mean() > nearness[same[:, None] != same[None, :]].mean() + 0.1


def test_a_language_that_the_model_does_not_know_has_topics_by_words_and_says_so() -> None:
    topics = analyse_comments([Comment(number, text) for number, text in enumerate(GERMAN)], local_embeddings())
    assert topics.model == "words"
    assert topics.known_words is not None
    assert topics.known_words < LEAST_KNOWN
    names = " ".join(topic.name for topic in topics.topics[-1])
    assert "Nachtbus" in names
    assert "Mieten" in names


def test_words_without_spaces_are_learnt_from_the_texts() -> None:
    texts = [f"{before}計程車{after}" for before in "在有看見他" for after in "很貴好多慢"] + [
        f"{before}司機{after}" for before in "這那每你我" for after in "辛苦人的是"
    ]
    words = learn_words(texts)
    assert {"計程車", "司機"} <= words
    assert segment("在計程車貴", words) == ["計程車"]
    assert [token.word for clause in tokens("那司機在計程車", words) for token in clause] == ["司機", "計程車"]


def test_texts_without_words_have_no_vectors() -> None:
    vectors = word_vectors(["", "🚌", "einmal"])
    assert not vectors[0].any()
    assert np.array_equal(vectors[1], vectors[2])
    assert known_share(local_embeddings(), ["", "🚌"]) is None
