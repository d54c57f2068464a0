from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
import strawberry
from graphql import GraphQLError
from hypothesis import given
from hypothesis import strategies as some
from strawberry.schema.config import StrawberryConfig

from gateleg.apps.agents.graphql.scalars import (
    JSON,
    JSON_SCALAR,
    Verbatim,
    check_json,
    renamed_schema,
    shown_name,
    stored_name,
    to_shown,
    to_stored,
)

plain = some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | some.text(max_size=5)
#: Keys that are not in snake case: those of clients.
keys = some.text("abAB_-$1é", max_size=6).filter(lambda key: shown_name(key) == key)
documents = some.recursive(plain, lambda inner: some.lists(inner, max_size=3) | some.dictionaries(keys, inner, max_size=3), max_leaves=6)


@given(documents)
def test_what_a_client_sends_comes_back(value: Any) -> None:
    assert to_shown(to_stored(value)) == value


@pytest.mark.parametrize(
    ("key", "stored"),
    [("maxTokens", "max_tokens"), ("topP", "top_p"), ("name", "name"), ("myURL", "my_u_r_l"), ("x1Y2", "x1_y2")],
)
def test_names_in_camel_case_are_stored_in_snake_case(key: str, stored: str) -> None:
    assert (stored_name(key), shown_name(stored)) == (stored, key)


@pytest.mark.parametrize("key", ["X-Api-Key", "Content-Type", "URL", "$ref", "a b", "_id", "__x", "Über", "top_1", "é_a", ""])
def test_other_keys_stay(key: str) -> None:
    assert (stored_name(key), shown_name(key)) == (key, key)


def test_headers_keep_all_their_names() -> None:
    assert to_shown(Verbatim({"x_api_key": "1", "xApiKey": "2"})) == {"x_api_key": "1", "xApiKey": "2"}


def test_numbers_and_times_of_the_store_are_those_of_json() -> None:
    stored = {"n": Decimal("5"), "half": Decimal("0.5"), "at": datetime(2026, 1, 2, tzinfo=UTC)}
    assert to_shown(stored) == {"n": 5, "half": 0.5, "at": "2026-01-02T00:00:00+00:00"}


def test_two_keys_that_mean_the_same_are_refused() -> None:
    with pytest.raises(GraphQLError, match="'maxTokens' and 'max_tokens'"):
        to_stored({"a": [{"maxTokens": 1, "max_tokens": 2}]})


def test_json_that_cannot_be_stored_is_refused() -> None:
    deep: Any = 1
    for _ in range(31):
        deep = [deep]
    for value, words in ((deep, "30 levels"), ([float("nan")], "nan is not"), ({"a": float("inf")}, "inf is not")):
        with pytest.raises(GraphQLError, match=words):
            check_json(value)


@strawberry.type
class Query:
    @strawberry.field
    def echo(self, value: JSON, others: list[JSON | None] | None = None) -> list[JSON | None]:
        return [value, *(others or [])]


SCHEMA = strawberry.Schema(Query, config=StrawberryConfig(scalar_map={JSON: JSON_SCALAR}))


@pytest.mark.parametrize(
    ("query", "variables", "answer"),
    [
        (
            "{ echo(value: {maxTokens: 5, half: 0.5, tags: [a, null]}) }",
            {},
            [{"maxTokens": 5, "half": 0.5, "tags": ["a", None]}],
        ),
        (
            "query q($a: JSONCamelCase) { echo(value: {a: $a, b: [$a]}) }",
            {"a": {"X-Y": 1}},
            [{"a": {"X-Y": 1}, "b": [{"X-Y": 1}]}],
        ),
        (
            "query q($v: JSONCamelCase!, $o: [JSONCamelCase]) { echo(value: $v, others: $o) }",
            {"v": 12345678901234567890, "o": ["x", None, 1.0]},
            [12345678901234567890, "x", None, 1.0],
        ),
    ],
)
def test_values_are_read_inline_and_from_variables(query: str, variables: dict[str, Any], answer: Any) -> None:
    result = SCHEMA.execute_sync(query, variable_values=variables)
    assert (result.errors, result.data) == (None, {"echo": answer})


def test_a_schema_has_the_names_of_what_is_stored_and_keeps_its_own_words() -> None:
    schema = {"type": "object", "additionalProperties": False, "required": ["topP"], "properties": {"topP": {"minLength": 1}, "X-Y": {}}}
    stored = {"type": "object", "additionalProperties": False, "required": ["top_p"], "properties": {"top_p": {"minLength": 1}, "X-Y": {}}}
    assert renamed_schema(schema, stored_name) == stored
    assert renamed_schema(stored, shown_name) == schema
