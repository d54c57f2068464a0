"""`Engine.ready` is `call` in two steps."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine import EngineError
from tests.engine.operations.requests import index
from tests.engine.world import World, text


def outcome(act: Any) -> Any:
    """What was answered, or why nothing was."""
    try:
        return act()
    except EngineError as error:
        return error.code, error.message


def world_with_an_item() -> World:
    world = World()
    world.create("a")
    world.put(text(a="x", b="y"))
    return world


def world_with_an_index() -> World:
    world = World()
    world.create("a", defined=("a", "c"), GlobalSecondaryIndexes=[index("by_c", "c")])
    world.put(text(a="x", b="y", c="z"))
    return world


UPDATES = st.fixed_dictionaries(
    {
        "TableName": st.sampled_from(["Music", "Nowhere", "x"]),
        "Key": st.sampled_from([text(a="x"), text(a="new"), text(b="x"), text(a=""), {"a": {"N": "1"}}, {}, {"a": 5}]),
        "UpdateExpression": st.sampled_from(["SET b = :v", "SET a = :v", "REMOVE b", "SET b.c = :v", "ADD b :v", "SET", "SET c = :w"]),
        "ExpressionAttributeValues": st.sampled_from([text(**{":v": "z"}), {":v": {"N": "1"}}, {":v": {}}]),
        "ReturnValues": st.sampled_from(["NONE", "ALL_NEW", "ALL_OLD", "UPDATED_NEW", "EVERYTHING"]),
    },
    optional={"ConditionExpression": st.sampled_from(["b = :v", "attribute_exists(b)", "attribute_not_exists(a)", "b"])},
)


@given(UPDATES)
def test_it_answers_what_a_call_does_and_leaves_the_same(request: dict[str, Any]) -> None:
    one, two = world_with_an_item(), world_with_an_item()
    answer = one.engine.prepare_call("UpdateItem", request)
    assert outcome(answer) == outcome(lambda: two.engine.call("UpdateItem", request))
    assert one.call("Scan", TableName="Music") == two.call("Scan", TableName="Music")
    one.engine.close()
    two.engine.close()


PREPARED = st.fixed_dictionaries(
    {
        "Key": st.sampled_from([text(a="x"), text(a="new"), text(b="x"), text(a=""), {"a": {"N": "1"}}]),
        "UpdateExpression": st.sampled_from(
            ["SET b = :v", "SET c = :v, d = :w", "SET b.c = :v", "ADD n :v", "SET c = if_not_exists(n, :v)"]
        ),
        "ReturnValues": st.sampled_from(["NONE", "ALL_NEW"]),
    },
    optional={"ConditionExpression": st.sampled_from(["b = :v", "attribute_exists(b)"])},
)
GIVEN = st.sampled_from(
    [{"S": "z"}, {"S": "y"}, {"N": "1"}, {"N": "01"}, {"S": ""}, {"M": {"a": {"N": "2.50"}}}, {"N": "one"}, {}, {"S": 5}]
)


@given(st.lists(st.tuples(PREPARED, GIVEN, GIVEN), max_size=8))
def test_a_statement_makes_no_difference(steps: list[Any]) -> None:
    one, two = world_with_an_index(), world_with_an_index()
    for step, first, second in steps:
        values = {":v": first} | ({":w": second} if ":w" in step["UpdateExpression"] else {})
        request = {"TableName": "Music", **step, "ExpressionAttributeValues": values}
        statement = tuple((name, part) for name, part in request.items() if name not in ("Key", "ExpressionAttributeValues"))
        answer = one.engine.prepare_call("UpdateItem", request, statement)
        assert outcome(answer) == outcome(lambda request=request: two.engine.call("UpdateItem", request))
    assert one.call("Scan", TableName="Music") == two.call("Scan", TableName="Music")
    assert one.call("Scan", TableName="Music", IndexName="by_c") == two.call("Scan", TableName="Music", IndexName="by_c")
    one.engine.close()
    two.engine.close()


def test_nothing_happens_before_the_second_step(world: World) -> None:
    world.create("a")
    request = {"TableName": "Music", "Key": text(a="x"), "UpdateExpression": "SET b = :v", "ExpressionAttributeValues": text(**{":v": "y"})}
    update = world.engine.prepare_call("UpdateItem", request)
    put = world.engine.prepare_call("PutItem", {"TableName": "Music", "Item": text(a="z")})
    assert world.call("Scan", TableName="Music")["Count"] == 0
    update()
    put()
    assert world.call("Scan", TableName="Music")["Count"] == 2


def test_a_table_that_was_made_anew_in_between_is_seen(world: World) -> None:
    world.create("a")
    request = {"TableName": "Music", "Key": text(a="x"), "UpdateExpression": "SET c = :v", "ExpressionAttributeValues": text(**{":v": "y"})}
    update = world.engine.prepare_call("UpdateItem", request)
    world.call("DeleteTable", TableName="Music")
    world.create("a", "b")
    with pytest.raises(EngineError, match="does not match the schema"):
        update()


def test_what_an_operation_needs_is_imported_by_the_first_step() -> None:
    # In a process of its own, where nothing is imported yet.
    program = """if True:
        import sys
        from gateleg.engine import Engine
        with Engine() as engine:
            answer = engine.prepare_call("PutItem", {})
            print("gateleg.engine.operations.items" in sys.modules)
            engine.prepare_call("NoSuchOperation", {})
    """
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "True\n"
