"""What DynamoDB says of an ExclusiveStartKey, and when."""

from typing import Any

import pytest

from gateleg.engine.engine import Engine
from tests.engine.operations.requests import index, refusal, table

INVALID = "The provided starting key is invalid"
MISMATCH = "The provided key element does not match the schema"

KEY = {"band": {"S": "Low"}, "song": {"S": "Sunflower"}}
BY_YEAR = {**KEY, "year": {"N": "2002"}}


@pytest.fixture
def songs(engine: Engine) -> Engine:
    """A table of songs with a global index by year that holds keys only."""
    years = {**index("years", "year"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
    engine.call("CreateTable", table("band", "song", name="Songs", defined=["band", "song", "year:N"], GlobalSecondaryIndexes=[years]))
    return engine


def query(**more: Any) -> dict[str, Any]:
    """A Query of a band's songs."""
    band = {"KeyConditionExpression": "band = :b", "ExpressionAttributeValues": {":b": {"S": "Low"}}}
    return {"TableName": "Songs", **band, **more}


def in_year(**more: Any) -> dict[str, Any]:
    """A Query of a year's songs."""
    return query(IndexName="years", KeyConditionExpression="#y = :y", ExpressionAttributeNames={"#y": "year"}) | {
        "ExpressionAttributeValues": {":y": {"N": "2002"}},
        **more,
    }


@pytest.mark.parametrize("start", [{}, {"band": {"S": "Low"}}, {**KEY, "year": {"N": "2002"}}, {"band": {"S": "Low"}, "year": {"N": "1"}}])
def test_a_query_refuses_other_attributes_than_those_of_the_key(songs: Engine, start: dict[str, Any]) -> None:
    assert refusal(songs, "Query", query(ExclusiveStartKey=start)).message == INVALID


@pytest.mark.parametrize("start", [{**KEY, "song": {"N": "1"}}, {**KEY, "band": {"B": "YQ=="}}])
def test_a_query_refuses_other_types_than_those_of_the_key(songs: Engine, start: dict[str, Any]) -> None:
    assert refusal(songs, "Query", query(ExclusiveStartKey=start)).message == MISMATCH


def test_a_query_of_an_index_tells_its_own_key_from_that_of_the_table(songs: Engine) -> None:
    own, tables = {**BY_YEAR, "year": {"S": "2002"}}, {**BY_YEAR, "song": {"N": "1"}}
    assert refusal(songs, "Query", in_year(ExclusiveStartKey=own)).message == MISMATCH
    assert refusal(songs, "Query", in_year(ExclusiveStartKey=tables)).message == f"{INVALID}: {MISMATCH}"


def test_a_scan_names_the_reason_for_a_table_and_none_for_an_index(songs: Engine) -> None:
    short = {"band": {"S": "Low"}}
    assert refusal(songs, "Scan", {"TableName": "Songs", "ExclusiveStartKey": short}).message == f"{INVALID}: {MISMATCH}"
    assert refusal(songs, "Scan", {"TableName": "Songs", "IndexName": "years", "ExclusiveStartKey": short}).message == INVALID


def test_a_starting_key_is_checked_attribute_by_attribute_with_the_conditions(songs: Engine) -> None:
    other = {"KeyConditionExpression": "title = :b"}
    wrong_hash, wrong_range = {**KEY, "band": {"N": "1"}}, {**KEY, "song": {"N": "1"}}
    assert refusal(songs, "Query", query(ExclusiveStartKey=wrong_hash, **other)).message == MISMATCH
    message = refusal(songs, "Query", query(ExclusiveStartKey=wrong_range, **other)).message
    assert message == "Query condition missed key schema element: band"


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ({"band": {"S": "Low"}, "song": {"S": "Z"}}, "The provided starting key does not match the range key predicate"),
        ({"band": {"S": "Rev"}, "song": {"S": "Z"}}, "The provided starting key does not match the range key predicate"),
        ({"band": {"S": "Rev"}, "song": {"S": "A"}}, "The query can return at most one row and cannot be restarted"),
    ],
)
def test_a_starting_key_must_meet_the_range_condition_before_the_hash_condition(songs: Engine, start: dict[str, Any], reason: str) -> None:
    values = {":b": {"S": "Low"}, ":s": {"S": "M"}}
    request = query(KeyConditionExpression="band = :b AND song < :s", ExpressionAttributeValues=values, ExclusiveStartKey=start)
    assert refusal(songs, "Query", request).message == reason


def test_a_starting_key_of_another_partition_is_outside(songs: Engine) -> None:
    message = refusal(songs, "Query", query(ExclusiveStartKey={**KEY, "band": {"S": "Rev"}})).message
    assert message == "The provided starting key is outside query boundaries based on provided conditions"


def test_legacy_filters_are_checked_before_the_values_of_a_starting_key(songs: Engine) -> None:
    condition = {"ComparisonOperator": "LT", "AttributeValueList": [{"BOOL": True}]}
    reason = "One or more parameter values were invalid: ComparisonOperator LT is not valid for BOOL AttributeValue type"
    start: dict[str, Any] = {"band": {}}
    queried = {"TableName": "Songs", "KeyConditions": {}, "QueryFilter": {"x": condition}, "ExclusiveStartKey": start}
    scanned = {"TableName": "Songs", "ScanFilter": {"x": condition}, "ExclusiveStartKey": start}
    assert refusal(songs, "Query", queried).message == reason
    assert refusal(songs, "Scan", scanned).message == reason


def test_the_values_of_a_starting_key_are_checked_before_expressions_and_segments(songs: Engine) -> None:
    reason = f"{INVALID}: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
    start: dict[str, Any] = {"band": {}}
    assert refusal(songs, "Query", query(KeyConditionExpression="", ExclusiveStartKey=start)).message == reason
    assert refusal(songs, "Scan", {"TableName": "Songs", "Segment": 3, "ExclusiveStartKey": start}).message == reason


def test_a_global_index_that_lacks_attributes_is_reported_between_its_key_and_the_tables(songs: Engine) -> None:
    scan = {"TableName": "Songs", "IndexName": "years", "Select": "ALL_ATTRIBUTES"}
    own, tables = {**BY_YEAR, "year": {"S": "2002"}}, {**BY_YEAR, "song": {"N": "1"}}
    lacks = "Select type ALL_ATTRIBUTES is not supported for global secondary index years because its projection type is not ALL"
    assert refusal(songs, "Scan", {**scan, "ExclusiveStartKey": own}).message == MISMATCH
    assert refusal(songs, "Scan", {**scan, "ExclusiveStartKey": tables}).message == f"One or more parameter values were invalid: {lacks}"


def test_a_global_index_that_lacks_attributes_is_reported_before_a_filter_on_the_inside_of_a_key(songs: Engine) -> None:
    message = refusal(songs, "Query", in_year(Select="ALL_ATTRIBUTES", FilterExpression="band.x = :y")).message
    assert message is not None
    assert "Select type ALL_ATTRIBUTES is not supported" in message


@pytest.mark.parametrize("name", ["Songs", "Nowhere"])
def test_a_key_of_two_attributes_has_one_or_two_conditions(songs: Engine, name: str) -> None:
    equal = {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]}
    for conditions in ({}, {"band": equal, "song": equal, "title": equal}):
        message = refusal(songs, "Query", {"TableName": name, "KeyConditions": conditions}).message
        assert message == "Conditions can be of length 1 or 2 only"


def test_an_expressions_conditions_are_counted_against_the_key(songs: Engine) -> None:
    three = "band = :b AND song = :b AND title = :b"
    message = refusal(songs, "Query", query(KeyConditionExpression=three)).message
    assert message == "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)"
    assert refusal(songs, "Query", query(TableName="Nowhere", KeyConditionExpression=three)).code == "ResourceNotFoundException"


def test_an_index_of_single_attributes_has_one_or_two_conditions(songs: Engine) -> None:
    equal = {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]}
    request = {"TableName": "Songs", "IndexName": "years", "KeyConditions": {"band": equal, "song": equal, "year": equal}}
    assert refusal(songs, "Query", request).message == "Conditions can be of length 1 or 2 only"
