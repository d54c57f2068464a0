from pathlib import Path
from typing import Any

import pytest

from gateleg.engine import long_work
from gateleg.engine.engine import Engine
from gateleg.engine.integrity import check_integrity
from tests.engine.operations.requests import index
from tests.engine.world import World, text


def add_index(world: World, name: str = "by-b", attribute: str = "b", kind: str = "S", **more: Any) -> None:
    world.call(
        "UpdateTable",
        TableName="Music",
        AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "S"}, {"AttributeName": attribute, "AttributeType": kind}],
        GlobalSecondaryIndexUpdates=[{"Create": {**index(name, attribute), **more}}],
    )


def status(world: World) -> str:
    found: str = world.call("DescribeTable", TableName="Music")["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"]
    return found


@pytest.fixture
def music(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A table of ten items, and chunks of four."""
    monkeypatch.setattr(long_work, "SMALL_TABLE_ROWS", 4)
    world.create("a")
    for number in range(10):
        world.put(text(a=f"{number}", b=f"b{number % 3}"))
    return world


def test_a_small_table_is_indexed_at_once(world: World) -> None:
    world.create("a")
    world.put(text(a="x", b="1"))
    add_index(world)
    assert status(world) == "ACTIVE"
    assert world.items(IndexName="by-b") == [text(a="x", b="1")]


def test_a_large_table_is_indexed_in_the_background(music: World) -> None:
    add_index(music)
    assert status(music) == "CREATING"
    music.engine.maintain()
    assert status(music) == "ACTIVE"
    assert music.items(IndexName="by-b") == music.items()


def test_an_index_that_is_being_filled_cannot_be_read(music: World) -> None:
    add_index(music)
    error = music.refusal("Scan", TableName="Music", IndexName="by-b")
    assert error.message == "Cannot read from backfilling global secondary index: by-b"


@pytest.mark.parametrize("projection", [{"ProjectionType": "ALL"}, {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["c"]}])
def test_writes_during_the_backfill_are_kept(music: World, projection: dict[str, Any]) -> None:
    add_index(music, Projection=projection)
    for number in range(10):
        if number % 2:
            music.put(text(a=f"{number}", b="moved", c="new"))
        elif number % 4 == 0:
            music.delete(text(a=f"{number}"))
    music.put(text(a="11", b="added"))
    music.engine.maintain()
    assert music.items(IndexName="by-b") == music.items()


def test_items_without_a_fitting_attribute_are_left_out(world: World) -> None:
    world.create("a")
    world.put(text(a="1", b="fits"))
    world.put({"a": {"S": "2"}, "b": {"N": "1"}})
    world.put(text(a="3"))
    world.put(text(a="4", b=""))
    world.put(text(a="5", b="x" * 2049))
    add_index(world)
    assert world.items(IndexName="by-b") == [text(a="1", b="fits")]


@pytest.mark.parametrize("value", ["", "x" * 2049])
def test_items_that_were_left_out_stay_out_when_something_else_of_them_changes(value: str, tmp_path: Path) -> None:
    world = World(tmp_path / "music.db")
    world.create("a")
    world.put(text(a="1", b=value))
    add_index(world, Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["c"]})
    change = {"UpdateExpression": "SET c = :c", "ExpressionAttributeValues": text(**{":c": "y"})}
    world.call("UpdateItem", TableName="Music", Key=text(a="1"), **change)
    assert world.items(IndexName="by-b") == []
    assert check_integrity(world.engine.path) == []
    world.engine.close()


def test_a_table_that_is_deleted_while_it_is_indexed_leaves_nothing(music: World) -> None:
    add_index(music)
    music.call("DeleteTable", TableName="Music")
    music.engine.maintain()
    assert music.engine.database.row("SELECT count(*) FROM backfills") == (0,)


def test_a_backfill_goes_on_where_another_process_stopped(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_work, "SMALL_TABLE_ROWS", 4)
    path = tmp_path / "data.db"
    first = World(path)
    first.create("a")
    for number in range(10):
        first.put(text(a=f"{number}", b="b"))
    add_index(first)
    place = first.engine.database.row("SELECT place FROM backfills")
    assert place is not None
    assert place[0] > 0
    first.engine.close()
    with Engine(str(path), background=False) as second:
        second.maintain()
        assert second.call("Scan", {"TableName": "Music", "IndexName": "by-b"})["Count"] == 10
        assert second.database.row("SELECT count(*) FROM backfills") == (0,)


def test_two_processes_share_a_backfill(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_work, "SMALL_TABLE_ROWS", 4)
    first, second = World(tmp_path / "data.db"), World(tmp_path / "data.db")
    first.create("a")
    for number in range(10):
        first.put(text(a=f"{number}", b="b"))
    add_index(first)
    layout = next(iter(first.engine.catalog.layouts()))
    for world in (second, first, second):
        world.engine._maintenance._backfill(layout.table)
    assert first.call("Scan", TableName="Music", IndexName="by-b")["Count"] == 10
    assert status(second) == "ACTIVE"
    first.engine.close()
    second.engine.close()
