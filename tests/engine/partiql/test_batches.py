from typing import Any

import pytest

from gateleg.engine.errors import EngineError

from .client import MALFORMED, PartiQL

NEEDS_KEY = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
KEY = "artist = 'a' AND title = "


@pytest.fixture
def songs(partiql: PartiQL) -> PartiQL:
    for title in "123":
        partiql.song("a", title, n={"N": title})
    return partiql


def refused(partiql: PartiQL, *texts: str) -> str | None:
    with pytest.raises(EngineError) as caught:
        partiql.batch(*texts)
    assert caught.value.code == "ValidationException"
    return caught.value.message


def error(code: str, message: str, table: str | None = None) -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": message}} | ({"TableName": table} if table else {})


def test_each_read_answers_with_its_item_and_table(songs: PartiQL) -> None:
    assert songs.batch(
        f"SELECT * FROM Songs WHERE {KEY}'1'", f"SELECT n FROM Songs WHERE {KEY}'2'", f"SELECT n FROM Songs WHERE {KEY}'9'"
    ) == [
        {"Item": songs.stored("a", "1"), "TableName": "Songs"},
        {"Item": {"n": {"N": "2"}}, "TableName": "Songs"},
        {"TableName": "Songs"},
    ]


def test_writes_are_done_and_return_what_they_are_asked_for(songs: PartiQL) -> None:
    responses = songs.batch(
        "INSERT INTO Songs VALUE {'artist': 'a', 'title': '4'}",
        f"UPDATE Songs SET n = 9 WHERE {KEY}'1' RETURNING MODIFIED NEW *",
        f"DELETE FROM Songs WHERE {KEY}'2' RETURNING ALL OLD *",
        f"UPDATE Songs REMOVE n WHERE {KEY}'3' RETURNING MODIFIED NEW *",
    )
    assert [response.get("Item") for response in responses] == [
        None,
        {"n": {"N": "9"}},
        {"artist": {"S": "a"}, "title": {"S": "2"}, "n": {"N": "2"}},
        None,
    ]
    assert all(response["TableName"] == "Songs" for response in responses)
    assert songs.stored("a", "4") is not None


def test_a_statement_fails_on_its_own(songs: PartiQL) -> None:
    assert songs.batch(
        "SLECT * FROM Songs",
        f"UPDATE Songs SET n = 9 WHERE {KEY}'1' AND n = 5",
        "INSERT INTO Songs VALUE {'artist': 'a', 'title': '2'}",
        f"UPDATE Songs SET n = 9 WHERE {KEY}'3'",
        "DELETE FROM Nowhere WHERE id = 1",
        "DELETE FROM Songs WHERE artist = 'a'",
        f"DELETE FROM Songs WHERE {KEY}'4' RETURNING ALL NEW *",
    ) == [
        error("ValidationError", MALFORMED + "Expected data manipulation"),
        error("ConditionalCheckFailed", "The conditional request failed", "Songs"),
        error("DuplicateItem", "Duplicate primary key exists in table", "Songs"),
        {"TableName": "Songs"},
        error("ResourceNotFound", "Requested resource not found", "Nowhere"),
        error("ValidationError", "Where clause does not contain a mandatory equality on all key attributes"),
        error(
            "ValidationError",
            "Invalid returning clause: RETURNING ALL NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements.",
        ),
    ]


@pytest.mark.parametrize(
    "select",
    [
        "Songs",
        "Songs WHERE artist = 'a'",
        "Songs WHERE n = 1",
        f"Songs WHERE {KEY}'1' AND n = 1",
        f"Songs WHERE {KEY}'1' AND artist = 'b'",
        f"Songs WHERE {KEY}'1' AND attribute_exists(n)",
        f"\"Songs\".\"by-genre\" WHERE {KEY}'1' AND genre = 'g'",
    ],
)
def test_a_read_must_name_one_item_and_nothing_else(songs: PartiQL, select: str) -> None:
    assert songs.batch(f"SELECT * FROM {select}") == [error("ValidationError", NEEDS_KEY)]


def test_one_value_in_brackets_names_an_item(songs: PartiQL) -> None:
    assert songs.batch("SELECT n FROM Songs WHERE artist IN ['a'] AND title = '1'")[0]["Item"] == {"n": {"N": "1"}}


def test_a_parameter_fails_only_its_own_statement(songs: PartiQL) -> None:
    text = f"UPDATE Songs SET n = ? WHERE {KEY}"
    statements = [{"Statement": f"{text}'1'", "Parameters": [{"SS": []}]}, {"Statement": f"{text}'2'", "Parameters": [{"N": "7"}]}]
    responses = songs.engine.call("BatchExecuteStatement", {"Statements": statements})["Responses"]
    message = "One or more parameter values were invalid: An string set  may not be empty"
    assert responses == [error("ValidationError", message), {"TableName": "Songs"}]


def test_reads_and_writes_do_not_mix(songs: PartiQL) -> None:
    message = refused(songs, f"SELECT * FROM Songs WHERE {KEY}'1'", "SLECT", f"DELETE FROM Songs WHERE {KEY}'2'")
    assert message == "Read and write requests together in the same batch is not supported."
    assert songs.stored("a", "2") is not None


@pytest.mark.parametrize("verb", ["SELECT * FROM", "DELETE FROM"])
def test_an_item_is_named_once(songs: PartiQL, verb: str) -> None:
    text = f"{verb} Songs WHERE {KEY}'1'"
    assert refused(songs, text, text) == "Provided list of item keys contains duplicates"
    assert songs.stored("a", "1") is not None


def test_exists_stands_only_in_transactions(songs: PartiQL) -> None:
    message = "EXISTS can only be used in ExecuteTransaction write requests."
    assert songs.batch(f"EXISTS(SELECT * FROM Songs WHERE {KEY}'1' AND n = 1)") == [error("ValidationError", message)]


def test_each_read_is_paid_for_by_its_own_consistency(songs: PartiQL) -> None:
    statements = [
        {"Statement": f"SELECT * FROM Songs WHERE {KEY}'1'", "ConsistentRead": True},
        {"Statement": f"SELECT * FROM Songs WHERE {KEY}'2'"},
    ]
    answer = songs.engine.call("BatchExecuteStatement", {"Statements": statements, "ReturnConsumedCapacity": "TOTAL"})
    assert answer["ConsumedCapacity"] == [{"TableName": "Songs", "CapacityUnits": 1.5}]


def test_failed_writes_count_in_the_total_only(songs: PartiQL) -> None:
    songs.song("a", "big", x={"S": "x" * 2500})
    answer = songs.batched(
        "INSERT INTO Songs VALUE {'artist': 'a', 'title': 'new', 'genre': 'g'}",
        "INSERT INTO Songs VALUE {'artist': 'a', 'title': 'big'}",
        f"UPDATE Songs SET n = 1 WHERE {KEY}'nope'",
        ReturnConsumedCapacity="INDEXES",
    )
    assert answer["ConsumedCapacity"] == [
        {
            "TableName": "Songs",
            "CapacityUnits": 6.0,
            "Table": {"CapacityUnits": 1.0},
            "GlobalSecondaryIndexes": {"by-genre": {"CapacityUnits": 1.0}},
        }
    ]


def test_a_batch_of_failures_consumes_nothing(songs: PartiQL) -> None:
    answer = songs.batched("INSERT INTO Songs VALUE {'artist': 'a', 'title': '1'}", ReturnConsumedCapacity="TOTAL")
    assert "ConsumedCapacity" not in answer


def test_a_failed_condition_never_carries_the_item(songs: PartiQL) -> None:
    statement = {"Statement": f"DELETE FROM Songs WHERE {KEY}'1' AND n = 9", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    (response,) = songs.engine.call("BatchExecuteStatement", {"Statements": [statement]})["Responses"]
    assert response == error("ConditionalCheckFailed", "The conditional request failed", "Songs")
