"""`Engine.prepare_call` is `call` in two steps: it leaves and returns the same, whatever happens between the steps."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.engine import Engine, EngineError, check_integrity
from tests.engine.test_entries import INDEXES, library
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


def request_of(update: dict[str, Any], choice: int) -> dict[str, Any]:
    said = update["UpdateExpression"] + update.get("ConditionExpression", "")
    values = {name: choices[choice % len(choices)] for name, choices in VALUES.items() if name in said}
    names = {"ExpressionAttributeNames": {"#y": "year"}} if "#y" in said else {}
    return {"TableName": "Music", **update, **names, **({"ExpressionAttributeValues": values} if values else {})}


def outcome(act: Any) -> Any:
    """What was answered, or why nothing was."""
    try:
        return act()
    except EngineError as error:
        return error.code, error.message


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_what_happens_between_the_steps_counts(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    place = tmp_path_factory.mktemp("steps")
    for folder in ("one", "two"):
        (place / folder).mkdir()
    one, two = library(place / "one"), library(place / "two")
    others = [Engine(one.engine.path), Engine(two.engine.path)]
    for update, choice, between in steps:
        request = request_of(update, choice)
        ready = one.engine.prepare_call("UpdateItem", request)
        if between == "put":
            for world in (one, two):
                world.call("PutItem", TableName="Music", Item={**update["Key"], "genre": {"S": "blues"}, "plays": {"N": "7"}})
        elif between == "delete":
            for world in (one, two):
                world.call("DeleteItem", TableName="Music", Key=update["Key"])
        elif between == "elsewhere":
            for other in others:
                change = request_of({"Key": update["Key"], "UpdateExpression": "ADD plays :n"}, choice)
                outcome(lambda other=other, change=change: other.call("UpdateItem", change))
        assert outcome(ready) == outcome(lambda request=request: two.engine.call("UpdateItem", request))
    assert one.call("Scan", TableName="Music") == two.call("Scan", TableName="Music")
    for index in INDEXES:
        scan = {"TableName": "Music", "IndexName": index["IndexName"]}
        assert one.call("Scan", **scan) == two.call("Scan", **scan)
    for engine in (one.engine, two.engine, *others):
        engine.close()
    assert check_integrity(one.engine.path) == []


def raise_plays(engine: Engine) -> Any:
    request = request_of({"Key": KEYS[0], "UpdateExpression": "ADD plays :n", "ReturnValues": "ALL_NEW"}, 0)
    return engine.prepare_call("UpdateItem", request)


def test_what_another_process_wrote_in_between_counts(tmp_path: Path) -> None:
    world = library(tmp_path)
    with Engine(world.engine.path) as other:
        raise_plays(world.engine)()
        ready = raise_plays(world.engine)
        raise_plays(other)()
        assert ready()["Attributes"]["plays"] == {"N": "3"}
    world.engine.close()


def test_what_was_rolled_back_is_not_built_upon(tmp_path: Path) -> None:
    world = library(tmp_path)
    raise_plays(world.engine)()
    group = world.engine.begin_group()
    raise_plays(world.engine)()
    group.roll_back()
    assert raise_plays(world.engine)()["Attributes"]["plays"] == {"N": "2"}
    world.engine.close()


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
