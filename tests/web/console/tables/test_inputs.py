"""Fields of forms: the kind for a type, and the way between texts and values."""

from base64 import b64encode
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from gateleg.model import KeyPart, S3Key
from gateleg.model.types import read_annotation
from gateleg.web.console.tables.inputs import BadText, Input, input_for, text_of, value_of
from tests.web.console.tables.library import BookStatus, Cover


class Size(IntEnum):
    """Sizes by number."""

    SMALL = 1
    LARGE = 2


class Place(KeyPart, template="{city}#{street}"):
    """A place."""

    city: str
    street: str


def made(annotation: Any) -> Input:
    """The field of a type."""
    return input_for("x", annotation, read_annotation(annotation))


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (str, "text"),
        (str | None, "text"),
        (S3Key, "key"),
        (int, "number"),
        (Decimal, "number"),
        (bool, "flag"),
        (datetime, "time"),
        (date, "date"),
        (UUID | None, "id"),
        (bytes, "binary"),
        (BookStatus, "choice"),
        (Literal["a", "b"], "choice"),
        (list[str], "json"),
        (dict[str, Any], "json"),
        (Cover | None, "json"),
        (int | str, "json"),
        (Any, "json"),
        (Place, "text"),
    ],
)
def test_a_type_has_a_kind_of_field(annotation: Any, kind: str) -> None:
    assert made(annotation).kind == kind


def test_a_choice_offers_the_stored_values() -> None:
    assert made(BookStatus).options == ("shelved", "lent", "mended", "lost")
    assert made(Size).options == ("1", "2")
    assert made(bool).options == ("true", "false")


def test_a_key_part_shows_its_form() -> None:
    assert made(Place).hint == "{city}#{street}"


@given(
    st.one_of(
        st.tuples(st.just(int), st.integers(-(10**30), 10**30)),
        st.tuples(st.just(bool), st.booleans()),
        st.tuples(st.just(float), st.floats(allow_nan=False, allow_infinity=False)),
        st.tuples(st.just(str), st.text()),
        st.tuples(st.just(bytes), st.binary()),
        st.tuples(st.just(UUID), st.uuids()),
        st.tuples(st.just(date), st.dates()),
        st.tuples(st.just(datetime), st.datetimes(timezones=st.just(UTC))),
        st.tuples(st.just(BookStatus), st.sampled_from(BookStatus)),
        st.tuples(st.just(Size), st.sampled_from(Size)),
        st.tuples(st.just(list[str]), st.lists(st.text())),
        st.tuples(st.just(dict[str, int]), st.dictionaries(st.text(), st.integers(-(2**53), 2**53))),
    )
)
def test_a_value_comes_back_from_its_text(case: tuple[Any, Any]) -> None:
    annotation, value = case
    entry, declared = made(annotation), read_annotation(annotation)
    assert TypeAdapter(annotation).validate_python(value_of(entry, text_of(entry, value), declared)) == value


def test_a_time_without_a_zone_is_utc() -> None:
    moment = value_of(made(datetime), "2026-01-31 12:00", read_annotation(datetime))
    assert moment == datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_a_time_is_shown_in_utc() -> None:
    moment = datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2)))
    assert text_of(made(datetime), moment) == "2026-01-31T10:00:00Z"


def test_nothing_is_shown_for_none() -> None:
    assert text_of(made(str | None), None) == ""


@pytest.mark.parametrize(
    ("annotation", "text", "says"),
    [
        (datetime, "yesterday", "Not a valid time"),
        (bytes, "%%%", "Not valid base64"),
        (list[str], "[1,", "Not valid JSON"),
        (BookStatus, "stolen", "Choose one of shelved, lent"),
    ],
)
def test_text_that_cannot_be_a_value_is_refused_in_words(annotation: Any, text: str, says: str) -> None:
    with pytest.raises(BadText, match=says):
        value_of(made(annotation), text, read_annotation(annotation))


def test_binary_is_base64() -> None:
    assert text_of(made(bytes), b"\x00\xff") == b64encode(b"\x00\xff").decode()
