from typing import Any

import pytest

from gateleg.engine.expressions import prepare
from gateleg.engine.values import MAX_ITEM_SIZE
from tests.engine.world import Item, World, text

ONE: Item = {"N": "1"}
TEN: Item = {"S": "y" * 10}


def counted(expression: str, names: dict[str, str] | None = None, **values: Item) -> int:
    """The bytes that an expression counts."""
    request: dict[str, Any] = {"UpdateExpression": expression}
    if names:
        request["ExpressionAttributeNames"] = names
    if values:
        request["ExpressionAttributeValues"] = {f":{name}": value for name, value in values.items()}
    prepared = prepare(request, "UpdateItem")
    assert prepared.update is not None
    assert prepared.update.expression_size is not None
    return prepared.update.expression_size.total(prepared.values)


@pytest.mark.parametrize(
    ("expression", "values", "bytes_"),
    [
        ("SET b = :v", {"v": TEN}, 3 + 19 + 1 + 10),
        ("SET b = :v, c = :v", {"v": TEN}, 3 + 2 * (19 + 1 + 10)),
        ("SET b = abcdefghij", {}, 3 + 19 + 1 + 1 + 14 + 10),
        ("SET b = m.a.z", {}, 3 + 19 + 1 + 1 + 3 * 15),
        ("SET b = l[10]", {}, 3 + 19 + 1 + 1 + 15 + 16),
        ("SET m.leaf = :v", {"v": TEN}, 3 + 19 + 1 + 4 + 4 + 10),
        ("SET l[0] = :v", {"v": TEN}, 3 + 19 + 1 + 4 + 1 + 10),
        ("SET l = list_append(l, :v)", {"v": {"L": [TEN]}}, 3 + 19 + 1 + 37 + 16 + 14),
        ("SET n = n + :v", {"v": ONE}, 3 + 19 + 1 + 34 + 16 + 2),
        ("SET n = (n - :v)", {"v": ONE}, 3 + 19 + 1 + 37 + 16 + 2),
        ("SET c = if_not_exists(c, :v)", {"v": {"M": {"a": TEN}}}, 3 + 19 + 1 + 39 + 16 + 15),
        ("ADD abcdefghij :v", {"v": ONE}, 3 + 19 + 10 + 2),
        ("ADD ss :v", {"v": {"SS": ["s" * 500]}}, 3 + 19 + 2 + 500),
        ("REMOVE abcdefghij", {}, 3 + 1 + 10),
        ("REMOVE m.yyyyyyyyyy", {}, 3 + 1 + 1 + 4 + 10),
        ("REMOVE l[10]", {}, 3 + 1 + 1 + 4 + 2),
        ("DELETE ss :v", {"v": {"SS": ["q" * 20]}}, 3 + 1 + 2),
        ("SET b = :v REMOVE r", {"v": TEN}, 3 + 19 + 1 + 10 + 2),
    ],
)
def test_an_expression_counts_what_it_states(expression: str, values: dict[str, Item], bytes_: int) -> None:
    assert counted(expression, **values) == bytes_


def test_a_placeholder_counts_as_the_name_that_it_stands_for() -> None:
    assert counted("SET #twelvechars = :v", {"#twelvechars": "b"}, v=TEN) == counted("SET b = :v", v=TEN)


def update(room: int, expression: str = "SET b = :v", **more: Any) -> dict[str, Any]:
    """An update with a text of so many bytes."""
    values = {":v": {"S": "x" * room}}
    return {"TableName": "Music", "Key": text(pk="a"), "UpdateExpression": expression, "ExpressionAttributeValues": values, **more}


@pytest.mark.parametrize(
    ("expression", "room"),
    [
        ("SET b = :v", MAX_ITEM_SIZE - 23),
        ("SET b = if_not_exists(b, :v)", MAX_ITEM_SIZE - 78),
        ("SET b = if_not_exists(b, :v), c = if_not_exists(c, :v)", (MAX_ITEM_SIZE - 153) // 2),
    ],
)
def test_an_update_may_count_as_many_bytes_as_an_item_has(world: World, expression: str, room: int) -> None:
    world.create("pk")
    world.put(text(pk="a", b="b", c="c"))
    world.call("UpdateItem", **update(room, expression))
    error = world.refusal("UpdateItem", **update(room + 1, expression))
    assert (error.code, error.message) == ("ValidationException", "Item size to update has exceeded the maximum allowed size")


def test_the_count_is_checked_before_the_condition(world: World) -> None:
    world.create("pk")
    error = world.refusal("UpdateItem", **update(MAX_ITEM_SIZE, ConditionExpression="attribute_exists(pk)"))
    assert error.code == "ValidationException"


def test_a_transaction_counts_only_the_item(world: World) -> None:
    world.create("pk")
    world.call("TransactWriteItems", TransactItems=[{"Update": update(MAX_ITEM_SIZE - 4)}])
    assert len(world.items()[0]["b"]["S"]) == MAX_ITEM_SIZE - 4


def test_attribute_updates_count_only_the_item(world: World) -> None:
    world.create("pk")
    value = {"S": "x" * (MAX_ITEM_SIZE - 4)}
    world.call("UpdateItem", TableName="Music", Key=text(pk="a"), AttributeUpdates={"b": {"Action": "PUT", "Value": value}})
    assert world.items()[0]["b"] == value
