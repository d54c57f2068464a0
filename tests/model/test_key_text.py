from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.model.errors import (
    DelimiterInValue,
    EmptyKey,
    FloatInKey,
    KeyMismatch,
    KeyRangeError,
    KeyValueError,
    MissingComponent,
    ModelError,
    TemplateError,
)
from gateleg.model.key_parts import TextKey, build_text_key
from gateleg.model.key_text import HIGH, Component, IntegerComponent, TextComponent, compile_render, just_before, parse_template
from gateleg.model.types import read_annotation

keyable_text = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" ", exclude_characters="#" + HIGH), min_size=1)
instants = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 1, 1)).map(lambda value: value.replace(tzinfo=UTC))


def text_key(template: str, **types: Any) -> TextKey:
    return build_text_key(parse_template(template), lambda name: read_annotation(types[name]))


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


def test_a_template_builds_its_text() -> None:
    assert text_key("PROJECT#{id}#{n:03d}", id=str, n=int).build({"id": "a", "n": 7}) == "PROJECT#a#007"


def test_a_template_without_placeholders_is_its_own_text() -> None:
    assert text_key("METADATA").build({}) == "METADATA"


@given(a=keyable_text, n=st.integers(0, 99999), at=instants, u=st.uuids())
def test_parsing_reverses_building(a: str, n: int, at: datetime, u: UUID) -> None:
    key = text_key("X#{a}#{n:05d}#{at}#{u}", a=str, n=int, at=datetime, u=UUID)
    values = {"a": a, "n": n, "at": at, "u": u}
    assert key.parse(key.build(values)) == values


@given(at=instants, n=st.integers(0, 999))
def test_descending_components_parse_back(at: datetime, n: int) -> None:
    key = text_key("{at:desc}#{n:03d:desc}", at=datetime, n=int)
    assert key.parse(key.build({"at": at, "n": n})) == {"at": at, "n": n}


@pytest.mark.parametrize(
    ("template", "values"),
    [
        ("N#{v:06d}", st.integers(0, 999999)),
        ("T#{v}", instants),
        ("F#{v:012.2f}", st.decimals(0, 99999999, places=2, allow_nan=False, allow_infinity=False)),
    ],
)
@given(data=st.data())
def test_text_order_is_value_order(template: str, values: st.SearchStrategy[Any], data: st.DataObject) -> None:
    one, other = data.draw(values), data.draw(values)
    kind = {int: int, datetime: datetime, Decimal: Decimal}[type(one)]
    key = text_key(template, v=kind)
    assert (key.build({"v": one}) < key.build({"v": other})) == (one < other)


@given(one=instants, other=instants)
def test_descending_text_order_is_reverse_value_order(one: datetime, other: datetime) -> None:
    key = text_key("{v:desc}", v=datetime)
    assert (key.build({"v": one}) < key.build({"v": other})) == (one > other)


@given(a=keyable_text, b=keyable_text, c=keyable_text, d=keyable_text)
def test_different_values_have_different_keys(a: str, b: str, c: str, d: str) -> None:
    key = text_key("{a}#{b}", a=str, b=str)
    assert (key.build({"a": a, "b": b}) == key.build({"a": c, "b": d})) == ((a, b) == (c, d))


def test_a_value_with_the_delimiter_is_refused_naming_the_template() -> None:
    with pytest.raises(DelimiterInValue, match=r"\{a\}#\{b\}"):
        text_key("{a}#{b}", a=str, b=str).build({"a": "x#y", "b": "z"})


def test_an_empty_component_is_refused() -> None:
    with pytest.raises(EmptyKey):
        text_key("A#{a}", a=str).build({"a": ""})


@pytest.mark.parametrize("value", [1000, -1])
def test_a_number_beyond_its_width_is_refused_naming_the_range(value: int) -> None:
    with pytest.raises(KeyRangeError, match="0 to 999"):
        text_key("SCENE#{n:03d}", n=int).build({"n": value})


def test_a_decimal_finer_than_its_places_is_refused() -> None:
    with pytest.raises(KeyRangeError):
        text_key("P#{p:08.2f}", p=Decimal).build({"p": Decimal("1.005")})


def test_a_missing_component_is_named() -> None:
    with pytest.raises(MissingComponent, match="needs n"):
        text_key("S#{n:03d}", n=int).build({})


def test_text_that_is_not_of_the_form_does_not_parse() -> None:
    with pytest.raises(KeyMismatch):
        text_key("SCENE#{n:03d}", n=int).parse("SCENE#12")


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(KeyValueError):
        text_key("A#{a}", a=str).build({"a": 3})


def test_the_prefix_ends_with_the_literal_before_the_missing_component() -> None:
    key = text_key("B#{building}#R#{room}", building=str, room=str)
    assert key.build_prefix({"building": "f34"}) == ("B#f34#R#", 1)


def test_case_can_be_folded() -> None:
    assert text_key("U#{name:lower}", name=str).build({"name": "ÄBC"}) == "U#äbc"


def test_a_day_of_a_time_is_the_day_in_utc() -> None:
    assert text_key("D#{at:date}", at=datetime).build({"at": datetime.fromisoformat("2026-01-02T00:30:00+01:00")}) == "D#2026-01-01"


def test_enumerations_stand_as_their_values() -> None:
    key = text_key("C#{c}#{f}", c=Colour, f=bool)
    assert key.build({"c": Colour.BLUE, "f": True}) == "C#blue#true"
    assert key.parse("C#red#false") == {"c": Colour.RED, "f": False}


@pytest.mark.parametrize("text", ["", "{", "A}", "{a", "{a}{a}", "{1a}"])
def test_malformed_templates_are_refused(text: str) -> None:
    with pytest.raises(TemplateError):
        parse_template(text)


def test_components_without_a_separator_are_refused() -> None:
    with pytest.raises(TemplateError, match="nothing separates"):
        text_key("{a}{b}", a=str, b=str)


def test_components_of_fixed_width_need_no_separator() -> None:
    key = text_key("{n:03d}{a}", n=int, a=str)
    assert key.parse("007x1") == {"n": 7, "a": "x1"}


@pytest.mark.parametrize(
    ("form", "kind"), [("{a:03d}", str), ("{a:x}", int), ("{a:desc}", UUID), ("{a}#", bytes), ("{a}#", dict[str, int])]
)
def test_formats_that_a_type_does_not_have_are_refused(form: str, kind: Any) -> None:
    with pytest.raises(TemplateError):
        text_key(form, a=kind)


def test_a_float_without_format_is_refused() -> None:
    with pytest.raises(FloatInKey):
        text_key("P#{a}", a=float)


def test_an_enumeration_whose_value_holds_the_delimiter_is_refused() -> None:
    class Odd(Enum):
        HASH = "a#b"

    with pytest.raises(TemplateError, match="contains a delimiter"):
        text_key("{a}#x", a=Odd)


Compare = Callable[[int, int], bool]
OPERATORS: dict[str, Compare] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
}


def satisfies(text: str, clause: tuple[str, ...]) -> bool:
    operator, *operands = clause
    if operator == "BETWEEN":
        return operands[0] <= text <= operands[1]
    if operator == "begins_with":
        return text.startswith(operands[0])
    return {
        "<": text < operands[0],
        "<=": text <= operands[0],
        ">": text > operands[0],
        ">=": text >= operands[0],
        "=": text == operands[0],
    }[operator]


@pytest.mark.parametrize(
    "template",
    ["{v:03d}", "S#{v:03d}", "{v:03d}#{tail}", "S#{v:03d}#{tail}", "S#{v:03d:desc}", "S#{v:03d:desc}#{tail}", "{v:03d:desc}#{tail}"],
)
@given(value=st.integers(0, 999), bound=st.integers(0, 999), operator=st.sampled_from(sorted(OPERATORS)), tail=keyable_text)
def test_a_bound_selects_exactly_the_values_it_means(template: str, value: int, bound: int, operator: str, tail: str) -> None:
    key = text_key(template, v=int, tail=str)
    text = key.build({"v": value, "tail": tail})
    clause = key.range_of(key.template.prefix, 0, operator, (bound,))
    assert satisfies(text, clause) == OPERATORS[operator](value, bound)
    # An empty text is no key, and refused as a bound of one.
    assert all(clause)


@given(value=st.integers(0, 999), low=st.integers(0, 999), high=st.integers(0, 999), tail=keyable_text)
def test_between_selects_exactly_the_values_between(value: int, low: int, high: int, tail: str) -> None:
    key = text_key("S#{v:03d}#{tail}", v=int, tail=str)
    clause = key.range_of("S#", 0, "BETWEEN", (low, high))
    assert satisfies(key.build({"v": value, "tail": tail}), clause) == (low <= value <= high)


@given(value=keyable_text, bound=keyable_text, operator=st.sampled_from(sorted(OPERATORS)))
def test_a_bound_on_last_text_selects_exactly_the_values_it_means(value: str, bound: str, operator: str) -> None:
    key = text_key("S#{v}", v=str)
    expected = {"<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound, "=": value == bound}[operator]
    assert satisfies(f"S#{value}", key.range_of("S#", 0, operator, (bound,))) == expected


def test_a_bound_does_not_leave_the_prefix() -> None:
    key = text_key("SCENE#{n:03d}", n=int)
    assert not satisfies("TAKE#001", key.range_of("SCENE#", 0, ">=", (3,)))
    assert not satisfies("METADATA", key.range_of("SCENE#", 0, "<", (3,)))


@given(text=st.text(min_size=1).filter(lambda text: HIGH not in text))
def test_just_before_sorts_before(text: str) -> None:
    assert just_before(text) < text


def test_times_before_1970_cannot_count_down() -> None:
    with pytest.raises(KeyRangeError):
        text_key("{at:desc}", at=datetime).build({"at": datetime(1970, 1, 1, tzinfo=UTC) - timedelta(microseconds=1)})


@pytest.mark.parametrize(
    "component",
    [
        TextComponent("x", "#"),
        TextComponent("x", "#/"),
        TextComponent("x", "#", fold="lower"),
        IntegerComponent("x", 3),
        IntegerComponent("x", 3, descending=True),
        IntegerComponent("x"),
    ],
)
@given(value=st.one_of(st.text("aB#/\U0010ffffé", max_size=3), st.integers(-2, 1001), st.booleans(), st.none(), st.floats(0, 5)))
def test_the_compiled_render_function_has_the_same_results(component: Component, value: Any) -> None:
    def outcome(render: Callable[[Any], str]) -> Any:
        try:
            return render(value)
        except (ModelError, TypeError, ValueError) as error:
            return type(error), str(error)

    assert outcome(compile_render(component)) == outcome(component.render)
