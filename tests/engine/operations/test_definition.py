from typing import Any

import pytest

from gateleg.engine.errors import EngineError
from gateleg.engine.operations.definition import define
from gateleg.engine.schema import KeyAttribute, Namespace
from tests.engine.operations.requests import ON_DEMAND, UNITS, attributes, index, keys, table

INVALID = "One or more parameter values were invalid: "


def message(request: dict[str, Any]) -> str | None:
    with pytest.raises(EngineError) as caught:
        define(request, Namespace(), 0.0)
    assert caught.value.code == "ValidationException"
    return caught.value.message


def test_throughput_must_be_given_unless_on_demand() -> None:
    request = table("a", BillingMode="PROVISIONED")
    assert message(request) == INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"


def test_throughput_must_not_be_given_on_demand() -> None:
    request = table("a", ProvisionedThroughput=UNITS, **ON_DEMAND)
    expected = "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
    assert message(request) == INVALID + expected


@pytest.mark.parametrize("member", ["ReadCapacityUnits", "WriteCapacityUnits"])
def test_throughput_has_bounds(member: str) -> None:
    request = table("a", ProvisionedThroughput={**UNITS, member: 1_000_000_000_001})
    assert message(request) == f"Given value 1000000000001 for {member} is out of bounds"


def test_a_key_needs_as_many_definitions_as_attributes() -> None:
    assert message(table("a", "a", defined=["a"])) == "Invalid KeySchema: Some index key attribute have no definition"


def test_every_attribute_of_a_key_is_defined() -> None:
    expected = "Some index key attributes are not defined in AttributeDefinitions. Keys: [a], AttributeDefinitions: [z]"
    assert message(table("a", defined=["z"])) == INVALID + expected


def test_an_attribute_is_defined_once() -> None:
    assert message(table("x", defined=["x", "x:N"])) == "Attribute Name is duplicated: x"


def test_hash_and_range_differ() -> None:
    expected = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
    assert message(table("a", "a", defined=["a", "b"])) == expected


@pytest.mark.parametrize(
    ("hashes", "expected"),
    [
        (0, "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
        (2, "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"),
    ],
)
def test_a_table_has_one_hash_and_one_range_attribute(hashes: int, expected: str) -> None:
    assert message({**table("a", "b"), "KeySchema": keys("a", "b", hashes=hashes)}) == expected


def test_definitions_that_no_key_uses_are_refused() -> None:
    expected = "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"
    assert message(table("a", defined=["a", "b"])) == INVALID + expected


def test_definitions_that_no_index_uses_are_refused() -> None:
    request = table("a", defined=["a", "b", "c"], GlobalSecondaryIndexes=[index("gsi", "b")])
    expected = "Some AttributeDefinitions are not used. AttributeDefinitions: [a, b, c], keys used: [a, b]"
    assert message(request) == INVALID + expected


def test_a_local_index_needs_a_range_key_in_the_table() -> None:
    request = table("a", defined=["a", "b"], LocalSecondaryIndexes=[index("lsi", "a", "b")])
    expected = "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
    assert message(request) == INVALID + expected


def test_a_local_index_needs_a_range_key_of_its_own() -> None:
    request = table("a", "b", LocalSecondaryIndexes=[index("lsi", "a")])
    assert message(request) == INVALID + "Index KeySchema does not have a range key for index: lsi"


def test_a_local_index_shares_the_tables_hash_key() -> None:
    request = table("a", "b", defined=["a", "b"], LocalSecondaryIndexes=[index("lsi", "b", "a")])
    expected = (
        "Index KeySchema does not have the same leading hash key as table KeySchema for index: lsi. index hash key: b, table hash key: a"
    )
    assert message(request) == INVALID + expected


@pytest.mark.parametrize("member", ["LocalSecondaryIndexes", "GlobalSecondaryIndexes"])
def test_a_list_of_indexes_is_not_empty(member: str) -> None:
    assert message({**table("a", "b"), member: []}) == INVALID + f"List of {member} is empty"


@pytest.mark.parametrize(
    ("projection", "expected"),
    [
        ({}, "Unknown ProjectionType: null"),
        ({"ProjectionType": "ALL", "NonKeyAttributes": ["x"]}, "ProjectionType is ALL, but NonKeyAttributes is specified"),
        ({"ProjectionType": "INCLUDE"}, "ProjectionType is INCLUDE, but NonKeyAttributes is not specified"),
        ({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "x"]}, "Duplicate attribute in NonKeyAttributes: x"),
    ],
)
def test_projections_are_checked(projection: dict[str, Any], expected: str) -> None:
    assert message(table("a", GlobalSecondaryIndexes=[index("gsi", "a", Projection=projection)])) == INVALID + expected


def test_indexes_have_different_names() -> None:
    request = table("a", "b", LocalSecondaryIndexes=[index("same", "a", "b")], GlobalSecondaryIndexes=[index("same", "b")])
    assert message(request) == INVALID + "Duplicate index name: same"


def test_a_table_has_at_most_five_local_indexes() -> None:
    request = table("a", "b", LocalSecondaryIndexes=[index(f"lsi{i}", "a", "b") for i in range(6)])
    assert message(request) == INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5"


def test_a_table_has_at_most_twenty_global_indexes() -> None:
    request = table("a", GlobalSecondaryIndexes=[index(f"gsi{i}", "a") for i in range(21)])
    assert message(request) == INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20"


def test_a_table_projects_at_most_a_hundred_attributes() -> None:
    def including(i: int, count: int) -> dict[str, Any]:
        return index(f"gsi{i}", "a", Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": [f"x{j}" for j in range(count)]})

    define(table("a", GlobalSecondaryIndexes=[including(i, 20) for i in range(5)]), Namespace(), 0.0)
    found = message(table("a", GlobalSecondaryIndexes=[including(i, 20) for i in range(5)] + [including(6, 1)]))
    assert found is not None
    assert "100" in found


def test_a_global_index_has_throughput_when_the_table_does() -> None:
    request = table("a", ProvisionedThroughput=UNITS, GlobalSecondaryIndexes=[index("gsi", "a")])
    assert message(request) == INVALID + "ProvisionedThroughput must be specified for index: gsi"


def test_a_global_index_has_no_throughput_on_demand() -> None:
    request = table("a", GlobalSecondaryIndexes=[index("gsi", "a", ProvisionedThroughput=UNITS)])
    expected = "ProvisionedThroughput should not be specified for index: gsi when BillingMode is PAY_PER_REQUEST"
    assert message(request) == INVALID + expected


def test_a_global_index_takes_four_attributes_of_each_sort() -> None:
    names = [f"h{i}" for i in range(4)] + [f"r{i}" for i in range(4)]
    made = define(table("a", defined=["a", *names], GlobalSecondaryIndexes=[index("gsi", *names, hashes=4)]), Namespace(), 0.0)
    assert made.indexes[0].keys.hash == tuple(KeyAttribute(name, "S") for name in names[:4])
    assert made.indexes[0].keys.range == tuple(KeyAttribute(name, "S") for name in names[4:])


@pytest.mark.parametrize(("hashes", "ranges", "sort"), [(5, 0, "HASH"), (1, 5, "RANGE")])
def test_a_global_index_takes_no_fifth_attribute(hashes: int, ranges: int, sort: str) -> None:
    names = [f"k{i}" for i in range(hashes + ranges)]
    request = table("a", defined=["a", *names], GlobalSecondaryIndexes=[index("gsi", *names, hashes=hashes)])
    assert message(request) == f"Invalid KeySchema: The KeySchema exceeds the maximum allowed number of {sort} key attributes"


def test_hash_attributes_precede_range_attributes() -> None:
    gsi = {**index("gsi", "b", "c"), "KeySchema": [*keys("b", "c"), *keys("d")]}
    request = table("a", defined=["a", "b", "c", "d"], GlobalSecondaryIndexes=[gsi])
    assert message(request) == "Invalid KeySchema: All HASH key attributes must precede RANGE key attributes in the KeySchema"


def test_an_attribute_is_in_a_global_key_once() -> None:
    request = table("a", defined=["a", "b"], GlobalSecondaryIndexes=[index("gsi", "b", "b", hashes=2)])
    assert message(request) == "Both the Hash Key and the Range Key element in the KeySchema have the same name"


def test_a_table_may_be_named_by_its_arn() -> None:
    assert define(table("a", name="arn:aws:dynamodb:us-east-1:123456789012:table/Music"), Namespace(), 0.0).name == "Music"


def test_types_of_keys_follow_the_definitions() -> None:
    made = define({**table("a"), "AttributeDefinitions": attributes(["a:N"])}, Namespace(), 0.0)
    assert made.keys.hash == (KeyAttribute("a", "N"),)
