"""Expected, QueryFilter, ScanFilter, KeyConditions, AttributeUpdates and AttributesToGet."""

from typing import Any

import pytest

from gateleg.engine.errors import EngineError
from gateleg.engine.expressions import CompiledUpdate, prepare
from tests.engine.expressions.refusal import refused

PREAMBLE = "One or more parameter values were invalid: "
SCALAR_OPERATORS = ["LE", "LT", "GE", "GT", "CONTAINS", "NOT_CONTAINS", "IN"]


def expects(item: dict[str, Any], operator: str | None = None, **expected: Any) -> bool:
    request: dict[str, Any] = {"Expected": expected}
    if operator:
        request["ConditionalOperator"] = operator
    prepared = prepare(request, "PutItem")
    assert prepared.condition is not None
    return prepared.condition.test(item, prepared.values)


def compared(operator: str, *values: dict[str, Any]) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": list(values)}


@pytest.mark.parametrize(
    ("operator", "values", "yes", "no"),
    [
        ("EQ", [{"N": "1.0"}], {"N": "1"}, {"S": "1"}),
        ("EQ", [{"SS": ["a", "b"]}], {"SS": ["b", "a"]}, {"SS": ["a"]}),
        ("EQ", [{"L": [{"N": "1"}]}], {"L": [{"N": "1"}]}, {"L": []}),
        ("NE", [{"N": "1"}], {"S": "1"}, {"N": "1"}),
        ("NE", [{"N": "1"}], None, {"N": "1"}),
        ("LE", [{"N": "10"}], {"N": "9"}, {"N": "11"}),
        ("LT", [{"S": "b"}], {"S": "a"}, {"S": "b"}),
        ("GE", [{"B": "gA=="}], {"B": "gA=="}, {"B": "fw=="}),
        ("GT", [{"N": "10"}], {"N": "11"}, None),
        ("NOT_NULL", [], {"NULL": True}, None),
        ("NULL", [], None, {"NULL": True}),
        ("CONTAINS", [{"S": "ell"}], {"S": "hello"}, {"SS": ["hello"]}),
        ("CONTAINS", [{"N": "4"}], {"L": [{"N": "4"}]}, {"NS": ["2"]}),
        ("NOT_CONTAINS", [{"N": "1"}], {"S": "hello"}, {"NS": ["1"]}),
        ("NOT_CONTAINS", [{"N": "1"}], {"L": []}, None),
        ("BEGINS_WITH", [{"S": "he"}], {"S": "hello"}, {"N": "1"}),
        ("IN", [{"N": "1"}, {"N": "2"}], {"N": "2"}, {"NS": ["1", "2"]}),
        ("BETWEEN", [{"N": "1"}, {"N": "10"}], {"N": "10"}, {"N": "11"}),
    ],
)
def test_each_operator_tells_apart(
    operator: str, values: list[dict[str, Any]], yes: dict[str, Any] | None, no: dict[str, Any] | None
) -> None:
    for member, operation in (("Expected", "DeleteItem"), ("ScanFilter", "Scan")):
        prepared = prepare({member: {"a": compared(operator, *values)}}, operation)
        condition = prepared.condition or prepared.filter
        assert condition is not None
        assert condition.attributes == {"a"}
        assert condition.test({} if yes is None else {"a": yes}, prepared.values)
        assert not condition.test({} if no is None else {"a": no}, prepared.values)


@pytest.mark.parametrize(
    ("operator", "count"), [("EQ", 2), ("NE", 0), ("BETWEEN", 1), ("NULL", 1), ("NOT_NULL", 1), ("IN", 0), ("BEGINS_WITH", 2), ("LT", 0)]
)
def test_each_operator_counts_its_arguments(operator: str, count: int) -> None:
    entry = {"a": compared(operator, *[{"S": "x"}] * count)}
    expected = f"{PREAMBLE}Invalid number of argument(s) for the {operator} ComparisonOperator"
    assert refused("Scan", ScanFilter=entry) == expected
    assert refused("PutItem", Expected=entry) == expected
    assert refused("Query", KeyConditions=entry) == expected


@pytest.mark.parametrize("operator", SCALAR_OPERATORS)
@pytest.mark.parametrize("value", [{"L": []}, {"M": {}}, {"SS": ["a"]}, {"BOOL": True}, {"NULL": True}])
def test_most_operators_take_scalars_only(operator: str, value: dict[str, Any]) -> None:
    expected = f"{PREAMBLE}ComparisonOperator {operator} is not valid for {next(iter(value))} AttributeValue type"
    assert refused("Scan", ScanFilter={"a": compared(operator, value)}) == expected
    assert refused("UpdateItem", Expected={"a": compared(operator, value)}) == expected


def test_begins_with_takes_no_numbers() -> None:
    message = refused("Query", KeyConditions={"a": compared("BEGINS_WITH", {"N": "1"})})
    assert message == f"{PREAMBLE}ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"


@pytest.mark.parametrize("operator", ["IN", "BETWEEN"])
def test_arguments_are_of_one_type(operator: str) -> None:
    message = refused("Scan", ScanFilter={"a": compared(operator, {"S": "a"}, {"N": "1"})})
    assert message == f"{PREAMBLE}AttributeValues inside AttributeValueList must be of same type"


def test_bounds_are_in_order() -> None:
    expected = "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    assert refused("Scan", ScanFilter={"a": compared("BETWEEN", {"N": "10"}, {"N": "9"})}) == expected
    assert refused("PutItem", Expected={"a": compared("BETWEEN", {"N": "10"}, {"N": "9"})}) == expected


def test_values_are_checked() -> None:
    message = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
    assert refused("Scan", ScanFilter={"a": compared("EQ", {})}) == message
    assert refused("PutItem", Expected={"a": {"Value": {}}}) == message
    assert refused("UpdateItem", AttributeUpdates={"a": {"Value": {}}}) == message


@pytest.mark.parametrize(
    ("member", "operation"), [("QueryFilter", "Query"), ("KeyConditions", "Query"), ("ScanFilter", "Scan"), ("Expected", "PutItem")]
)
def test_an_unknown_operator_is_refused_with_the_known_ones(member: str, operation: str) -> None:
    request: dict[str, Any] = {"KeyConditions": {"p": compared("EQ", {"S": "x"})}} if member == "QueryFilter" else {}
    request[member] = {"a": compared("eq", {"S": "x"})}
    place = f"{member[0].lower()}{member[1:]}.a.member.comparisonOperator"
    assert refused(operation, **request) == (
        f"1 validation error detected: Value 'eq' at '{place}' failed to satisfy constraint: Member must satisfy enum value set: "
        "[IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]"
    )


def test_expected_values_and_absence() -> None:
    assert expects({"a": {"N": "1"}}, a={"Value": {"N": "1"}})
    assert expects({"a": {"N": "1"}}, a={"Value": {"N": "1"}, "Exists": True})
    assert not expects({}, a={"Value": {"N": "1"}})
    assert expects({}, a={"Exists": False})
    assert not expects({"a": {"N": "1"}}, a={"Exists": False})
    assert expects({"a": {"N": "2"}}, a={"ComparisonOperator": "GT", "Value": {"N": "1"}})
    assert expects({}, a={"ComparisonOperator": "NULL"})


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"Value": {"S": "a"}, "AttributeValueList": []}, "Value and AttributeValueList cannot be used together for Attribute: x"),
        ({"ComparisonOperator": "EQ", "Exists": False}, "Exists and ComparisonOperator cannot be used together for Attribute: x"),
        ({"ComparisonOperator": "EQ"}, "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: x"),
        ({"AttributeValueList": [{"S": "a"}]}, "AttributeValueList can only be used with a ComparisonOperator for Attribute: x"),
        ({}, "Value must be provided when Exists is null for Attribute: x"),
        ({"Exists": True}, "Value must be provided when Exists is true for Attribute: x"),
        ({"Exists": False, "Value": {"S": "a"}}, "Value cannot be used when Exists is false for Attribute: x"),
        ({"ComparisonOperator": "NOT_NULL", "Value": {"S": "a"}}, "Invalid number of argument(s) for the NOT_NULL ComparisonOperator"),
    ],
)
def test_members_of_expected_that_do_not_go_together(entry: dict[str, Any], message: str) -> None:
    assert refused("PutItem", Expected={"x": entry}) == PREAMBLE + message


def test_conditions_are_joined_by_and_unless_or_is_asked_for() -> None:
    item = {"a": {"N": "1"}, "b": {"N": "2"}}
    one, other = {"Value": {"N": "1"}}, {"Value": {"N": "1"}}
    assert not expects(item, a=one, b=other)
    assert not expects(item, "AND", a=one, b=other)
    assert expects(item, "OR", a=one, b=other)
    assert not expects({}, "OR", a=one, b=other)


def test_an_empty_expected_or_filter_asks_nothing() -> None:
    assert prepare({"Expected": {}}, "PutItem").condition is None
    assert prepare({"ScanFilter": {}}, "Scan").filter is None


def test_key_conditions_keep_operator_and_operands() -> None:
    prepared = prepare({"KeyConditions": {"p": compared("EQ", {"N": "1e1"}), "c": compared("BETWEEN", {"S": "a"}, {"S": "b"})}}, "Query")
    assert prepared.key_condition is not None
    assert dict(prepared.key_condition.parts) == {"p": ("EQ", [{"N": "10"}]), "c": ("BETWEEN", [{"S": "a"}, {"S": "b"}])}


def test_attributes_to_get_select_attributes() -> None:
    found = prepare({"AttributesToGet": ["a", "a.b"]}, "GetItem").projection
    assert found is not None
    assert found.attributes == {"a", "a.b"}
    assert found.apply({"a": {"M": {"b": {"N": "1"}}}, "c": {"N": "1"}}) == {"a": {"M": {"b": {"N": "1"}}}}
    assert refused("GetItem", AttributesToGet=["a", "b", "a"]) == f"{PREAMBLE}Duplicate value in attribute name: a"


def attribute_update(**updates: Any) -> CompiledUpdate:
    found = prepare({"AttributeUpdates": updates}, "UpdateItem").update
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("entry", "old", "new"),
    [
        ({"Value": {"N": "1.0"}}, None, {"N": "1"}),
        ({"Action": "PUT", "Value": {"S": "x"}}, {"N": "1"}, {"S": "x"}),
        ({"Action": "DELETE"}, {"N": "1"}, None),
        ({"Action": "DELETE"}, None, None),
        ({"Action": "DELETE", "Value": {"SS": ["a"]}}, {"SS": ["a", "b"]}, {"SS": ["b"]}),
        ({"Action": "DELETE", "Value": {"SS": ["a"]}}, {"SS": ["a"]}, None),
        ({"Action": "DELETE", "Value": {"SS": ["a"]}}, None, None),
        ({"Action": "ADD", "Value": {"N": "-3.5"}}, {"N": "9"}, {"N": "5.5"}),
        ({"Action": "ADD", "Value": {"N": "2"}}, None, {"N": "2"}),
        ({"Action": "ADD", "Value": {"NS": ["2", "3"]}}, {"NS": ["1", "2"]}, {"NS": ["1", "2", "3"]}),
        ({"Action": "ADD", "Value": {"L": [{"N": "2"}]}}, {"L": [{"N": "2"}]}, {"L": [{"N": "2"}, {"N": "2"}]}),
        ({"Action": "ADD", "Value": {"L": [{"N": "2"}]}}, None, {"L": [{"N": "2"}]}),
    ],
)
def test_attribute_updates_put_add_and_delete(entry: dict[str, Any], old: dict[str, Any] | None, new: dict[str, Any] | None) -> None:
    item = {"k": {"S": "1"}, **({} if old is None else {"a": old})}
    wanted = {"k": {"S": "1"}, **({} if new is None else {"a": new})}
    found = attribute_update(a=entry)
    assert found.apply(item, {}) == wanted
    assert found.written_paths(wanted) == ({} if new is None else {"a": new})


@pytest.mark.parametrize(
    ("entry", "old"),
    [
        ({"Action": "ADD", "Value": {"N": "1"}}, {"S": "1"}),
        ({"Action": "ADD", "Value": {"L": []}}, {"SS": ["1"]}),
        ({"Action": "DELETE", "Value": {"SS": ["1"]}}, {"NS": ["1"]}),
    ],
)
def test_attribute_updates_need_the_type_that_is_there(entry: dict[str, Any], old: dict[str, Any]) -> None:
    with pytest.raises(EngineError, match="Type mismatch for attribute to update"):
        attribute_update(a=entry).apply({"a": old}, {})


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "ADD"}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "DELETE", "Value": {"N": "1"}}, "DELETE action with value is not supported for the type N"),
        ({"Action": "ADD", "Value": {"S": "1"}}, "ADD action is not supported for the type S"),
    ],
)
def test_attribute_updates_that_make_no_sense(entry: dict[str, Any], message: str) -> None:
    assert refused("UpdateItem", AttributeUpdates={"a": entry}) == PREAMBLE + message


def test_an_unknown_action_is_refused_with_the_known_ones() -> None:
    assert refused("UpdateItem", AttributeUpdates={"a": {"Action": "DOG", "Value": {"N": "1"}}}) == (
        "1 validation error detected: Value 'DOG' at 'attributeUpdates.a.member.action' failed to satisfy constraint: "
        "Member must satisfy enum value set: [ADD, PUT, DELETE]"
    )


def test_only_deletions_do_not_create_an_item() -> None:
    assert attribute_update().creates_item
    assert attribute_update(a={"Value": {"N": "1"}}).creates_item
    assert not attribute_update(a={"Action": "DELETE"}, b={"Action": "DELETE", "Value": {"SS": ["a"]}}).creates_item


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "Empty attribute name"), ("x" * 65536, "Attribute name is too large, must be less than 65536 bytes")],
    ids=["empty", "endless"],
)
def test_names_are_neither_empty_nor_endless(name: str, message: str) -> None:
    assert refused("GetItem", AttributesToGet=[name]) == message
    assert refused("UpdateItem", AttributeUpdates={name: {"Value": {"N": "1"}}}) == message
    assert refused("PutItem", Expected={name: {"Exists": False}}) == message
    assert refused("Scan", ScanFilter={name: compared("NULL")}) == message
    assert refused("Query", KeyConditions={name: compared("EQ", {"N": "1"})}) == message
