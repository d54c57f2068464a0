"""Several writes in one call: each with its own outcome, all with one commit."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.engine import Engine, EngineError
from tests.engine.operations.requests import index, table
from tests.engine.world import Item, World, text

Write = tuple[str, dict[str, Any]]
STREAM = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}


def put(name: str, **more: Any) -> Write:
    return "PutItem", {"TableName": "Music", "Item": text(a=name), **more}


def names(engine: Engine) -> set[str]:
    return {item["a"]["S"] for item in engine.call("Scan", {"TableName": "Music"})["Items"]}


@pytest.fixture(params=["data.db", ":memory:"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    path = request.param if request.param == ":memory:" else str(tmp_path / request.param)
    with Engine(path, durability="relaxed", background=False) as engine:
        engine.call("CreateTable", table("a"))
        yield engine


def test_the_answers_stand_in_the_order_of_the_calls(engine: Engine) -> None:
    calls = [put("x"), put("x", ReturnValues="ALL_OLD"), put("y", ReturnValues="ALL_OLD")]
    assert engine.call_many(calls) == [{}, {"Attributes": text(a="x")}, {}]


def test_no_calls_have_no_answers(engine: Engine) -> None:
    assert engine.call_many([]) == []


@pytest.mark.parametrize("others", [0, 2])
def test_a_refused_write_hinders_no_other(engine: Engine, others: int) -> None:
    around = [put(str(number)) for number in range(others)]
    refused = put("x", ConditionExpression="attribute_exists(a)")
    outcomes = engine.call_many([*around, refused, *around])
    assert [isinstance(outcome, EngineError) for outcome in outcomes] == [*[False] * others, True, *[False] * others]
    assert names(engine) == {str(number) for number in range(others)}


def test_what_is_no_error_of_dynamodb_stands_in_the_place_of_its_answer_too(engine: Engine) -> None:
    outcomes = engine.call_many([put("x"), put("half of a pair: \ud800"), put("y")])
    assert isinstance(outcomes[1], Exception)
    assert names(engine) == {"x", "y"}


def test_all_of_them_share_one_commit(engine: Engine) -> None:
    commits = count()
    engine.database.connection.set_commit_hook(lambda: next(commits) < 0)
    engine.call_many([put("x"), put("y"), put("z")])
    engine.database.connection.set_commit_hook(None)
    assert next(commits) == 1


def test_nothing_is_acknowledged_or_written_when_the_commit_fails(engine: Engine) -> None:
    engine.database.connection.set_commit_hook(lambda: True)
    with pytest.raises(apsw.ConstraintError):
        engine.call_many([put("x"), put("y")])
    engine.database.connection.set_commit_hook(None)
    assert names(engine) == set()
    assert engine.call_many([put("x"), put("y")]) == [{}, {}]
    assert names(engine) == {"x", "y"}


@pytest.mark.parametrize("operation", ["GetItem", "CreateTable", "Nonsense"])
def test_what_writes_no_items_is_refused_before_anything_is_done(engine: Engine, operation: str) -> None:
    with pytest.raises(ValueError, match=f"{operation} is no write of items"):
        engine.call_many([put("x"), (operation, {"TableName": "Music"})])
    assert names(engine) == set()


def test_a_write_after_it_is_on_its_own_again(engine: Engine) -> None:
    engine.call_many([put("x"), put("y")])
    engine.call(*put("z"))
    assert names(engine) == {"x", "y", "z"}


keys = st.builds(lambda title: text(a="one", b=title), st.sampled_from("xyz"))
conditions = st.sampled_from([{}, {"ConditionExpression": "attribute_exists(a)"}, {"ConditionExpression": "attribute_not_exists(g)"}])
genres = st.sampled_from([{}, text(g="jazz"), text(g="soul"), {"g": {"N": "1"}}])


def _update(key: Item, condition: dict[str, str], genre: Item) -> dict[str, Any]:
    values = {":one": {"N": "1"}} | ({":g": genre["g"]} if genre else {})
    text_ = "ADD plays :one " + ("SET g = :g" if genre else "REMOVE g")
    return {"Key": key, "UpdateExpression": text_, "ExpressionAttributeValues": values, **condition}


updates = st.builds(_update, keys, conditions, genres)
puts = st.builds(lambda key, genre, condition: {"Item": {**key, **genre}, **condition}, keys, genres, conditions)
deletes = st.builds(lambda key, condition: {"Key": key, **condition}, keys, conditions)
actions = st.one_of(
    puts.map(lambda put: {"Put": {"TableName": "Music", **put}}), updates.map(lambda update: {"Update": {"TableName": "Music", **update}})
)
writes: st.SearchStrategy[Write] = st.one_of(
    puts.map(lambda put: ("PutItem", {"TableName": "Music", **put, "ReturnValues": "ALL_OLD"})),
    updates.map(
        lambda update: ("UpdateItem", {"TableName": "Music", **update, "ReturnValues": "ALL_NEW", "ReturnConsumedCapacity": "INDEXES"})
    ),
    deletes.map(lambda delete: ("DeleteItem", {"TableName": "Music", **delete, "ReturnValues": "ALL_OLD"})),
    st.lists(actions, min_size=1, max_size=2).map(lambda members: ("TransactWriteItems", {"TransactItems": members})),
    puts.map(lambda put: ("BatchWriteItem", {"RequestItems": {"Music": [{"PutRequest": {"Item": put["Item"]}}]}})),
)


def told(outcome: dict[str, Any] | Exception) -> Any:
    """An outcome that can be compared."""
    return (outcome.code, outcome.message, outcome.extra) if isinstance(outcome, EngineError) else outcome


def outcome_of(engine: Engine, write: Write) -> dict[str, Any] | Exception:
    try:
        return engine.call(*write)
    except EngineError as error:
        return error


@settings(max_examples=60)
@given(calls=st.lists(writes, max_size=8))
def test_it_is_the_same_as_one_call_after_another(calls: list[Write]) -> None:
    together, apart = World(), World()
    for world in (together, apart):
        world.create("a", "b", defined=("a", "b", "g"), GlobalSecondaryIndexes=[index("ByGenre", "g")], **STREAM)
    outcomes = together.engine.call_many(calls)
    assert list(map(told, outcomes)) == [told(outcome_of(apart.engine, call)) for call in calls]
    assert together.items() == apart.items()
    assert together.items(IndexName="ByGenre") == apart.items(IndexName="ByGenre")
    log = "SELECT seq, k, old, new FROM changes ORDER BY seq"
    assert together.engine.database.rows(log) == apart.engine.database.rows(log)
    for world in (together, apart):
        world.engine.close()
