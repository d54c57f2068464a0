import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.apps.delphi.topics.keywords import TokenizedTexts, keywords_of, tokens
from gateleg.apps.delphi.topics.stopwords import STOP_WORDS, languages_of, stop_words


def _terms(texts: list[str], topics: list[int], count: int = 2) -> list[list[str]]:
    return [[keyword.term for keyword in found] for found in keywords_of(TokenizedTexts.of(texts), topics, count)]


@given(st.text(alphabet="ab@. w\n/:", max_size=30).map(lambda text: text.replace("w", "www.")))
def test_links_and_addresses_are_left_out_wherever_they_stand(text: str) -> None:
    plain = re.sub(r"(?:https?://|www\.)\S+|\S+@\S+\.\S+", " ", text)
    assert list(tokens(text)) == list(tokens(plain))


def test_a_comment_of_very_many_signs_without_a_space_is_read_in_one_go() -> None:
    ((token,),) = tokens("é" * 500_000)
    assert len(token.word) == 500_000


def test_keywords_are_frequent_in_their_topic_and_rare_elsewhere() -> None:
    texts = [
        "The night bus is late",
        "A late night bus again",
        "Schools need teachers",
        "Teachers leave our schools",
        "The town is late with it",
    ]
    first, second = _terms(texts, [0, 0, 1, 1, 1])
    assert first[0] == "night bus"
    assert set(second[:2]) == {"schools", "teachers"}
    assert not {"the", "is", "our"} & {*first, *second}


def test_no_keyword_repeats_another() -> None:
    texts = ["parking meters", "a parking meter", "parking meters downtown", "parked cars", "trees", "a tree"]
    first, second = _terms(texts, [0, 0, 0, 0, 1, 1])
    assert first[0] == "parking meters"
    assert "parking" not in first
    assert not {"meter", "meters"} & set(first)
    assert len(second) == 1


def test_three_words_in_a_row_are_not_two_keywords() -> None:
    found = _terms(["our current electoral system", "the current electoral system", "current electoral system"], [0] * 3, 1)[0]
    assert sum("electoral" in term for term in found) == 1


def test_a_term_counts_once_for_each_comment_and_copies_count_once() -> None:
    texts = ["spam spam spam spam", "rent is high", "my rent doubled", *["buy pills"] * 50]
    assert _terms(texts, [0] * len(texts), 1)[0][0] == "rent"


def test_the_score_is_that_of_class_based_tf_idf() -> None:
    found = keywords_of(TokenizedTexts.of(["red", "red", "red blue", "blue green"]), [0, 0, 0, 1], 2)
    # Topic 0 has red twice (copies count once), blue and their pair; topic 1 has blue, green and their pair: 3.5 on average.
    assert [keyword.term for keyword in found[0]] == ["red", "blue"]
    assert found[0][0].score == pytest.approx(2 / 4 * math.log(1 + 3.5 / 2))


def test_links_addresses_and_numbers_are_no_words() -> None:
    words = [token.word for clause in tokens("See https://example.org/x?y=1 or mail me@example.org, 15 times") for token in clause]
    assert words == ["see", "or", "mail", "times"]


def test_names_and_abbreviations_keep_their_letters() -> None:
    texts = ["I trust the NHS", "We need the NHS now", "Leave the NHS alone", "The Buses are late"]
    assert _terms(texts, [0, 0, 0, 1])[0][0] == "NHS"


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("Die Mieten in der Stadt sind zu hoch, und die Mieten steigen", "mieten"),
        ("Les loyers sont trop chers dans la ville et les loyers montent", "loyers"),
        ("Los alquileres son muy caros y los alquileres no bajan", "alquileres"),
        ("Аренда в городе слишком дорогая, и аренда растет", "аренда"),
        ("الإيجار في المدينة هو مشكلة كبيرة و الإيجار مرتفع", "الإيجار"),
    ],
)
def test_stop_words_of_other_languages_are_left_out(text: str, term: str) -> None:
    found = [keyword.term.lower() for keyword in keywords_of(TokenizedTexts.of([text, text + "!"]), [0, 0], 1)[0]]
    assert term in {word for keyword in found for word in keyword.split(" ")}
    languages = languages_of(token.word for clause in tokens(text) for token in clause)
    assert not {word for keyword in found for word in keyword.split(" ")} & stop_words(languages[:1])


def test_text_without_spaces_has_keywords() -> None:
    found = _terms(["房租太高", "房租上涨", "公共交通"], [0, 0, 1])
    assert found[0][0] == "房租"


def test_a_language_is_told_by_its_stop_words() -> None:
    assert languages_of(["the", "house", "is", "not", "on", "the", "street", "and", "it", "is", "good"])[0] == "en"
    assert languages_of(["das", "haus", "ist", "nicht", "auf", "der", "straße", "und", "es", "ist", "gut"])[0] == "de"
    assert languages_of(["xyzzy"]) == ()
    assert all(word == word.lower() for words in STOP_WORDS.values() for word in words)


def test_no_texts_have_no_keywords() -> None:
    assert keywords_of(TokenizedTexts.of([]), [], 0) == []
    assert keywords_of(TokenizedTexts.of(["", "..."]), [0, -1], 1) == [()]


CHINESE = [
    f"{before}計程車{after}"
    for before in ("我覺得", "如果", "台北", "這些", "我有用過Uber的")
    for after in ("太貴", "不安全", "的司機", "要排班", "可以叫")
]


def test_pieces_of_chinese_sentences_are_not_keywords() -> None:
    (found,) = keywords_of(TokenizedTexts.of(CHINESE), [0] * len(CHINESE), 1)
    terms = [one.term.lower() for one in found]
    assert {"計程車", "uber"} <= set(terms)
    assert not [term for term in terms if term[0] in "的我如這" or term[-1] in "的我" or term == "可以"]


def test_a_latin_name_inside_of_chinese_is_a_word_of_its_own() -> None:
    words = [token.word for clause in tokens("我有用過Uber的叫車", frozenset({"叫車"})) for token in clause]
    assert words == ["uber", "叫車"]


def test_keywords_say_how_many_comments_of_the_topic_have_them() -> None:
    spoken = TokenizedTexts.of(["The night bus is late", "A night bus for all", "Trams, please", "The night bus is late"])
    (found,) = keywords_of(spoken, [0, 0, 0, 0], 1)
    assert {one.term: one.comments for one in found}["night bus"] == 2
