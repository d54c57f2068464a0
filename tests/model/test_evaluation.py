"""Conditions evaluated in Python have the same result as in DynamoDB: compared with the engine, which has another evaluator."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.engine import Engine
from gateleg.model import Attr, Condition, Entity, Item, Key, Table, field
from gateleg.model.expressions import Placeholders
from gateleg.model.expressions.evaluation import is_satisfied

things = Table("Things", hash="id")


class Thing(Entity, table=things):
    id: Attr[str]
    text: Attr[str | None] = field(None)
    other: Attr[str | None] = field(None)
    number: Attr[int | None] = field(None)
    data: Attr[bytes | None] = field(None)
    names: Attr[set[str] | None] = field(None)
    rows: Attr[list[int] | None] = field(None)
    flag: Attr[bool | None] = field(None)

    key = Key("{id}")


VALUES: list[Any] = [
    {"S": "a"},
    {"S": "ab"},
    {"S": "ä"},
    {"N": "1"},
    {"N": "1.0"},
    {"N": "-2"},
    {"N": "10"},
    {"B": "AA=="},
    {"B": "AAE="},
    {"SS": ["a", "b"]},
    {"SS": ["b", "a"]},
    {"NS": ["1", "2"]},
    {"BOOL": True},
    {"NULL": True},
    {"L": [{"N": "1"}, {"N": "2"}]},
    {"M": {"a": {"N": "1"}}},
]
CONDITIONS: list[Condition] = [
    Thing.text == "a",
    Thing.text != "a",
    Thing.text > "a",
    Thing.text <= "ab",
    Thing.text == Thing.other,
    Thing.text != Thing.other,
    Thing.number >= 1,
    Thing.number < 10,
    Thing.number == 1,
    Thing.number.between(-2, 1),
    Thing.number.is_in([1, 10]),
    Thing.data > b"\x00",
    Thing.data == b"\x00",
    Thing.text.begins_with("a"),
    Thing.text.contains("b"),
    Thing.names.contains("b"),
    Thing.names == {"a", "b"},
    Thing.rows.contains(1),
    Thing.rows == [1, 2],
    Thing.rows[0] == 1,
    Thing.flag == True,  # noqa: E712
    Thing.text.size() > 1,
    Thing.rows.size() == 2,
    Thing.names.size() < 3,
    Thing.data.size() == 1,
    Thing.text == None,  # noqa: E711
    Thing.number != None,  # noqa: E711
]
Names = st.sampled_from(["text", "other", "number", "data", "names", "rows", "flag"])


def combined() -> st.SearchStrategy[Condition]:
    leaf = st.sampled_from(CONDITIONS)
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
            st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
            inner.map(lambda one: ~one),
        ),
        max_leaves=4,
    )


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(":memory:") as opened:
        opened.call("CreateTable", things.definition())
        yield opened


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(item=st.dictionaries(Names, st.sampled_from(VALUES), max_size=7), condition=combined())
def test_a_condition_holds_in_python_if_and_only_if_it_holds_in_the_database(engine: Engine, item: Item, condition: Condition) -> None:
    engine.call("PutItem", {"TableName": "Things", "Item": {"id": {"S": "x"}} | item})
    out = Placeholders()
    request = {"TableName": "Things", "FilterExpression": condition.render(out), **out.parameters()}
    assert is_satisfied(condition, item) == bool(engine.call("Scan", request)["Count"]), request
