from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg.engine.integrity import check_integrity
from tests.engine.operations.requests import index
from tests.engine.world import World, stream, text


@pytest.fixture
def music(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "data.db")
    world.create("a", **stream())
    world.put(text(a="x", b="1"))
    yield world
    world.engine.close()


def switch(world: World, on: bool) -> None:
    world.now += 1
    world.call(
        "UpdateTable", TableName="Music", StreamSpecification={"StreamEnabled": on} | ({"StreamViewType": "KEYS_ONLY"} if on else {})
    )


def test_a_log_with_a_pause_is_whole(music: World) -> None:
    switch(music, False)
    music.put(text(a="x", b="2"))
    switch(music, True)
    music.put(text(a="x", b="3"))
    assert check_integrity(music.engine.path) == []


def test_a_change_that_was_not_logged_is_found(music: World) -> None:
    music.recoverable()
    music.put(text(a="x", b="2"))
    music.put(text(a="x", b="3"))
    music.engine.database.connection.execute("DELETE FROM changes WHERE seq = 2")
    assert check_integrity(music.engine.path) == ["Music: change 3 does not follow from the one before it"]


def test_an_item_that_no_index_takes_is_not_missed(music: World) -> None:
    music.put(text(a="y", b=""))
    music.call(
        "UpdateTable",
        TableName="Music",
        AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "S"}, {"AttributeName": "b", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": index("by-b", "b")}],
    )
    assert check_integrity(music.engine.path) == []


def test_a_restored_table_is_whole(music: World) -> None:
    music.recoverable()
    at = music.now
    music.now += 1
    music.put(text(a="x", b="2"))
    music.call("RestoreTableToPointInTime", SourceTableName="Music", TargetTableName="Restored", RestoreDateTime=at)
    music.expire_by("t")
    music.call("DeleteTable", TableName="Music")
    assert check_integrity(music.engine.path) == []
