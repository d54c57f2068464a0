import pytest

from gateleg.apps.delphi.topics.keywords import TokenizedTexts
from gateleg.apps.delphi.topics.names import NamingInput, name_from_keywords
from gateleg.apps.delphi.topics.phrases import mostly_negated, phrases_in, phrases_of

BUSES = ["The night bus is always late.", "We need a night bus on Sundays!", "My night bus never came", "More seats for the old"]
RENTS = ["Rents in the old town rise", "Nobody can pay rents in the old town", "Bicycles for all"]


def phrases(*topics: list[str]) -> list[tuple[str, ...]]:
    texts = [text for topic in topics for text in topic]
    return phrases_of(TokenizedTexts.of(texts), [number for number, topic in enumerate(topics) for _ in topic], len(topics))


def test_a_topic_is_named_by_words_in_a_row_that_its_comments_say() -> None:
    buses, rents = phrases(BUSES, RENTS)
    assert buses == ("night bus",)
    assert "old town" in rents[0]
    assert all(any(phrase in text.lower() for text in RENTS) for phrase in rents)


def test_what_one_comment_says_is_no_name() -> None:
    assert phrases(["The night bus is late", "Trams are slow"]) == [()]


def test_what_other_topics_say_as_often_names_none() -> None:
    assert phrases(["The city council sleeps", "Our city council sings"], ["A city council too many", "City council, resign"])[1] == ()


def test_a_verb_makes_a_sentence_and_no_phrase() -> None:
    [found] = phrases(["Taxes will reduce jobs", "These taxes will reduce wages", "We say taxes will reduce trade"])
    assert "taxes will reduce" not in found


def test_words_that_signs_divide_are_not_in_a_row() -> None:
    assert phrases(["Bus 15 stop closed", "Bus 16 stop open"]) == [()]


def test_a_phrase_without_spaces_is_written_as_its_comments_write_it() -> None:
    # The words are learnt from where they stand alone; together they are a phrase.
    beside = list(zip("我你他她們好天地", "快慢早晚上下左右", strict=True))
    texts = [f"{one}計程車{other}。{other}司機{one}。" for one, other in beside] + ["這計程車司機好", "那計程車司機累", "有計程車司機來"]
    [found] = phrases(texts)
    assert "計程車司機" in found


def test_copies_of_a_comment_make_no_phrase() -> None:
    assert phrases(["The night bus is late"] * 5) == [()]


def test_the_next_phrase_is_taken_when_the_first_is_another_topics_name() -> None:
    topic = NamingInput(["bus"], [], ["night bus", "bus stop"])
    assert name_from_keywords(topic, ()) == "Night bus"
    assert name_from_keywords(topic, {"night bus"}) == "Bus stop"
    assert name_from_keywords(topic, {"night bus", "bus stop"}) == "Bus"


SPENDING = [
    "Pay it in a manner which does not increase overall government expenditure",
    "It mustn't increase overall government expenditure",
]


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (SPENDING, "increase overall"),
        ([*SPENDING, "Increase overall government expenditure"], "increase overall"),
        (["Wir wollen keine neue Umgehungsstraße bauen", "Bitte nie eine neue Umgehungsstraße"], "neue Umgehungsstraße"),
        (["No night bus for us", "There should never be a night bus"], "night bus"),
    ],
)
def test_a_phrase_that_its_comments_negate_is_no_name(texts: list[str], name: str) -> None:
    assert not [phrase for found in phrases(texts) for phrase in found if name in phrase]
    tokenized = TokenizedTexts.of(texts)
    assert not [phrase for phrase in phrases_in(tokenized, 0) if name in phrase]
    assert mostly_negated(name, texts, tokenized.stops)


def test_a_phrase_that_one_of_many_negates_is_a_name() -> None:
    texts = [*BUSES[:3], "I will not take the night bus"]
    assert phrases(texts) == [("night bus",)]
    assert not mostly_negated("night bus", texts, TokenizedTexts.of(texts).stops)
    # A negation of another word, after the phrase, or in another clause, does not change what the phrase says.
    assert phrases(["The night bus is not late", "No, a night bus please"]) == [("night bus",)]
    assert not mostly_negated("Trams", texts, frozenset())


def test_no_name_of_a_topic_is_cut_from_a_negation() -> None:
    texts = [f"{text} in year {number}" for number, text in enumerate(SPENDING)] + ["Basic income is fair", "A basic income for all"]
    [found] = phrases(texts)
    topic = NamingInput(["expenditure", "income"], texts, found, central=phrases_in(TokenizedTexts.of(texts), 0))
    assert "increase" not in name_from_keywords(topic, ()).lower()
