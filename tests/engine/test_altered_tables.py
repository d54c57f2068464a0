"""A table that another engine on the same file has altered, or made anew, is asked and written to as it is now."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateleg.engine.errors import EngineError
from gateleg.engine.integrity import check_integrity
from tests.engine.operations.requests import attributes, index
from tests.engine.world import World, text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tables.db"


@pytest.fixture
def ours(path: Path) -> Iterator[World]:
    world = World(path)
    yield world
    world.engine.close()


@pytest.fixture
def theirs(path: Path, ours: World) -> Iterator[World]:
    world = World(path)
    yield world
    world.engine.close()


@pytest.fixture
def anew(ours: World, theirs: World) -> World:
    """We know a table by the key `a`; others have made it anew with the key `b`, and put an item."""
    ours.create("a")
    ours.put(text(a="1"))
    theirs.call("DeleteTable", TableName="Music")
    theirs.create("b")
    theirs.put(text(b="1"))
    return ours


READS: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {"TableName": "Music", "Key": text(b="1")}),
    ("Query", {"TableName": "Music", "KeyConditionExpression": "b = :b", "ExpressionAttributeValues": text(**{":b": "1"})}),
    ("BatchGetItem", {"RequestItems": {"Music": {"Keys": [text(b="1")]}}}),
    ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "Music", "Key": text(b="1")}}]}),
    ("ExecuteStatement", {"Statement": "SELECT * FROM Music WHERE b = '1'"}),
    ("BatchExecuteStatement", {"Statements": [{"Statement": "SELECT * FROM Music WHERE b = '1'"}]}),
    ("ExecuteTransaction", {"TransactStatements": [{"Statement": "SELECT * FROM Music WHERE b = '1'"}]}),
]


@pytest.mark.parametrize(("operation", "request_"), READS, ids=[operation for operation, _ in READS])
def test_it_is_read_by_its_new_key(operation: str, request_: dict[str, Any], anew: World, theirs: World) -> None:
    assert anew.call(operation, **request_) == theirs.call(operation, **request_)


def test_its_new_key_cannot_be_updated(anew: World, path: Path) -> None:
    refused = anew.refusal(
        "UpdateItem", TableName="Music", Key=text(b="1"), UpdateExpression="SET b = :b", ExpressionAttributeValues=text(**{":b": "2"})
    )
    assert refused.message is not None
    assert "Cannot update attribute b" in refused.message
    assert check_integrity(str(path)) == []


def test_its_new_key_cannot_be_updated_by_what_was_made_ready_before(ours: World, theirs: World, path: Path) -> None:
    ours.create("a")
    request = {"TableName": "Music", "Key": text(b="1"), "UpdateExpression": "SET b = :b", "ExpressionAttributeValues": text(**{":b": "2"})}
    update = ours.engine.prepare_call("UpdateItem", request)
    theirs.call("DeleteTable", TableName="Music")
    theirs.create("b")
    with pytest.raises(EngineError, match="Cannot update attribute b"):
        update()
    assert check_integrity(str(path)) == []


INSERT = "INSERT INTO Music VALUE {'a': '1', 'b': '2'}"
INSERTS: list[tuple[str, dict[str, Any]]] = [
    ("ExecuteStatement", {"Statement": INSERT}),
    ("BatchExecuteStatement", {"Statements": [{"Statement": INSERT}]}),
    ("ExecuteTransaction", {"TransactStatements": [{"Statement": INSERT}]}),
]


@pytest.mark.parametrize(("operation", "request_"), INSERTS, ids=[operation for operation, _ in INSERTS])
def test_a_statement_inserts_under_its_new_key(operation: str, request_: dict[str, Any], anew: World, path: Path) -> None:
    anew.call(operation, **request_)
    assert anew.call("GetItem", TableName="Music", Key=text(b="2"))["Item"] == text(a="1", b="2")
    assert check_integrity(str(path)) == []


def test_statements_that_meet_in_the_new_key_are_refused_together(anew: World, theirs: World) -> None:
    inserts = [{"Statement": f"INSERT INTO Music VALUE {{'a': '{a}', 'b': '2'}}"} for a in "12"]
    assert "multiple operations on one item" in str(anew.refusal("ExecuteTransaction", TransactStatements=inserts))
    assert theirs.items() == [text(b="1")]


def test_an_attribute_whose_index_was_removed_takes_any_type(ours: World, theirs: World) -> None:
    ours.create("a", defined=("a", "x"), GlobalSecondaryIndexes=[index("by-x", "x")])
    theirs.call("UpdateTable", TableName="Music", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-x"}}])
    ours.call("UpdateItem", TableName="Music", Key=text(a="1"), UpdateExpression="SET x = :x", ExpressionAttributeValues={":x": {"N": "1"}})
    assert theirs.items() == [{"a": {"S": "1"}, "x": {"N": "1"}}]


def test_an_attribute_with_a_new_index_is_held_to_its_type(ours: World, theirs: World) -> None:
    ours.create("a")
    theirs.call(
        "UpdateTable",
        TableName="Music",
        AttributeDefinitions=attributes(("a", "x")),
        GlobalSecondaryIndexUpdates=[{"Create": index("by-x", "x")}],
    )
    refused = ours.refusal("ExecuteStatement", Statement="INSERT INTO Music VALUE {'a': '1', 'x': 5}")
    assert "Type mismatch for Index Key x" in str(refused)


def test_a_reader_does_not_bring_back_what_a_write_under_way_has_changed(ours: World, theirs: World) -> None:
    ours.create("a")
    catalog = ours.engine.catalog
    with ours.engine.database.write() as connection:
        catalog.drop(connection, catalog.layout(ours.engine.namespace, "Music").table)
        catalog._load(theirs.engine.database.connection, only_newer=True)
        assert catalog.cached_layout(ours.engine.namespace, "Music") is None
