from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from gateleg.apps.delphi.reports.findings import Findings
from gateleg.apps.delphi.reports.maps import consensus_map, groups_map, topics_map
from gateleg.apps.delphi.reports.palette import COLOURS, colour, division_colour, shape
from tests.apps.delphi.told import empty, findings

SVG = "{http://www.w3.org/2000/svg}"
MAPS = [topics_map, consensus_map, groups_map]


def _marks(picture: str) -> int:
    root = ElementTree.fromstring(picture)
    return sum(element.find(f"{SVG}title") is not None for element in root.iter() if element.tag in {f"{SVG}circle", f"{SVG}path"})


@pytest.mark.parametrize("draw", [topics_map, consensus_map])
def test_every_comment_is_on_the_map(draw: Any) -> None:
    assert _marks(draw(findings())) == len(findings().statements)


def test_every_participant_of_a_group_is_on_the_map() -> None:
    assert _marks(groups_map(findings())) >= findings().totals.grouped


@pytest.mark.parametrize("draw", MAPS)
def test_a_map_says_in_words_what_it_shows(draw: Any) -> None:
    root = ElementTree.fromstring(draw(findings()))
    assert root.get("role") == "img"
    assert len(root.get("aria-label") or "") > 40
    assert root.findtext(f"{SVG}title")


@pytest.mark.parametrize("draw", MAPS)
def test_a_map_of_nothing_can_be_drawn(draw: Any) -> None:
    assert ElementTree.fromstring(draw(empty())).tag == f"{SVG}svg"


def test_the_topics_of_any_layer_are_named() -> None:
    for layer, topics in enumerate(findings().topics):
        picture = topics_map(findings(), layer)
        assert all(topic.name in picture for topic in topics)


def _with_text(text: str) -> Findings:
    base = findings()
    number, statement = next(iter(base.statements.items()))
    return replace(base, statements={number: replace(statement, body=text)})


@pytest.mark.parametrize("text", ["</title><script>alert(1)</script>", "a\x00b\ud800", "مرحبا بالعالم", "\u202egnp.exe"])
def test_hostile_and_foreign_texts_stay_texts(text: str) -> None:
    root = ElementTree.fromstring(topics_map(_with_text(text)))
    assert not list(root.iter(f"{SVG}script"))


def test_more_topics_than_colours_have_different_shapes() -> None:
    looks = {(colour(number), shape(number)) for number in range(5 * len(COLOURS))}
    assert len(looks) == 5 * len(COLOURS)
    assert shape(-1) == "circle"


def test_colours_of_division_go_from_one_end_to_the_other() -> None:
    assert [division_colour(share) for share in (-1, 0, 0.5, 1, 2)] == ["#0072B2", "#0072B2", "#C9C9C9", "#D55E00", "#D55E00"]
