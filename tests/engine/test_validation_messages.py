"""In which words each operation refuses bad numbers, repeated members of sets and faults of its parameters."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.world import Item, World, text

UNREADABLE = "The parameter cannot be converted to a numeric value"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
INVALID = "One or more parameter values were invalid: "
NESTED = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
KEY = text(pk="a")

#: A value, and what the newer and the older check say to it.
FAULTS: list[tuple[Item, str, str]] = [
    ({"N": "abc"}, f"{UNREADABLE}: abc", f"{UNREADABLE}: abc"),
    ({"N": ""}, f"{UNREADABLE}: ", UNREADABLE),
    ({"N": "1e126"}, OVERFLOW, OVERFLOW),
    ({"N": "1e2147483647"}, OVERFLOW, UNDERFLOW),
    ({"NS": ["1", "abc"]}, f"{UNREADABLE}: abc", f"{UNREADABLE}: abc"),
    (
        {"SS": ["b", "a", "b"]},
        f'{INVALID}Input collection ["a", "b", "b"] contains duplicates.',
        f"{INVALID}Input collection [b, a, b] contains duplicates.",
    ),
    (
        {"BS": ["/w==", "AA==", "AA=="]},
        f'{INVALID}Input collection ["AA==","/w==","AA=="]of type BS contains duplicates.',
        f"{INVALID}Input collection [/w==, AA==, AA==]of type BS contains duplicates.",
    ),
    ({"NS": ["2", "1", "2"]}, f"{INVALID}Input collection contains duplicates.", "Input collection contains duplicates"),
    (
        {"SS": ["c", "a", "c", "b", "a"]},
        f'{INVALID}Input collection ["a", "c", "c", "b", "a"] contains duplicates.',
        f"{INVALID}Input collection [c, a, c, b, a] contains duplicates.",
    ),
]
each_fault = pytest.mark.parametrize(("value", "newer", "older"), FAULTS)
Request = Callable[[Item], dict[str, Any]]


@pytest.fixture
def table(world: World) -> World:
    world.create("pk")
    return world


def message(world: World, operation: str, **request: Any) -> str | None:
    error = world.refusal(operation, **request)
    assert error.code == "ValidationException"
    return error.message


def using(value: Item, expression: str) -> dict[str, Any]:
    return {"ConditionExpression": expression, "ExpressionAttributeValues": {":v": value}}


def deep(levels: int) -> Item:
    value: Item = {"S": "leaf"}
    for _ in range(levels):
        value = {"M": {"n": value}}
    return value


@each_fault
@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("PutItem", lambda v: {"Item": KEY, **using(v, "attribute_not_exists(pk) OR n = :v")}),
        ("PutItem", lambda v: {"Item": KEY, "Expected": {"n": {"Value": v}}}),
        ("UpdateItem", lambda v: {"Key": {"pk": v}}),
        ("UpdateItem", lambda v: {"Key": KEY, "UpdateExpression": "SET n = :v", "ExpressionAttributeValues": {":v": v}}),
        ("UpdateItem", lambda v: {"Key": KEY, "AttributeUpdates": {"n": {"Action": "PUT", "Value": v}}}),
        ("DeleteItem", lambda v: {"Key": {"pk": v}}),
        ("DeleteItem", lambda v: {"Key": KEY, **using(v, "n = :v")}),
    ],
)
def test_writes_of_one_item_have_the_newer_words_in_an_envelope(
    table: World, operation: str, request_: Request, value: Item, newer: str, older: str
) -> None:
    assert message(table, operation, TableName="Music", **request_(value)) == f"1 validation error detected: {newer}"


@pytest.mark.parametrize(
    ("number", "told"),
    [
        ("1e99999999999", OVERFLOW),
        ("-1e99999999999", OVERFLOW),
        ("1e-99999999999", UNDERFLOW),
        ("1e9223372036854775807", OVERFLOW),
        ("1e9223372036854775808", f"{UNREADABLE}: 1e9223372036854775808"),
        ("1e" + "9" * 5000, f"{UNREADABLE}: 1e{'9' * 5000}"),
        ("0e126", OVERFLOW),
        ("0e-131", UNDERFLOW),
        (" 1", f"{UNREADABLE}:  1"),
        ("1.2.3", f"{UNREADABLE}: 1.2.3"),
        (".e5", f"{UNREADABLE}: .e5"),
        ("1" * 40, "Attempting to store more than 38 significant digits in a Number"),
    ],
)
@pytest.mark.parametrize("nest", [lambda v: v, lambda v: {"M": {"x": {"L": [v]}}}])
def test_bad_numbers_of_an_item_are_told_in_the_envelope(table: World, number: str, told: str, nest: Callable[[Item], Item]) -> None:
    item = {**KEY, "n": nest({"N": number})}
    assert message(table, "PutItem", TableName="Music", Item=item) == f"1 validation error detected: {told}"


def test_a_zero_with_an_exponent_in_range_is_zero(table: World) -> None:
    table.put({**KEY, "n": {"N": "0e125"}})
    assert table.call("GetItem", TableName="Music", Key=KEY)["Item"]["n"] == {"N": "0"}


@each_fault
@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("GetItem", lambda v: {"TableName": "Music", "Key": {"pk": v}}),
        ("BatchGetItem", lambda v: {"RequestItems": {"Music": {"Keys": [{"pk": v}]}}}),
        ("Query", lambda v: {"TableName": "Music", "KeyConditionExpression": "pk = :v", "ExpressionAttributeValues": {":v": v}}),
        (
            "Query",
            lambda v: {
                "TableName": "Music",
                "KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}},
                "QueryFilter": {"n": {"ComparisonOperator": "EQ", "AttributeValueList": [v]}},
            },
        ),
        (
            "Query",
            lambda v: {
                "TableName": "Music",
                "KeyConditionExpression": "pk = :p",
                "ExpressionAttributeValues": {":p": {"S": "a"}},
                "ExclusiveStartKey": {"pk": v},
            },
        ),
    ],
)
def test_reads_by_key_have_the_newer_words_alone(
    table: World, operation: str, request_: Request, value: Item, newer: str, older: str
) -> None:
    assert message(table, operation, **request_(value)) == newer


@each_fault
@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("BatchWriteItem", lambda v: {"RequestItems": {"Music": [{"PutRequest": {"Item": {**KEY, "n": v}}}]}}),
        ("BatchWriteItem", lambda v: {"RequestItems": {"Music": [{"DeleteRequest": {"Key": {"pk": v}}}]}}),
        ("TransactWriteItems", lambda v: {"TransactItems": [{"Put": {"TableName": "Music", "Item": {**KEY, "n": v}}}]}),
        ("TransactWriteItems", lambda v: {"TransactItems": [{"Delete": {"TableName": "Music", "Key": {"pk": v}}}]}),
        ("TransactGetItems", lambda v: {"TransactItems": [{"Get": {"TableName": "Music", "Key": {"pk": v}}}]}),
    ],
)
def test_batches_of_writes_and_transactions_have_the_older_words(
    table: World, operation: str, request_: Request, value: Item, newer: str, older: str
) -> None:
    assert message(table, operation, **request_(value)) == older


@each_fault
@pytest.mark.parametrize("kind", ["Put", "Delete", "ConditionCheck", "Scan"])
def test_the_older_words_name_the_placeholder(table: World, kind: str, value: Item, newer: str, older: str) -> None:
    if kind == "Scan":
        said = message(table, "Scan", TableName="Music", FilterExpression="n = :v", ExpressionAttributeValues={":v": value})
    else:
        action = {"TableName": "Music", ("Item" if kind == "Put" else "Key"): KEY, **using(value, "n = :v")}
        said = message(table, "TransactWriteItems", TransactItems=[{kind: action}])
    assert said == f"ExpressionAttributeValues contains invalid value: {older} for key :v"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"ExpressionAttributeValues": {":v": {"S": "x"}}}, "ExpressionAttributeValues can only be specified when using expressions"),
        ({"ExpressionAttributeNames": {"#a": "a"}}, "ExpressionAttributeNames can only be specified when using expressions"),
        ({"ConditionExpression": "attribute_exists(a)", "ExpressionAttributeValues": {}}, "ExpressionAttributeValues must not be empty"),
        ({"ConditionExpression": "attribute_exists(a)", "ExpressionAttributeNames": {}}, "ExpressionAttributeNames must not be empty"),
        ({"ConditionExpression": ""}, "Invalid ConditionExpression: The expression can not be empty;"),
        ({"ReturnValues": "ALL_NEW"}, "ReturnValues can only be ALL_OLD or NONE"),
        ({"Expected": {"a": {"Exists": True}}}, f"{INVALID}Value must be provided when Exists is true for Attribute: a"),
        (
            {"Expected": {"a": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [{"S": "x"}]}}},
            f"{INVALID}Invalid number of argument(s) for the BETWEEN ComparisonOperator",
        ),
    ],
)
def test_delete_item_tells_faults_of_its_parameters_in_the_envelope(table: World, given: dict[str, Any], told: str) -> None:
    assert message(table, "DeleteItem", TableName="Music", Key=KEY, **given) == f"1 validation error detected: {told}"


@pytest.mark.parametrize(
    ("operation", "given", "told"),
    [
        ("PutItem", {"Item": KEY, "ConditionExpression": ""}, "Invalid ConditionExpression: The expression can not be empty;"),
        (
            "PutItem",
            {"Item": KEY, "Expected": {"a": {"ComparisonOperator": "EQ"}}},
            f"{INVALID}Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a",
        ),
        (
            "UpdateItem",
            {
                "Key": KEY,
                "UpdateExpression": "SET b = :w",
                "ConditionExpression": "a = :v",
                "ExpressionAttributeValues": {":w": {"S": "x"}},
            },
            "Invalid ConditionExpression: An expression attribute value used in expression is not defined; attribute value: :v",
        ),
    ],
)
def test_conditions_of_writes_are_refused_in_the_envelope(table: World, operation: str, given: dict[str, Any], told: str) -> None:
    assert message(table, operation, TableName="Music", **given) == f"1 validation error detected: {told}"


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem"])
def test_a_depth_of_32_is_refused_without_a_word_on_its_placeholder(table: World, operation: str) -> None:
    given = {"Item" if operation == "PutItem" else "Key": KEY, **using(deep(32), "n = :v")}
    assert message(table, operation, TableName="Music", **given) == f"1 validation error detected: {NESTED}"


def test_a_depth_of_31_is_compared(table: World) -> None:
    error = table.refusal("DeleteItem", TableName="Music", Key=KEY, **using(deep(31), "n = :v"))
    assert error.code == "ConditionalCheckFailedException"


@pytest.mark.parametrize(
    ("levels", "told"),
    [(40, "1 validation error detected: ReturnValues can only be ALL_OLD or NONE"), (63, "ReturnValues can only be ALL_OLD or NONE")],
)
def test_a_request_of_great_depth_is_left_to_the_older_check(table: World, levels: int, told: str) -> None:
    given = using(deep(levels), "n = :v")
    assert message(table, "DeleteItem", TableName="Music", Key=KEY, ReturnValues="UPDATED_NEW", **given) == told


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("SET n = :v SET m = :v", 'The "SET" section can only be used once in an update expression;'),
        (
            "SET n = :v REMOVE n.m",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [n], path two: [n, m]",
        ),
    ],
)
def test_clashing_parts_of_an_update_expression_are_told_in_an_envelope(table: World, expression: str, told: str) -> None:
    request = {"UpdateExpression": expression, "ExpressionAttributeValues": {":v": {"S": "v"}}}
    enclosed = message(table, "UpdateItem", TableName="Music", Key=KEY, **request)
    assert enclosed == f"1 validation error detected: Invalid UpdateExpression: {told}"
    transaction = [{"Update": {"TableName": "Music", "Key": KEY, **request}}]
    assert message(table, "TransactWriteItems", TransactItems=transaction) == f"Invalid UpdateExpression: {told}"


@pytest.mark.parametrize(("kind", "named"), [("SS", "string"), ("NS", "number")])
def test_a_value_that_is_a_set_without_members_is_told_without_its_placeholder(table: World, kind: str, named: str) -> None:
    request = {"UpdateExpression": "ADD n :v", "ExpressionAttributeValues": {":v": {kind: []}}}
    told = message(table, "UpdateItem", TableName="Music", Key=KEY, **request)
    assert told == f"1 validation error detected: {INVALID}An {named} set  may not be empty"


def test_a_name_that_no_expression_uses_is_told_in_an_envelope_by_a_put_only(table: World) -> None:
    names = {"ExpressionAttributeNames": {"#n": "n", "#unused": "m"}}
    told = "Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}"
    put = message(table, "PutItem", TableName="Music", Item=KEY, ConditionExpression="attribute_not_exists(#n)", **names)
    assert put == f"1 validation error detected: {told}"
    assert message(table, "UpdateItem", TableName="Music", Key=KEY, UpdateExpression="REMOVE #n", **names) == told
