"""What may be written to the keys of indexes, and what DynamoDB says of the rest."""

from typing import Any

import pytest

from gateleg.engine.engine import Engine
from tests.engine.operations.requests import attributes, index, refusal, table

KEY = {"band": {"S": "Low"}, "song": {"S": "Sunflower"}}
EMPTY_WRITTEN = (
    "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not "
    "supported. The AttributeValue for a key attribute cannot contain an empty string value."
)


def mismatch(name: str, expected: str, actual: str, index_name: str) -> str:
    """DynamoDB's words for a wrong type of an index key."""
    fault = f"Type mismatch for Index Key {name} Expected: {expected} Actual: {actual} IndexName: {index_name}"
    return f"One or more parameter values were invalid: {fault}"


@pytest.fixture
def songs(engine: Engine) -> Engine:
    """Songs with global indexes by genre (a text) and by year (a number), and a local one by mood."""
    request = table(
        *("band", "song"),
        name="Songs",
        defined=["band", "song", "genre", "year:N", "mood"],
        GlobalSecondaryIndexes=[index("of-genre", "genre"), index("in-year", "year")],
        LocalSecondaryIndexes=[index("by-mood", "band", "mood")],
    )
    engine.call("CreateTable", request)
    engine.call("PutItem", {"TableName": "Songs", "Item": {**KEY, "genre": {"S": "slowcore"}, "tags": {"SS": ["live"]}}})
    return engine


def update(expression: str, values: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """An UpdateItem of the one song."""
    given = {"ExpressionAttributeValues": values} if values else {}
    return {"TableName": "Songs", "Key": KEY, "UpdateExpression": expression, **given, **more}


def transact(action: str, body: dict[str, Any]) -> dict[str, Any]:
    """A TransactWriteItems of one action."""
    return {"TransactItems": [{action: body}]}


def test_the_index_whose_name_comes_first_is_named(songs: Engine) -> None:
    item = {**KEY, "genre": {"L": []}, "year": {"S": "2002"}}
    assert refusal(songs, "PutItem", {"TableName": "Songs", "Item": item}).message == mismatch("year", "N", "S", "in-year")


@pytest.mark.parametrize(
    ("expression", "values", "actual"),
    [
        ("SET genre = :v", {":v": {"N": "1"}}, "N"),
        ("SET genre = if_not_exists(genre, :v)", {":v": {"BOOL": True}}, "BOOL"),
        ("SET genre = length + :v", {":v": {"N": "1"}}, "N"),
        ("SET genre = list_append(takes, :v)", {":v": {"L": []}}, "L"),
        ("ADD genre :v", {":v": {"N": "1"}}, "N"),
        ("DELETE genre :v", {":v": {"SS": ["x"]}}, "SS"),
    ],
)
def test_a_type_that_the_request_tells_is_a_mismatch(songs: Engine, expression: str, values: dict[str, Any], actual: str) -> None:
    names = {"ExpressionAttributeNames": {"#l": "length"}} if "length" in expression else {}
    request = update(expression.replace("length", "#l"), values, **names)
    assert refusal(songs, "UpdateItem", request).message == mismatch("genre", "S", actual, "of-genre")


def test_a_type_that_the_request_tells_is_refused_before_the_condition_is_tested(songs: Engine) -> None:
    request = update("SET genre = :v", {":v": {"N": "1"}}, ConditionExpression="attribute_not_exists(band)")
    assert refusal(songs, "UpdateItem", request).message == mismatch("genre", "S", "N", "of-genre")


def test_a_type_that_the_request_tells_is_refused_before_a_look_into_a_key(songs: Engine) -> None:
    request = update("SET mood.x = band ADD genre :v", {":v": {"N": "1"}})
    assert refusal(songs, "UpdateItem", request).message == mismatch("genre", "S", "N", "of-genre")


def test_a_type_that_was_found_in_the_item_has_words_of_its_own(songs: Engine) -> None:
    message = refusal(songs, "UpdateItem", update("SET genre = tags")).message
    assert message == "The update expression attempted to update the secondary index key to unsupported type"


def test_an_update_to_an_empty_value_has_words_of_its_own(songs: Engine) -> None:
    assert refusal(songs, "UpdateItem", update("SET genre = :v", {":v": {"S": ""}})).message == EMPTY_WRITTEN
    legacy = {"TableName": "Songs", "Key": KEY, "AttributeUpdates": {"genre": {"Value": {"S": ""}}}}
    assert refusal(songs, "UpdateItem", legacy).message == EMPTY_WRITTEN


def test_an_update_to_a_value_that_is_too_long_names_the_index(songs: Engine) -> None:
    message = refusal(songs, "UpdateItem", update("SET mood = :v", {":v": {"S": "x" * 1025}})).message
    assert message is not None
    assert message.endswith("has exceeded the size limit of 1024 bytes. IndexName: by-mood, IndexKey: mood")


def test_a_value_from_before_the_index_does_not_stand_in_the_way_of_other_updates(songs: Engine) -> None:
    songs.call("PutItem", {"TableName": "Songs", "Item": {**KEY, "label": {"N": "7"}}})
    created = {"Create": index("of-label", "label")}
    definitions = attributes(["band", "song", "label"])
    songs.call("UpdateTable", {"TableName": "Songs", "AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [created]})
    songs.call("UpdateItem", update("SET note = :v", {":v": {"S": "x"}}))
    item = songs.call("GetItem", {"TableName": "Songs", "Key": KEY})["Item"]
    assert (item["label"], item["note"]) == ({"N": "7"}, {"S": "x"})


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("Put", {"TableName": "Songs", "Item": {**KEY, "band": {"S": ""}}}),
        ("Put", {"TableName": "Songs", "Item": {**KEY, "genre": {"S": ""}}}),
        ("Delete", {"TableName": "Songs", "Key": {**KEY, "song": {"S": ""}}}),
        ("Update", update("SET genre = :v", {":v": {"S": ""}})),
    ],
)
def test_an_empty_key_refuses_a_transaction_as_a_whole(songs: Engine, action: str, body: dict[str, Any]) -> None:
    error = refusal(songs, "TransactWriteItems", transact(action, body))
    assert error.code == "ValidationException"
    assert error.message is not None
    assert "cannot contain an empty string value" in error.message


def test_a_wrong_type_of_an_index_key_is_a_reason_of_a_cancelled_transaction(songs: Engine) -> None:
    for action, body in (
        ("Put", {"TableName": "Songs", "Item": {**KEY, "genre": {"N": "1"}}}),
        ("Update", update("SET genre = :v", {":v": {"N": "1"}})),
    ):
        error = refusal(songs, "TransactWriteItems", transact(action, body))
        assert error.extra == {"CancellationReasons": [{"Code": "ValidationError", "Message": mismatch("genre", "S", "N", "of-genre")}]}


def test_an_empty_key_is_a_reason_of_a_cancelled_transaction_of_reads(songs: Engine) -> None:
    request = {"TransactItems": [{"Get": {"TableName": "Songs", "Key": {**KEY, "song": {"S": ""}}}}]}
    assert refusal(songs, "TransactGetItems", request).code == "TransactionCanceledException"
