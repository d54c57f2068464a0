from enum import StrEnum
from typing import Any

import pytest
import strawberry
from graphql import execute_sync, parse, validate

from gateleg.apps.agents.graphql.enum_texts import with_enums


class Status(StrEnum):
    ACTIVE = "active"
    IN_PROGRESS = "in_progress"


strawberry.enum(Status, graphql_name_from="value")


@strawberry.type
class Query:
    @strawberry.field
    def one(self, status: Status | None = None, text: str | None = None) -> str:
        return f"{status!r} {text!r}"

    @strawberry.field
    def many(self, statuses: list[Status | None] | None = None) -> list[Status | None]:
        assert statuses is not None
        assert all(isinstance(one, Status) for one in statuses)
        return statuses


SCHEMA = strawberry.Schema(Query)._schema


def ask(query: str, **variables: Any) -> Any:
    document = with_enums(SCHEMA, parse(query))
    errors = validate(SCHEMA, document)
    if errors:
        return errors[0].message
    result = execute_sync(SCHEMA, document, variable_values=variables)
    return result.errors[0].message if result.errors else result.data


ONE = "<Status.ACTIVE: 'active'> None"


@pytest.mark.parametrize(
    ("query", "variables", "answer"),
    [
        ("{ one(status: active) }", {}, {"one": ONE}),
        ('{ one(status: "active") }', {}, {"one": ONE}),
        ("query q($s: String) { one(status: $s) }", {"s": "active"}, {"one": ONE}),
        ("query q($s: String!) { one(status: $s) }", {"s": "active"}, {"one": ONE}),
        ('query q($s: String = "active") { one(status: $s) }', {}, {"one": ONE}),
        ("query q($s: Status) { one(status: $s) }", {"s": "active"}, {"one": ONE}),
        ("query q($s: String) { ...F } fragment F on Query { one(status: $s) }", {"s": "active"}, {"one": ONE}),
        ('{ many(statuses: ["active", in_progress]) }', {}, {"many": ["active", "in_progress"]}),
        ('{ many(statuses: "active") }', {}, {"many": ["active"]}),
        ("query q($s: [String]) { many(statuses: $s) }", {"s": ["active"]}, {"many": ["active"]}),
        ("query q($s: [String!]!) { many(statuses: $s) }", {"s": ["in_progress"]}, {"many": ["in_progress"]}),
        ("query q($s: String) { many(statuses: [$s]) }", {"s": "active"}, {"many": ["active"]}),
        ('{ one(text: "active") }', {}, {"one": "None 'active'"}),
    ],
)
def test_texts_are_accepted_where_an_enum_is_expected(query: str, variables: dict[str, Any], answer: Any) -> None:
    assert ask(query, **variables) == answer


@pytest.mark.parametrize(
    ("query", "variables", "words"),
    [
        ('{ one(status: "gone") }', {}, "cannot represent non-enum value"),
        ("query q($s: String) { one(status: $s) }", {"s": "gone"}, "does not exist in 'Status' enum"),
        ("query q($s: Boolean) { one(status: $s) }", {"s": True}, "of type 'Boolean' used in position"),
        ("query q($s: String) { one(status: $s, text: $s) }", {"s": "active"}, "of type 'String' used in position"),
    ],
)
def test_anything_else_is_refused(query: str, variables: dict[str, Any], words: str) -> None:
    assert words in ask(query, **variables)
