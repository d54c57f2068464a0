from __future__ import annotations

import pytest

from gateleg.apps.mv.drawing.sentences import Vocabulary, parse_sentence, participle


@pytest.mark.parametrize(
    ("text", "nouns", "verbs"),
    [
        ("a boxer trains alone", ["boxer"], ["training"]),
        ("the train leaves the station", ["train", "station"], ["leaving"]),
        ("train tracks in fog", ["tracks", "fog"], []),
        ("an owl watches over the graveyard", ["owl", "graveyard"], ["watching"]),
        ("he watches the clock", ["he", "clock"], ["watching"]),
        ("elephants walk across the savanna", ["elephants", "savanna"], ["walking"]),
        ("children fly kites", ["children", "kites"], ["flying"]),
        ("the pigeons leave", ["pigeons"], ["leaving"]),
        ("the carnival leaves town", ["carnival", "town"], ["leaving"]),
        ("my heart is a locked door", ["heart", "door"], []),
        ("a piano burning on the beach", ["piano", "beach"], ["burning"]),
        ("coffee on a Sunday morning", ["coffee", "morning"], []),
        ("the king lost his crown", ["king", "crown"], ["lost"]),
        ("she slowly opens grandmother's letters", ["she", "letters"], ["opening"]),
        ("\u5317\u4eac", ["\u5317\u4eac"], []),
        ("", [], []),
    ],
)
def test_neighbours_tell_nouns_from_verbs(text: str, nouns: list[str], verbs: list[str]) -> None:
    reading = parse_sentence(text)
    assert [noun for _, noun in reading.nouns] == nouns
    assert list(reading.verbs) == verbs


@pytest.mark.parametrize(
    ("text", "nouns", "verbs"),
    [
        ("a girl and her little dog walk home", ["girl", "dog", "home"], ["walking"]),
        ("he and his dog watch the sea", ["he", "dog", "sea"], ["watching"]),
        ("a girl walks her dog home", ["girl", "dog"], ["walking"]),
        ("a man and his dog house", ["man", "house"], []),
        ("a boy and his toy boat on the lake", ["boy", "boat", "lake"], []),
    ],
)
def test_a_known_figure_after_and_is_a_subject(text: str, nouns: list[str], verbs: list[str]) -> None:
    parsed = parse_sentence(text, Vocabulary(figures=frozenset({"dog"}), things=frozenset({"house"})))
    assert [noun for _, noun in parsed.nouns] == nouns
    assert list(parsed.verbs) == verbs


def test_nouns_keep_what_describes_them() -> None:
    assert parse_sentence("an old lighthouse keeper in a winter storm").nouns == (
        ("old lighthouse keeper", "keeper"),
        ("winter storm", "storm"),
    )


def test_verbs_stand_in_a_form_that_means_nothing_else() -> None:
    assert parse_sentence("A boxer trains alone, and she lights a fire").plain == "A boxer training alone, and she lighting a fire"


@pytest.mark.parametrize(
    ("verb", "form"), [("runs", "running"), ("flies", "flying"), ("dances", "dancing"), ("crosses", "crossing"), ("told", "told")]
)
def test_participles(verb: str, form: str) -> None:
    assert participle(verb) == form
