"""Updates worked out on the row as it was left last: the same as worked out on the row as it is."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.engine import Engine, EngineError, check_integrity
from tests.engine.test_entries import INDEXES
from tests.engine.world import World, text

KEYS = [text(artist="Nina", title="Sinnerman"), text(artist="Ella", title="Misty")]
UPDATES = st.fixed_dictionaries(
    {
        "Key": st.sampled_from(KEYS),
        "UpdateExpression": st.sampled_from(
            [
                "SET genre = :t",
                "SET genre = :t, label = :t",
                "REMOVE genre",
                "SET #y = :n",
                "ADD plays :n",
                "SET note.a = :t",
                "SET note = :m",
            ]
        ),
        "ReturnValues": st.sampled_from(["NONE", "ALL_NEW", "ALL_OLD", "UPDATED_NEW"]),
    },
    optional={"ConditionExpression": st.sampled_from(["attribute_exists(genre)", "plays > :n", "genre = :t"])},
)
VALUES: dict[str, list[dict[str, Any]]] = {
    ":t": [{"S": "jazz"}, {"S": "soul"}, {"N": "1"}],
    ":n": [{"N": "1"}, {"N": "2.5"}],
    ":m": [{"M": {}}, {"M": {"a": {"S": "b"}}}],
}
STEPS = st.lists(st.tuples(UPDATES, st.integers(0, 2), st.sampled_from(["", "", "put", "delete", "elsewhere"])), max_size=12)


def library(path: Path) -> World:
    world = World(path)
    world.create("artist", "title", defined=("artist", "title", "genre", "label", "year:N"), GlobalSecondaryIndexes=INDEXES)
    return world


def request_of(update: dict[str, Any], choice: int) -> dict[str, Any]:
    said = update["UpdateExpression"] + update.get("ConditionExpression", "")
    values = {name: choices[choice % len(choices)] for name, choices in VALUES.items() if name in said}
    names = {"ExpressionAttributeNames": {"#y": "year"}} if "#y" in said else {}
    return {"TableName": "Music", **update, **names, **({"ExpressionAttributeValues": values} if values else {})}


def outcome(engine: Engine, operation: str, request: dict[str, Any]) -> Any:
    try:
        return engine.prepare_call(operation, request)()
    except EngineError as error:
        return error.code, error.message


def forget(engine: Engine) -> None:
    for layout in engine.catalog.cached_layouts():
        layout.recent.clear()


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_it_makes_no_difference_that_the_row_is_remembered(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    place = tmp_path_factory.mktemp("drafts")
    one, two = library(place / "one.db"), library(place / "two.db")
    others = [Engine(str(place / "one.db")), Engine(str(place / "two.db"))]
    for update, choice, before in steps:
        if before == "put":
            for world in (one, two):
                world.call("PutItem", TableName="Music", Item={**update["Key"], "genre": {"S": "blues"}, "plays": {"N": "7"}})
        elif before == "delete":
            for world in (one, two):
                world.call("DeleteItem", TableName="Music", Key=update["Key"])
        elif before == "elsewhere":
            for other in others:
                outcome(other, "UpdateItem", request_of({"Key": update["Key"], "UpdateExpression": "ADD plays :n"}, choice))
        forget(two.engine)
        request = request_of(update, choice)
        assert outcome(one.engine, "UpdateItem", request) == outcome(two.engine, "UpdateItem", request)
    assert one.call("Scan", TableName="Music") == two.call("Scan", TableName="Music")
    for index in INDEXES:
        assert one.call("Scan", TableName="Music", IndexName=index["IndexName"]) == two.call(
            "Scan", TableName="Music", IndexName=index["IndexName"]
        )
    for engine in (one.engine, two.engine, *others):
        engine.close()
    assert check_integrity(str(place / "one.db")) == []


def raise_plays(engine: Engine) -> Any:
    request = request_of({"Key": KEYS[0], "UpdateExpression": "ADD plays :n", "ReturnValues": "ALL_NEW"}, 0)
    return engine.prepare_call("UpdateItem", request)


def test_what_another_process_wrote_in_between_counts(tmp_path: Path) -> None:
    world = library(tmp_path / "data.db")
    with Engine(str(tmp_path / "data.db")) as other:
        raise_plays(world.engine)()
        drafted = raise_plays(world.engine)
        raise_plays(other)()
        assert drafted()["Attributes"]["plays"] == {"N": "3"}
    world.engine.close()


def test_what_was_rolled_back_is_not_built_upon(tmp_path: Path) -> None:
    world = library(tmp_path / "data.db")
    raise_plays(world.engine)()
    group = world.engine.begin_group()
    raise_plays(world.engine)()
    group.roll_back()
    assert raise_plays(world.engine)()["Attributes"]["plays"] == {"N": "2"}
    world.engine.close()


def test_a_draft_is_used_when_the_row_is_the_same(tmp_path: Path) -> None:
    world = library(tmp_path / "data.db")
    raise_plays(world.engine)()
    raise_plays(world.engine)()
    said: list[str] = []

    def note(cursor: Any, sql: str, bindings: Any) -> bool:
        said.append(sql)
        return True

    world.engine.database.connection.exec_trace = note
    raise_plays(world.engine)()
    assert [sql.split()[0] for sql in said] == ["BEGIN", "UPDATE", "COMMIT"]
    world.engine.close()


def test_only_so_many_small_rows_are_remembered(world: World) -> None:
    world.create("a")
    large = {"S": "x" * 10_000}
    for number in range(300):
        for value in ({"S": "y"}, {"S": "z"}):
            request = {"TableName": "Music", "Key": text(a=str(number)), "UpdateExpression": "SET b = :v"}
            world.engine.call("UpdateItem", request | {"ExpressionAttributeValues": {":v": large if number == 299 else value}})
    (layout,) = world.engine.catalog.cached_layouts()
    assert len(layout.recent) == 64
    assert max(len(content) for _, content in layout.recent.values()) < 100
