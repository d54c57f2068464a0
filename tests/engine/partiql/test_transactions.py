from typing import Any

import pytest

from gateleg.engine.errors import EngineError

from .client import MALFORMED, PartiQL
from .conftest import Clock

KEY = "artist = 'a' AND title = "
NONE = {"Code": "None"}
MISMATCH = {"Code": "ValidationError", "Message": "The provided key element does not match the schema"}
MISSING = {"Code": "ResourceNotFound", "Message": "Requested resource not found"}
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
NEEDS_KEY = "Select statements within ExecuteTransaction must specify the primary key in the where clause."
NEEDS_CONDITION = "EXISTS() must contain a single item read with additional condition"


@pytest.fixture
def songs(partiql: PartiQL) -> PartiQL:
    for title in "123":
        partiql.song("a", title, n={"N": title})
    return partiql


def number(partiql: PartiQL, title: str) -> str | None:
    stored = partiql.stored("a", title)
    return stored["n"]["N"] if stored else None


def test_writes_happen_together(songs: PartiQL) -> None:
    answer = songs.transact(
        "INSERT INTO Songs VALUE {'artist': 'a', 'title': '4', 'n': 4}",
        f"UPDATE Songs SET n = n + 10 WHERE {KEY}'1'",
        f"DELETE FROM Songs WHERE {KEY}'2'",
        f"FROM Songs WHERE {KEY}'3' SET n = 30",
    )
    assert answer == {"Responses": []}
    assert [number(songs, title) for title in "1234"] == ["11", None, "30", "4"]


def test_nothing_happens_if_one_statement_cannot(songs: PartiQL) -> None:
    reasons = songs.cancelled(
        f"DELETE FROM Songs WHERE {KEY}'1'",
        "INSERT INTO Songs VALUE {'artist': 'a', 'title': '2'}",
        f"UPDATE Songs SET n = 1 WHERE {KEY}'3' AND n = 9",
        f"UPDATE Songs SET n = 1 WHERE {KEY}'nope'",
    )
    assert reasons == [NONE, {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}, FAILED, FAILED]
    assert [number(songs, title) for title in "123"] == ["1", "2", "3"]


def test_a_failed_condition_carries_the_item_if_that_is_asked_for(songs: PartiQL) -> None:
    statement = {"Statement": f"DELETE FROM Songs WHERE {KEY}'1' AND n = 9", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    with pytest.raises(EngineError) as caught:
        songs.engine.call("ExecuteTransaction", {"TransactStatements": [statement]})
    assert caught.value.extra["CancellationReasons"] == [{**FAILED, "Item": songs.stored("a", "1")}]


def test_reads_answer_one_entry_each(songs: PartiQL) -> None:
    answer = songs.transact(
        f"SELECT * FROM Songs WHERE {KEY}'1'", f"SELECT n FROM Songs WHERE {KEY}'2'", f"SELECT n FROM Songs WHERE {KEY}'9'"
    )
    assert answer == {"Responses": [{"Item": songs.stored("a", "1")}, {"Item": {"n": {"N": "2"}}}, {}]}


def test_exists_checks_a_condition_on_an_item(songs: PartiQL) -> None:
    update = f"UPDATE Songs SET n = 20 WHERE {KEY}'2'"
    songs.transact(f"EXISTS(SELECT * FROM Songs WHERE {KEY}'1' AND award IS MISSING)", update)
    assert number(songs, "2") == "20"
    assert songs.cancelled(f"EXISTS(SELECT * FROM Songs WHERE {KEY}'1' AND n = 9)", update) == [FAILED, NONE]
    assert songs.cancelled(f"EXISTS(SELECT * FROM Songs WHERE {KEY}'1' AND artist = 'b' AND n = 1)", update) == [FAILED, NONE]


@pytest.mark.parametrize("condition", [f"{KEY}'1'", "artist = 'a' AND n = 1", "artist IN ['a'] AND title = '1' AND n = 1"])
def test_exists_takes_one_item_and_a_condition(songs: PartiQL, condition: str) -> None:
    message = songs.transact_message(f"EXISTS(SELECT * FROM Songs WHERE {condition})", f"DELETE FROM Songs WHERE {KEY}'2'")
    assert message == f"Validation failed in TransactStatements[0]: {NEEDS_CONDITION}"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM Songs WHERE", MALFORMED + "Unexpected term"),
        (
            f"UPDATE Songs SET n = n + [1] WHERE {KEY}'2'",
            "Incorrect operand type for operator or function; operator or function: +, operand type: L",
        ),
        (f"UPDATE Songs SET n = 1 WHERE {KEY}'2' RETURNING ALL NEW *", "RETURNING clause is not supported in ExecuteTransaction."),
        (f"UPDATE Songs.x SET n = 1 WHERE {KEY}'2'", "This operation is not supported on an index"),
        (f"UPDATE Songs SET n = ? WHERE {KEY}'2'", "Number of parameters in request and statement don't match."),
    ],
)
def test_faults_of_a_statement_name_its_position(songs: PartiQL, statement: str, message: str) -> None:
    assert (
        songs.transact_message(f"DELETE FROM Songs WHERE {KEY}'1'", statement) == f"Validation failed in TransactStatements[1]: {message}"
    )


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ("Songs WHERE artist = 'a'", NEEDS_KEY),
        ("Songs", NEEDS_KEY),
        (f"Songs WHERE {KEY}'1' AND n = 1", NEEDS_KEY),
        (f"Songs WHERE {KEY}'1' AND artist = 'b'", NEEDS_KEY),
        ('"Songs"."by-genre" WHERE genre = \'g\'', "Reads on indices are not supported within transactions."),
        ("Songs WHERE artist IN ['a', 'a'] AND title = '1'", "Overlapping conditions with range keys are not supported in where clause"),
    ],
)
def test_a_read_must_name_one_item_and_nothing_else(songs: PartiQL, select: str, message: str) -> None:
    assert songs.transact_message(f"SELECT * FROM {select}") == f"Validation failed in TransactStatements[0]: {message}"


def test_the_key_of_a_read_may_be_grouped_repeated_and_in_brackets(songs: PartiQL) -> None:
    answer = songs.transact("SELECT n FROM Songs WHERE (title = '1') AND artist = 'a' AND artist IN ['a']")
    assert answer["Responses"] == [{"Item": {"n": {"N": "1"}}}]


def test_statements_that_name_no_item_cancel_the_transaction(songs: PartiQL) -> None:
    reasons = songs.cancelled(
        "UPDATE Songs SET n = 1 WHERE artist = 'a'",
        "DELETE FROM Songs WHERE artist = 'a' AND title = 1",
        "INSERT INTO Songs VALUE {'artist': 'a'}",
        f"UPDATE Songs SET n = 1 WHERE {KEY}'1'",
    )
    missing = {"Code": "ValidationError", "Message": "One or more parameter values were invalid: Missing the key title in the item"}
    assert reasons == [MISMATCH, MISMATCH, missing, NONE]
    assert songs.cancelled(f"SELECT * FROM Songs WHERE {KEY}'1'", "SELECT * FROM Songs WHERE artist = 1 AND title = '1'") == [
        NONE,
        MISMATCH,
    ]


def test_tables_that_do_not_exist_cancel_the_transaction(songs: PartiQL) -> None:
    delete = f"DELETE FROM Songs WHERE {KEY}'1'"
    assert songs.cancelled(delete, "DELETE FROM Nowhere WHERE id = 1 RETURNING ALL OLD *") == [NONE, MISSING]
    message = songs.transact_message("DELETE FROM Nowhere WHERE id = 1", delete + " RETURNING ALL OLD *")
    assert message == "Validation failed in TransactStatements[1]: RETURNING clause is not supported in ExecuteTransaction."


def test_reads_and_writes_do_not_mix(songs: PartiQL) -> None:
    message = songs.transact_message(f"SELECT * FROM Songs WHERE {KEY}'1'", f"DELETE FROM Songs WHERE {KEY}'2'")
    assert message == "ExecuteTransaction API does not support both read and write operations in the same request."


@pytest.mark.parametrize("verb", ["SELECT * FROM", "DELETE FROM"])
def test_an_item_is_named_once(songs: PartiQL, verb: str) -> None:
    text = f"{verb} Songs WHERE {KEY}'1'"
    assert songs.transact_message(text, text) == "Transaction request cannot include multiple operations on one item"


def test_parameters_of_all_statements_are_checked_first(songs: PartiQL) -> None:
    statements: list[dict[str, Any]] = [{"Statement": "SLECT"}, {"Statement": "SLECT", "Parameters": [{"SS": ["a", "a"]}]}]
    with pytest.raises(EngineError) as caught:
        songs.engine.call("ExecuteTransaction", {"TransactStatements": statements})
    assert caught.value.message == "One or more parameter values were invalid: Input collection [a, a] contains duplicates."


def test_a_token_makes_a_transaction_happen_once(songs: PartiQL, clock: Clock) -> None:
    text = f"UPDATE Songs SET n = n + 1 WHERE {KEY}'1'"
    again = {"ClientRequestToken": "t", "ReturnConsumedCapacity": "INDEXES"}
    first = songs.transact(text, **again)
    units = {"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}
    assert first == {"Responses": [], "ConsumedCapacity": [{"TableName": "Songs", **units, "Table": units}]}
    units = {"CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}
    assert songs.transact(text, **again) == {"Responses": [], "ConsumedCapacity": [{"TableName": "Songs", **units, "Table": units}]}
    assert number(songs, "1") == "2"
    with pytest.raises(EngineError) as caught:
        songs.transact(f"UPDATE Songs SET n = n + 2 WHERE {KEY}'1'", **again)
    assert caught.value.code == "IdempotentParameterMismatchException"
    clock.time += 601
    songs.transact(text, **again)
    assert number(songs, "1") == "3"


def test_tokens_are_apart_from_those_of_transact_write_items(songs: PartiQL) -> None:
    put = {"Put": {"TableName": "Plain", "Item": {"id": {"N": "1"}}}}
    songs.engine.call("TransactWriteItems", {"TransactItems": [put], "ClientRequestToken": "t"})
    songs.transact(f"UPDATE Songs SET n = 9 WHERE {KEY}'1'", ClientRequestToken="t")
    assert number(songs, "1") == "9"


def test_writing_costs_the_table_twice_and_its_indexes_once(partiql: PartiQL) -> None:
    answer = partiql.transact("INSERT INTO Songs VALUE {'artist': 'a', 'title': 't', 'genre': 'g'}", ReturnConsumedCapacity="INDEXES")
    assert answer["ConsumedCapacity"] == [
        {
            "TableName": "Songs",
            "CapacityUnits": 3.0,
            "WriteCapacityUnits": 3.0,
            "Table": {"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0},
            "GlobalSecondaryIndexes": {"by-genre": {"CapacityUnits": 1.0, "WriteCapacityUnits": 1.0}},
        }
    ]


def test_reading_costs_two_units_an_item_found_or_not(songs: PartiQL) -> None:
    answer = songs.transact(f"SELECT * FROM Songs WHERE {KEY}'1'", f"SELECT * FROM Songs WHERE {KEY}'9'", ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == [{"TableName": "Songs", "CapacityUnits": 4.0, "ReadCapacityUnits": 4.0}]
