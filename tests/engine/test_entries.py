"""Entries of indexes when items change in part."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.engine import check_integrity
from tests.engine.operations.requests import index
from tests.engine.world import Item, World, text

KEY = text(artist="Nina", title="Sinnerman")
INDEXES = [
    index("all", "genre", "label"),
    index("bare", "label"),
    index("keys", "genre", "year", Projection={"ProjectionType": "KEYS_ONLY"}),
    index("some", "year", "genre", Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note"]}),
]


def library(place: Path) -> World:
    """A table with indexes that share attributes, and project all, some or nothing else."""
    world = World(place / "data.db")
    world.create("artist", "title", defined=("artist", "title", "genre", "label", "year:N"), GlobalSecondaryIndexes=INDEXES)
    return world


def update(world: World, changes: Item, **more: Any) -> dict[str, Any]:
    """Set attributes, and remove those that shall be None."""
    given = {name: value for name, value in changes.items() if value is not None}
    clauses = ["SET " + ", ".join(f"#{name} = :{name}" for name in given)] if given else []
    clauses += ["REMOVE " + ", ".join(f"#{name}" for name in changes if name not in given)] if len(given) < len(changes) else []
    values = {"ExpressionAttributeValues": {f":{name}": value for name, value in given.items()}} if given else {}
    names = {f"#{name}": name for name in changes}
    return world.call(
        "UpdateItem", TableName="Music", Key=KEY, UpdateExpression=" ".join(clauses), ExpressionAttributeNames=names, **values, **more
    )


words = st.sampled_from([None, {"S": "x"}, {"S": "y"}])
notes = st.sampled_from([None, {"S": "short"}, {"S": "longer than a kilobyte" * 60}])
numbers = st.sampled_from([None, {"N": "1"}, {"N": "-2.5"}])
changes = st.fixed_dictionaries({}, optional={"genre": words, "label": words, "year": numbers, "note": notes, "stars": numbers}).filter(
    bool
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(changes, min_size=1, max_size=6))
def test_indexes_agree_with_an_item_that_is_updated_in_part(steps: list[Item], tmp_path_factory: pytest.TempPathFactory) -> None:
    world = library(tmp_path_factory.mktemp("entries"))
    for step in steps:
        update(world, step)
    assert check_integrity(world.engine.path) == []
    world.engine.close()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=changes, after=changes)
def test_an_update_costs_what_a_put_of_the_same_item_costs(before: Item, after: Item, tmp_path_factory: pytest.TempPathFactory) -> None:
    one, other = library(tmp_path_factory.mktemp("one")), library(tmp_path_factory.mktemp("other"))
    for world in (one, other):
        world.put(KEY)
        update(world, before)
    updated = update(one, after, ReturnConsumedCapacity="INDEXES", ReturnValues="ALL_NEW")
    put = other.call("PutItem", TableName="Music", Item=updated["Attributes"], ReturnConsumedCapacity="INDEXES")
    assert updated["ConsumedCapacity"] == put["ConsumedCapacity"]
    for world in (one, other):
        world.engine.close()


def entries(world: World, name: str) -> list[Any]:
    """The rows of an index."""
    layout = world.engine.catalog.layout(world.engine.namespace, "Music").index_by_name[name]
    return world.engine.database.rows(f"SELECT * FROM {layout.name}")


@pytest.mark.parametrize(
    ("changed", "rewritten"),
    [("stars", set()), ("note", {"some"}), ("label", {"all", "bare"}), ("year", {"keys", "some"}), ("genre", {"all", "keys", "some"})],
)
def test_only_entries_that_hold_what_an_update_writes_are_written(tmp_path: Path, changed: str, rewritten: set[str]) -> None:
    world = library(tmp_path)
    world.put({**KEY, **text(genre="jazz", label="Philips", note="live"), "year": {"N": "1965"}})
    with world.engine.database.write() as connection:
        for layout in world.engine.catalog.layout(world.engine.namespace, "Music").indexes:
            connection.execute(f"DELETE FROM {layout.name}")
    update(world, {changed: {"N": "2"} if changed in ("year", "stars") else {"S": "another"}})
    assert {entry["IndexName"] for entry in INDEXES if entries(world, entry["IndexName"])} == rewritten
    world.engine.close()


def test_a_put_of_the_same_projection_leaves_the_entry_alone(tmp_path: Path) -> None:
    world = library(tmp_path)
    song = {**KEY, **text(genre="jazz"), "year": {"N": "1965"}}
    world.put(song)
    with world.engine.database.write() as connection:
        connection.execute(f"DELETE FROM {world.engine.catalog.layout(world.engine.namespace, 'Music').index_by_name['keys'].name}")
    world.put({**song, "stars": {"N": "5"}})
    assert entries(world, "keys") == []
    world.put({**song, "year": {"N": "1966"}})
    assert len(entries(world, "keys")) == 1
    world.engine.close()


@pytest.mark.parametrize(("characters", "fits"), [(256, True), (257, False)])
def test_the_limit_of_a_key_of_an_index_is_counted_in_bytes(tmp_path: Path, characters: int, fits: bool) -> None:
    world = library(tmp_path)
    world.put(KEY)
    genre = {"genre": {"S": "\N{MUSICAL SYMBOL G CLEF}" * characters}}
    if fits:
        update(world, genre)
    else:
        error = world.refusal(
            "UpdateItem",
            TableName="Music",
            Key=KEY,
            UpdateExpression="SET genre = :g",
            ExpressionAttributeValues={":g": genre["genre"]},
        )
        assert "exceeded the size limit of 1024 bytes" in (error.message or "")
    world.engine.close()
