"""From text to words of the index."""

import pytest

from gateleg.apps.rag.index.analysis import analyse, language_of, query_words


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "Connections", "connected"),
        ("de", "Häuser", "Haus"),
        ("fr", "générations", "génération"),
        ("es", "canciones", "canción"),
        ("ru", "книги", "книга"),
        ("xx", "Crème", "creme"),
    ],
)
def test_forms_of_a_word_are_one_word(language: str, one: str, other: str) -> None:
    assert analyse(one, language) == analyse(other, language)


def test_accents_and_case_make_no_difference() -> None:
    assert analyse("CAFÉ", "fr") == analyse("cafe", "fr")


def test_words_are_runs_of_letters_and_digits() -> None:
    assert analyse("E-1042: the pump's lamp_off", "en") == ["e", "1042", "the", "pump", "lamp", "off"]


def test_languages_without_spaces_are_cut_into_pairs() -> None:
    assert analyse("東京都", "ja") == ["東京", "京都"]
    assert query_words("京都", ["ja"]) == {("京都",): 1}


def test_a_query_is_without_stop_words_unless_it_has_nothing_else() -> None:
    assert query_words("what is the pump of the pumps?", ["en"]) == {("pump",): 2}
    assert query_words("what is this", ["en"]) == {("what",): 1, ("is",): 1, ("this",): 1}


def test_a_query_has_the_forms_of_all_languages() -> None:
    assert query_words("Häuser running", ["en", "de"]) == {("hauser", "haus"): 1, ("run", "running"): 1}


def test_a_tag_of_a_language() -> None:
    assert [language_of(tag) for tag in (None, "de-CH", "EN_us")] == ["en", "de", "en"]
