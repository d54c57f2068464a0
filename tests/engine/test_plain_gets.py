"""GetItem requests with only a table and a key take a fast path, and answer what others do."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine import Engine, EngineError
from tests.engine.operations.requests import table
from tests.engine.world import World, text


def outcome(read: Any) -> Any:
    """What was read, or why nothing was."""
    try:
        return read()
    except EngineError as error:
        return error.code, error.message


values = st.sampled_from(
    [{"S": "x"}, {"S": "y"}, {"S": ""}, {"S": "long" * 600}, {"N": "1"}, {"S": 5}, {}, None, "x", {"S": "x", "N": "1"}]
)


@given(name=st.sampled_from(["Music", "Nowhere", "x"]), key=st.dictionaries(st.sampled_from("abc"), values, max_size=3))
def test_it_answers_what_a_request_is_answered(name: str, key: dict[str, Any]) -> None:
    world = World()
    world.create("a", "b")
    world.put(text(a="x", b="y", c="more"))
    found = outcome(lambda: world.engine.call("GetItem", {"TableName": name, "Key": key}).get("Item"))
    assert found == outcome(lambda: world.call("GetItem", TableName=name, Key=key).get("Item"))
    world.engine.close()


def test_it_finds_an_item_and_misses_one(world: World) -> None:
    world.create("a")
    world.put(text(a="x", b="y"))
    assert world.engine.call("GetItem", {"TableName": "Music", "Key": text(a="x")}).get("Item") == text(a="x", b="y")
    assert world.engine.call("GetItem", {"TableName": "Music", "Key": text(a="z")}).get("Item") is None


def test_a_table_that_another_process_made_anew_is_found(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")
    with Engine(path, background=False) as one, Engine(path, background=False) as other:
        one.call("CreateTable", table("a"))
        assert one.call("GetItem", {"TableName": "Music", "Key": text(a="x")}).get("Item") is None
        other.call("DeleteTable", {"TableName": "Music"})
        other.call("CreateTable", table("a"))
        other.call("PutItem", {"TableName": "Music", "Item": text(a="x")})
        assert one.call("GetItem", {"TableName": "Music", "Key": text(a="x")}).get("Item") == text(a="x")


def test_a_closed_engine_says_so(world: World) -> None:
    world.create("a")
    world.engine.close()
    with pytest.raises(EngineError, match="The engine is closed"):
        world.engine.call("GetItem", {"TableName": "Music", "Key": text(a="x")}).get("Item")


@pytest.mark.parametrize("name", [None, 5, ["Music"], {"S": "Music"}])
def test_a_table_name_that_is_not_text_is_refused_as_elsewhere(world: World, name: Any) -> None:
    with pytest.raises(EngineError) as refused:
        world.engine.call("GetItem", {"TableName": name, "Key": {}})
    with pytest.raises(EngineError) as elsewhere:
        world.engine.call("GetItem", {"TableName": name, "Key": {}, "ConsistentRead": True})
    assert (refused.value.code, refused.value.message) == (elsewhere.value.code, elsewhere.value.message)


@pytest.mark.parametrize("key", [None, 5, "ab", ["a"], [{"S": "x"}], {"a": "S"}, {"a": ["S"]}])
def test_a_key_of_another_json_type_is_refused_as_elsewhere(world: World, key: Any) -> None:
    world.create("a")
    with pytest.raises(EngineError) as refused:
        world.engine.call("GetItem", {"TableName": "Music", "Key": key})
    with pytest.raises(EngineError) as elsewhere:
        world.engine.call("GetItem", {"TableName": "Music", "Key": key, "ConsistentRead": True})
    assert (refused.value.code, refused.value.message) == (elsewhere.value.code, elsewhere.value.message)
