"""What a question asks about, and words that stand for each other."""

import pytest

from gateleg.apps.rag.answering.questions import parse_question
from gateleg.apps.rag.answering.vocabulary import are_opposites, relatives


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How many tags may a collection have?", "count"),
        ("How often is the filter cleaned?", "frequency"),
        ("How long does the warranty last?", "duration"),
        ("What is the price of the pump?", "number"),
        ("When does the office open?", "time"),
        ("What colour is the lamp when the machine is ready?", "colour"),
        ("Where is the office?", "place"),
        ("Why was the budget reduced?", "reason"),
        ("How do I change the bulb?", "steps"),
        ("What does E42 mean?", None),
    ],
)
def test_the_kind_of_answer_that_is_wanted(question: str, wanted: str | None) -> None:
    assert parse_question(question).answer_type == wanted


def test_what_a_question_is_about() -> None:
    found = parse_question("What is the price of the pump P-100?")
    assert (found.words, found.facts, found.phrases) == ((("price",), ("pump",), ("p", "100")), ("P-100",), ("the price", "the pump P-100"))
    assert parse_question("How long does the warranty last?").phrases == ("the warranty",)
    assert not parse_question("Wie lange dauert die Garantie?").english


def test_forms_of_a_verb_and_words_for_a_quantity_are_related() -> None:
    assert "sank" in relatives("sink")
    assert "kg" in relatives("heavi")
    assert "sank" not in relatives("heavi")


def test_opposites_do_not_stand_for_each_other() -> None:
    assert are_opposites("new", "old")
    assert are_opposites("old", "new")
    assert not are_opposites("new", "young")


def test_an_amount_need_not_be_called_high() -> None:
    assert parse_question("How high is the deposit of the flat?").words == (("deposit",), ("flat",))
    assert parse_question("How high is the tower?").words == (("high",), ("tower",))
