from datetime import date
from enum import StrEnum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError, create_model

from gateleg.web.console.forms import FormField, InvalidInput, form_fields, problems_by_field, read, read_all


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    depth: int = 1


class Everything(BaseModel):
    name: str = Field(min_length=1, description="What it is called")
    count: int = Field(default=3, ge=1, le=9)
    ratio: float = 0.5
    loud: bool = True
    quality: Literal["draft", "final"] = "draft"
    colour: Colour | None = None
    words: list[str] = Field(default_factory=list)
    days: list[Literal["mon", "tue"]] = Field(default_factory=list, json_schema_extra={"labels": {"mon": "Monday"}})
    inner: Inner = Field(default_factory=Inner)
    day: date | None = None
    maybe: int | None = None
    long_name_of_it: str = ""


def asked(name: str, values: dict[str, Any] | None = None) -> FormField:
    return next(one for one in form_fields(Everything, values) if one.name == name)


@pytest.mark.parametrize(
    ("name", "form", "control"),
    [
        ("name", "string", "text"),
        ("count", "integer", "number"),
        ("ratio", "number", "number"),
        ("loud", "boolean", "tick"),
        ("quality", "string", "choice"),
        ("colour", "string", "choice"),
        ("words", "strings", "area"),
        ("days", "choices", "ticks"),
        ("inner", "json", "area"),
        ("day", "string", "text"),
        ("maybe", "integer", "number"),
    ],
)
def test_every_kind_of_field_has_its_control(name: str, form: str, control: str) -> None:
    one = asked(name)
    assert (one.form, one.control) == (form, control)


def test_defaults_bounds_and_descriptions_are_shown() -> None:
    assert asked("name").required
    assert asked("name").hint == "What it is called"
    assert (asked("count").start, asked("count").least, asked("count").most, asked("count").hint) == ("3", 1, 9, "From 1 to 9")
    assert asked("quality").choices == (("draft", "draft"), ("final", "final"))
    assert asked("colour").choices == (("", "not set"), ("red", "red"), ("blue", "blue"))
    assert asked("long_name_of_it").label == "Long name of it"


def test_values_of_an_earlier_job_fill_the_form() -> None:
    values = {"name": "Mix", "words": ["a", "b"], "inner": {"depth": 4}, "loud": False, "colour": "blue"}
    assert asked("name", values).start == "Mix"
    assert asked("words", values).start == "a\nb"
    assert asked("inner", values).start == '{\n  "depth": 4\n}'
    assert asked("loud", values).start is False
    assert asked("colour", values).start == "blue"


def test_the_form_as_it_stands_makes_the_models_own_values() -> None:
    fields = form_fields(Everything, {"name": "x"})
    values, wrong = read_all(fields, {one.name: one.start for one in fields})
    assert wrong == {}
    assert Everything.model_validate(values) == Everything(name="x")


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("name", " spaced ", " spaced "),
        ("count", "7", 7),
        ("count", "", None),
        ("ratio", "1e3", 1000.0),
        ("words", "a\n\n b \n", ["a", "b"]),
        ("words", "", []),
        ("inner", '{"depth": 2}', {"depth": 2}),
        ("loud", True, True),
        ("colour", "", None),
    ],
)
def test_what_is_typed_is_read(name: str, typed: str | bool, value: Any) -> None:
    assert read(asked(name), typed) == value


@pytest.mark.parametrize(
    ("name", "typed", "why"),
    [
        ("count", "7.5", "whole number"),
        ("count", "many", "whole number"),
        ("ratio", "half", "Enter a number"),
        ("inner", '{"depth"', "not JSON"),
    ],
)
def test_what_cannot_be_read_says_why(name: str, typed: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        read(asked(name), typed)


def test_all_that_is_wrong_is_told_at_once_and_by_field() -> None:
    fields = form_fields(Everything)
    values, wrong = read_all(fields, {"name": "", "count": "many", "ratio": "2"})
    assert wrong == {"name": "This field is required.", "count": "Enter a whole number."}
    assert values["ratio"] == 2


def test_what_the_model_refuses_is_told_at_the_field() -> None:
    with pytest.raises(ValidationError) as caught:
        Everything.model_validate({"name": "x", "count": 99, "inner": {"depth": "deep"}})
    found = problems_by_field([dict(problem) for problem in caught.value.errors()])
    assert set(found) == {"count", "inner"}
    assert "depth" in found["inner"]


def test_a_problem_of_the_whole_has_no_field() -> None:
    assert problems_by_field([{"loc": (), "msg": "not both"}]) == {"": "not both"}


def test_any_of_several_choices_can_be_ticked() -> None:
    days = asked("days", {"days": ["tue"]})
    assert days.choices == (("mon", "Monday"), ("tue", "tue"))
    assert days.start == ["tue"]
    assert read(days, ["mon", "tue"]) == ["mon", "tue"]
    assert read(days, []) == []


@pytest.mark.parametrize(
    ("description", "hint"),
    [("the model of the provider", "The model of the provider"), ("s3://bucket or a folder", "s3://bucket or a folder"), ("", "")],
)
def test_hints_begin_with_a_capital_unless_they_begin_with_a_name(description: str, hint: str) -> None:
    model = create_model("Model", name=(str, Field(description=description)))
    assert form_fields(model)[0].hint == hint
