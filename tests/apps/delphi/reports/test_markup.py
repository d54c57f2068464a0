from html.parser import HTMLParser
from xml.etree import ElementTree

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.apps.delphi.reports.markup import Markup, escape, json_script, raw, tag


class Reader(HTMLParser):
    """Reads a page the way a browser does, and remembers what it found."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@given(st.text(), st.text())
@settings(deadline=None)
def test_no_text_becomes_markup(text: str, value: str) -> None:
    read = Reader(tag("p", {"title": value}, text))
    assert read.tags == ["p"]
    assert [name for name, _ in read.attributes] == ["title"]


@given(st.text(alphabet=st.characters(codec="utf-8")))
@settings(deadline=None)
def test_whatever_the_text_the_picture_is_well_formed(text: str) -> None:
    ElementTree.fromstring(tag("svg", {"aria-label": text}, tag("title", None, text)))


@given(st.recursive(st.text(alphabet=st.characters(codec="utf-8")), lambda inner: st.lists(inner, max_size=3)))
@settings(deadline=None)
def test_data_for_scripts_cannot_end_the_element_and_is_what_it_was(data: object) -> None:
    script = json_script("data", {"x": data})
    assert script.count("<") == 2
    body = script.split(">", 1)[1].rsplit("<", 1)[0]
    assert orjson.loads(body) == {"x": data}


def test_signs_that_turn_the_direction_of_text_are_replaced() -> None:
    assert "\u202e" not in escape("abc\u202edef")


def test_attributes_are_left_out_or_stand_alone() -> None:
    assert tag("details", {"open": True, "id": None, "hidden": False}) == "<details open></details>"
    assert tag("br") == "<br>"
    assert tag("i", {"x": 1 / 3}) == '<i x="0.333333"></i>'


def test_children_may_be_nested_and_absent() -> None:
    assert tag("p", None, "a<", None, [raw("<b>"), "&"]) == "<p>a&lt;<b>&amp;</p>"
    assert isinstance(tag("p"), Markup)


def test_a_name_of_an_attribute_that_somebody_made_up_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a valid attribute name"):
        tag("p", {"x onload": "1"})
