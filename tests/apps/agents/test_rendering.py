"""Prompts and flows as texts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.apps.agents.errors import BadTemplate, BadVariable, MissingVariables
from gateleg.apps.agents.rendering import MAX_RENDERED_LENGTH, placeholders, preview, render


def test_variables_are_put_into_the_prompt_and_into_its_flow() -> None:
    found = render("TC {name} {flow_snippet}", {"name": "Bob"}, flow="FC {name}")
    assert (found.text, found.used, found.unused) == ("TC Bob FC Bob", ("name",), ())


def test_a_prompt_without_a_flow_has_nothing_in_its_place() -> None:
    assert render("A {flow_snippet}B", {}, flow=None).text == "A B"


def test_braces_that_hold_no_name_are_text_and_doubled_ones_stand_for_braces() -> None:
    flow = '{"steps": [{"id": 1, "next": {"to": "end"}}], "who": "{name}"}'
    assert render("{flow_snippet} {{name}}", {"name": "Ann"}, flow=flow).text == flow.replace("{name}", "Ann") + " {name}"


def test_values_are_never_read_as_templates() -> None:
    assert render("{a} {flow_snippet}", {"a": "{b} {flow_snippet}", "b": "x"}, flow="F").text == "{b} {flow_snippet} F"


@pytest.mark.parametrize(
    "template",
    ["{name.__class__}", "{name!r}", "{name:>10}", "{0}", "{{% for x in y %}}", "{name[0]}", "${name!s}", "%(name)s", "{}", "{ name }"],
)
def test_nothing_in_a_template_runs(template: str) -> None:
    assert render(template, {"name": "Bob"}).text == template


def test_missing_variables_are_all_named() -> None:
    with pytest.raises(MissingVariables, match="without a value: c, b") as refused:
        render("{a} {b} {flow_snippet}", {"a": 1}, flow="{c} {b}")
    assert sorted(refused.value.details["missing"]) == ["b", "c"]


def test_defaults_and_optional_variables_need_no_value() -> None:
    declared: list[dict[str, Any]] = [{"name": "tone", "default": "kind"}, {"name": "extra", "required": False}]
    assert render("Be {tone}.{extra}", {}, declared).text == "Be kind."
    assert render("Be {tone}.{extra}", {"tone": "brief", "extra": "!"}, declared).text == "Be brief.!"


@pytest.mark.parametrize(
    ("kind", "good", "text", "bad"),
    [
        ("string", "x", "x", 1),
        ("integer", 7, "7", True),
        ("number", 0.5, "0.5", "0.5"),
        ("boolean", True, "true", 1),
        ("list", ["a", 1], '["a", 1]', "a"),
        ("object", {"é": None}, '{"é": null}', []),
        ("int", 7, "7", 7.5),
    ],
)
def test_variables_have_types(kind: str, good: Any, text: str, bad: Any) -> None:
    declared = [{"name": "v", "type": kind}]
    assert render("{v}", {"v": good}, declared).text == text
    with pytest.raises(BadVariable, match="v must be"):
        render("{v}", {"v": bad}, declared)


def test_options_bound_the_values() -> None:
    declared = [{"name": "tone", "options": ["kind", "brief"]}]
    assert render("{tone}", {"tone": "kind"}, declared).text == "kind"
    with pytest.raises(BadVariable, match="tone must be one of kind, brief"):
        render("{tone}", {"tone": "rude"}, declared)


@pytest.mark.parametrize(
    "declared", [[{}], [{"name": "a b"}], [{"name": "a"}, {"name": "a"}], [{"name": "a", "type": "datetime"}], [{"name": "flow_snippet"}]]
)
def test_declarations_that_say_nothing_usable_are_refused(declared: list[dict[str, Any]]) -> None:
    with pytest.raises(BadTemplate):
        render("", {}, declared)


def test_a_flow_cannot_contain_itself_nor_a_text_grow_without_end() -> None:
    with pytest.raises(BadTemplate, match="include itself"):
        render("{flow_snippet}", {}, flow="a {flow_snippet}")
    with pytest.raises(BadTemplate, match="characters"):
        render("{a}{a}", {"a": "x" * (MAX_RENDERED_LENGTH // 2 + 1)})


def test_a_preview_shows_what_is_known_and_names_the_rest() -> None:
    found = preview("Hi {name}, {flow_snippet}", {"age": "x"}, [{"name": "age", "type": "integer"}], flow="go {where}")
    assert found.text == "Hi {name}, go {where}"
    assert (set(found.missing), found.problems, found.unused) == ({"name", "where"}, ("age must be an integer, got a string.",), ("age",))
    assert preview("x", {}, [{"name": "1"}]).problems


def test_a_variable_cannot_take_the_place_of_the_flow() -> None:
    assert render("{flow_snippet}", {"flow_snippet": "mine"}, flow="theirs").text == "theirs"


@given(st.text(alphabet="{}ab_ 1\n"))
def test_what_is_rendered_is_the_text_with_exactly_its_placeholders_replaced(template: str) -> None:
    values = dict.fromkeys(placeholders(template), "X")
    if "flow_snippet" in values:
        return
    text = render(template, values).text
    assert all("{" + name + "}" not in text or "{{" + name + "}}" in template for name in values)
    if not values and "{{" not in template:
        assert text == template
