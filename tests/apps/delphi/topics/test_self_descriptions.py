"""Which comments are suggested to moderators as being about their authors."""

from typing import Any

import pytest

from gateleg.apps.delphi.conversations.conversation import Comment
from gateleg.apps.delphi.topics.self_descriptions import MARGIN, suggest
from tests.apps.delphi.texts import local_embeddings


def suggested(*texts: str) -> list[str]:
    found = suggest([Comment(number, text) for number, text in enumerate(texts)], local_embeddings())
    return [texts[one.comment_id] for one in found]


def test_descriptions_of_oneself_are_suggested_with_a_reason() -> None:
    (one,) = suggest([Comment(7, "I live in a rural area"), Comment(8, "Rural areas need buses")], local_embeddings())
    assert (one.comment_id, one.kind, one.like) == (7, "life", "I live in the countryside.")
    assert one.margin >= MARGIN
    assert "“I live in the countryside.”" in one.reason


@pytest.mark.parametrize("text", ["I identify as female", "I am 55 years old or older", "I am a woman", "I am between 15 and 19 years old"])
def test_what_people_could_be_recognized_by_is_of_its_own_kind(text: str) -> None:
    (one,) = suggest([Comment(1, text)], local_embeddings())
    assert one.kind == "identity"


@pytest.mark.parametrize(
    "text",
    [
        "We use far more water than the river can give.",
        "I have no trust in the mayor.",
        "Ich bin gegen die neue Straße.",
        "We have too many cars in the city centre.",
        "Our public education is the best investment.",
        "My view is that buses should be free.",
        "I was shocked by the plan.",
        "I am tired of empty promises.",
        "We need doctors in villages.",
    ],
)
def test_opinions_in_the_first_person_are_not_suggested(text: str) -> None:
    assert suggested(text) == []


def test_what_moderators_have_decided_is_not_suggested() -> None:
    text = "I live in a rural area"
    comments = [Comment(1, text, moderated=-1), Comment(2, text, is_meta=True), Comment(3, " "), Comment(4, text, moderated=1)]
    assert [one.comment_id for one in suggest(comments, local_embeddings())] == [4]


def test_other_models_suggest_nothing_because_the_margin_is_not_fitted_for_them() -> None:
    class Other:
        model = "ollama:bge-m3"

    other: Any = Other()
    assert suggest([Comment(1, "I live in a rural area")], other) == ()
