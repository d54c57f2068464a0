"""What is refused before an operation runs: wrong JSON types, and violated constraints; and what passes at a glance."""

import copy
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.engine.engine import Engine
from gateleg.engine.errors import EngineError, condition_failed
from gateleg.engine.protocol import OPERATIONS, check
from gateleg.engine.protocol.check import compiled, enforce, read
from gateleg.engine.protocol.shapes import Boolean, Kind, ListOf, MapOf, Number, Structure, TableName, Text
from gateleg.engine.values import validate
from gateleg.plain import is_plain
from tests.engine.operations.requests import refusal as engine_refusal
from tests.engine.operations.requests import table
from tests.engine.protocol.refusals import faults, refusal

PATTERN = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"


def fault(value: str, path: str, rule: str) -> str:
    return f"Value {value} at '{path}' failed to satisfy constraint: {rule}"


def test_missing_members_are_reported_together() -> None:
    missing = "Member must not be null"
    assert faults("PutItem", {}) == [fault("null", "tableName", missing), fault("null", "item", missing)]


def test_faults_are_reported_in_dynamodbs_order() -> None:
    found = faults(
        "PutItem", {"TableName": "abc;", "ReturnConsumedCapacity": "hi", "ReturnItemCollectionMetrics": "hi", "ReturnValues": "hi"}
    )
    assert found == [
        fault("'hi'", "returnConsumedCapacity", "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"),
        fault("'abc;'", "tableName", PATTERN),
        fault("null", "item", "Member must not be null"),
        fault("'hi'", "returnValues", "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"),
        fault("'hi'", "returnItemCollectionMetrics", "Member must satisfy enum value set: [SIZE, NONE]"),
    ]


def test_an_empty_table_name_is_reported_alone() -> None:
    found = faults("PutItem", {"TableName": "", "ReturnValues": "INVALID"})
    assert found == [fault("''", "tableName", "Member must have length greater than or equal to 1")]


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("xx", ["Member must have length greater than or equal to 3"]),
        ("a" * 256, ["Member must have length less than or equal to 255"]),
        ("bad table!@#", [PATTERN]),
        ("a;", [PATTERN, "Member must have length greater than or equal to 3"]),
    ],
)
def test_table_names_are_checked(name: str, rules: list[str]) -> None:
    assert faults("GetItem", {"TableName": name, "Key": {}}) == [fault(f"'{name}'", "tableName", rule) for rule in rules]


def test_an_arn_may_stand_for_a_name() -> None:
    arn = "arn:aws:dynamodb:us-east-1:123456789012:table/Music"
    check("GetItem", {"TableName": arn, "Key": {}})
    check("DescribeTable", {"TableName": arn})
    check("BatchGetItem", {"RequestItems": {arn: {"Keys": [{}]}}})


@pytest.mark.parametrize("operation", ["CreateTable", "UpdateTable", "DescribeTable", "DeleteTable", "DescribeTimeToLive"])
def test_operations_on_tables_want_a_name_first(operation: str) -> None:
    assert refusal(operation, {}).message == "The parameter 'TableName' is required but was not present in the request"


@pytest.mark.parametrize("operation", ["UpdateTable", "DescribeTable", "DeleteTable", "DescribeTimeToLive"])
def test_operations_on_tables_word_the_length_of_names_their_own_way(operation: str) -> None:
    message = "TableName must be at least 3 characters long and at most 255 characters long"
    assert refusal(operation, {"TableName": "a;"}).message == message
    assert refusal(operation, {"TableName": "a" * 256}).message == message
    assert faults(operation, {"TableName": "abc;"}) == [fault("'abc;'", "tableName", PATTERN)]


def test_a_new_tables_name_is_checked_with_the_rest() -> None:
    request = {"TableName": "ab", "AttributeDefinitions": [], "KeySchema": [{"AttributeName": "a", "KeyType": "INVALID"}]}
    assert faults("CreateTable", request) == [
        fault("'ab'", "tableName", "Member must have length greater than or equal to 3"),
        fault("'INVALID'", "keySchema.1.member.keyType", "Member must satisfy enum value set: [HASH, RANGE]"),
    ]


def test_lists_of_structures_are_printed_as_java_prints_them() -> None:
    elements = [{"AttributeName": name, "KeyType": "HASH"} for name in "abc"]
    printed = ", ".join(f"KeySchemaElement(attributeName={name}, keyType=HASH)" for name in "abc")
    found = faults("CreateTable", {"TableName": "abc", "AttributeDefinitions": [], "KeySchema": elements})
    assert found == [fault(f"'[{printed}]'", "keySchema", "Member must have length less than or equal to 2")]


def test_nested_members_have_paths() -> None:
    request = {"TableName": "abc", "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "a", "ProvisionedThroughput": {}}}]}
    place = "globalSecondaryIndexUpdates.1.member.update"
    assert faults("UpdateTable", request) == [
        fault("'a'", f"{place}.indexName", "Member must have length greater than or equal to 3"),
        fault("null", f"{place}.provisionedThroughput.writeCapacityUnits", "Member must not be null"),
        fault("null", f"{place}.provisionedThroughput.readCapacityUnits", "Member must not be null"),
    ]


def test_a_null_in_a_list_is_a_fault() -> None:
    found = faults("CreateTable", {"TableName": "abc", "AttributeDefinitions": [None], "KeySchema": [None]})
    assert found == [
        fault("null", "attributeDefinitions.1.member", "Member must not be null"),
        fault("null", "keySchema.1.member", "Member must not be null"),
    ]


def test_at_most_ten_faults_are_reported() -> None:
    assert len(faults("CreateTable", {"TableName": "abc", "AttributeDefinitions": [{}] * 20, "KeySchema": [{}]})) == 10


def test_a_limit_is_printed_in_a_scan_and_not_in_a_query() -> None:
    rule = "failed to satisfy constraint: Member must have value greater than or equal to 1"
    assert faults("Scan", {"TableName": "abc", "Limit": 0}) == [f"Value '0' at 'limit' {rule}"]
    assert faults("Query", {"TableName": "abc", "Limit": 0}) == [f"Value at 'Limit' {rule}"]


def test_a_batch_reads_at_most_a_hundred_keys_of_a_table() -> None:
    found = faults("BatchGetItem", {"RequestItems": {"Music": {"Keys": [{}] * 101}}})
    rule = "Member must have length less than or equal to 100"
    assert found == [f"Value at 'RequestItems.Music.member.Keys' failed to satisfy constraint: {rule}"]


def test_a_batch_writes_at_most_25_items_of_a_table() -> None:
    request = {"RequestItems": {"Music": [{"PutRequest": {"Item": {"a": {"S": "x"}}}}] * 26}}
    message = refusal("BatchWriteItem", request).message or ""
    assert message.startswith("1 validation error detected: Value '{Music=[WriteRequest(")
    assert message.endswith(
        "]}' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: "
        "[Member must have length less than or equal to 25, Member must have length greater than or equal to 1]"
    )


@pytest.mark.parametrize("operation", ["BatchGetItem", "BatchWriteItem"])
def test_an_empty_batch_is_refused(operation: str) -> None:
    assert refusal(operation, {"RequestItems": {}}).message == f"The requestItems parameter is required for {operation}"


def test_the_names_of_tables_in_a_batch_are_checked() -> None:
    message = refusal("BatchWriteItem", {"RequestItems": {"a;": [{}]}}).message or ""
    assert "at 'requestItems' failed to satisfy constraint: Map keys must satisfy constraint: [Member must have length" in message


def test_the_names_of_tables_in_a_batch_of_writes_give_way_to_any_other_fault() -> None:
    found = faults("BatchWriteItem", {"RequestItems": {"a;": [{}]}, "ReturnConsumedCapacity": "hi"})
    assert found == [fault("'hi'", "returnConsumedCapacity", "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]")]


def test_a_batch_of_reads_is_printed_as_it_came_and_before_the_rest() -> None:
    found = faults("BatchGetItem", {"RequestItems": {"a;": {"Keys": [{"pk": {"S": "a"}}]}}, "ReturnConsumedCapacity": "hi"})
    assert [one.split(" failed")[0] for one in found] == [
        'Value \'{"a;":{"Keys":[{"pk":{"S":"a"}}]}}\' at \'requestItems\'',
        "Value 'hi' at 'returnConsumedCapacity'",
    ]


def test_a_batch_reads_at_least_one_key_of_a_table() -> None:
    rule = "Member must have length greater than or equal to 1"
    found = faults("BatchGetItem", {"RequestItems": {"Music": {"Keys": []}}})
    assert found == [f"Value at 'RequestItems.Music.member.Keys' failed to satisfy constraint: {rule}"]


def test_an_update_without_a_key_is_told_all_its_faults_with_the_key_last() -> None:
    found = faults("UpdateItem", {"TableName": "", "ReturnConsumedCapacity": "hi", "ReturnValues": "hi", "ConditionalOperator": "hi"})
    places = [one.split("' failed")[0].split(" at '")[1] for one in found]
    assert places == ["returnConsumedCapacity", "tableName", "returnValues", "conditionalOperator", "key"]


def test_an_update_with_a_key_is_told_of_an_empty_table_name_alone() -> None:
    found = faults("UpdateItem", {"TableName": "", "Key": {}, "ReturnValues": "hi"})
    assert found == [fault("''", "tableName", "Member must have length greater than or equal to 1")]


def test_a_query_tells_of_its_conditional_operator_first() -> None:
    empty = {"ComparisonOperator": "NULL"}
    request = {"TableName": "abc", "QueryFilter": {"a": empty, "b": empty}, "ConditionalOperator": "XOR", "Select": "hi"}
    assert refusal("Query", request).message == "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"


def test_global_indexes_are_checked_before_local_ones() -> None:
    index = {"IndexName": "i", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "Projection": {}}
    request = {
        "TableName": "abc",
        "AttributeDefinitions": [],
        "KeySchema": index["KeySchema"],
        "LocalSecondaryIndexes": [index],
        "GlobalSecondaryIndexes": [index],
    }
    places = [one.split(" at '")[1].split(".")[0] for one in faults("CreateTable", request)]
    assert places == ["globalSecondaryIndexes", "localSecondaryIndexes"]


def test_a_transactions_token_is_checked_before_the_rest() -> None:
    item = {"Put": {"TableName": "abc", "Item": {}}}
    found = faults("TransactWriteItems", {"TransactItems": [item], "ClientRequestToken": "x" * 37, "ReturnConsumedCapacity": "hi"})
    assert [one.split("' failed")[0].split(" at '")[1] for one in found] == ["clientRequestToken", "returnConsumedCapacity"]


@pytest.mark.parametrize("operation", ["TransactGetItems", "TransactWriteItems"])
def test_an_empty_transaction_is_refused(operation: str) -> None:
    assert faults(operation, {"TransactItems": []}) == [
        fault("'[]'", "transactItems", "Member must have length greater than or equal to 1")
    ]


def test_members_of_transactions_are_required() -> None:
    found = faults("TransactWriteItems", {"TransactItems": [{"Update": {"Key": {}, "TableName": "abc"}}]})
    assert found == [fault("null", "transactItems.1.member.update.updateExpression", "Member must not be null")]


def test_a_page_of_tables_has_at_most_a_hundred() -> None:
    assert faults("ListTables", {"Limit": 101}) == [fault("'101'", "limit", "Member must have value less than or equal to 100")]


def test_an_attribute_of_expiry_has_a_name() -> None:
    request = {"TableName": "abc", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": ""}}
    path = "timeToLiveSpecification.attributeName"
    assert faults("UpdateTimeToLive", request) == [fault("''", path, "Member must have length greater than or equal to 1")]


def test_keys_are_strings_numbers_or_binary() -> None:
    request = {
        "TableName": "abc",
        "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "Q"}],
        "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
    }
    path = "attributeDefinitions.1.member.attributeType"
    assert faults("CreateTable", request) == [fault("'Q'", path, "Member must satisfy enum value set: [B, N, S]")]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def near(kind: Kind) -> st.SearchStrategy[Any]:
    """Values that are mostly of a kind, and sometimes anything."""
    return st.one_of(_likely(kind), _likely(kind), _likely(kind), JUNK)


def _likely(kind: Kind) -> st.SearchStrategy[Any]:
    match kind:
        case Structure():
            return st.fixed_dictionaries({}, optional={name: near(member) for name, member in kind.members.items()})
        case ListOf():
            return st.lists(near(kind.item), max_size=3)
        case MapOf():
            return st.dictionaries(st.sampled_from(["abc", "Music", "x!"]), near(kind.value), max_size=2)
        case Number():
            return st.integers(-1, 30)
        case Boolean():
            return st.booleans() | st.sampled_from(["true", "no", "maybe"])
        case TableName():
            return st.sampled_from(["abc", "", "a;", "arn:aws:dynamodb:us-east-1:123456789012:table/abc"])
        case Text():
            return st.sampled_from([*kind.enum, "abc", "x" * (kind.min or 1), "!", ""])


REQUESTS = {name: _likely(shape) for name, shape in OPERATIONS.items()}


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_glance_passes_only_what_a_closer_look_would_pass(data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from(sorted(OPERATIONS)))
    shape = OPERATIONS[operation]
    request = data.draw(REQUESTS[operation])
    _, test = compiled(shape)
    if test is None or test(request):
        before = copy.deepcopy(request)
        read(shape, request)
        enforce(shape, request)
        assert request == before


def test_common_requests_pass_at_a_glance() -> None:
    requests: dict[str, dict[str, Any]] = {
        "GetItem": {"TableName": "Music", "Key": {"a": {"S": "x"}}, "ConsistentRead": True},
        "PutItem": {"TableName": "Music", "Item": {}, "ConditionExpression": "a = :a", "ExpressionAttributeValues": {":a": {"S": "x"}}},
        "UpdateItem": {"TableName": "Music", "Key": {}, "UpdateExpression": "SET #a = :a", "ExpressionAttributeNames": {"#a": "a"}},
        "Query": {"TableName": "Music", "KeyConditionExpression": "a = :a", "Limit": 10, "ScanIndexForward": False},
        "BatchWriteItem": {"RequestItems": {"Music": [{"PutRequest": {"Item": {}}}, {"DeleteRequest": {"Key": {}}}]}},
        "TransactWriteItems": {"TransactItems": [{"Put": {"TableName": "Music", "Item": {}}}], "ClientRequestToken": "t"},
    }
    for operation, request in requests.items():
        _, test = compiled(OPERATIONS[operation])
        assert test is not None
        assert test(request), operation
        check(operation, request)


@pytest.mark.peer
def test_the_operations_are_those_of_the_published_api() -> None:
    session = botocore.session.get_session()
    published: set[str] = set()
    for service in ("dynamodb", "dynamodbstreams"):
        model: Any = session.get_service_model(service)
        published |= set(model.operation_names)
    assert published <= set(OPERATIONS)


@pytest.mark.peer
def test_no_member_of_the_published_api_is_missing() -> None:
    session = botocore.session.get_session()
    for service in ("dynamodb", "dynamodbstreams"):
        model: Any = session.get_service_model(service)
        for name in model.operation_names:
            members = model.operation_model(name).input_shape
            assert set(members.members if members else ()) <= set(OPERATIONS[name].members), name


CAST = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class "
    "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base of loader 'bootstrap')"
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "TRUE_VALUE cannot be converted to String"),
        (False, "FALSE_VALUE cannot be converted to String"),
        (23, "NUMBER_VALUE cannot be converted to String"),
        (34.56, "DECIMAL_VALUE cannot be converted to String"),
        ([], "Unrecognized collection type class java.lang.String"),
        ({}, "Start of structure or map found where not expected"),
    ],
)
def test_a_string_is_wanted(value: Any, message: str) -> None:
    error = refusal("PutItem", {"TableName": value})
    assert (error.code, error.message) == ("SerializationException", message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("23", "STRING_VALUE cannot be converted to Integer"),
        (True, "TRUE_VALUE cannot be converted to Integer"),
        (float("inf"), "DECIMAL_VALUE cannot be converted to Integer"),
        ([], "Unrecognized collection type class java.lang.Integer"),
        ({}, "Start of structure or map found where not expected"),
    ],
)
def test_an_integer_is_wanted(value: Any, message: str) -> None:
    assert refusal("ListTables", {"Limit": value}).message == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("23", "Unexpected token received from parser"),
        (23, "NUMBER_VALUE cannot be converted to Boolean"),
        (34.56, "DECIMAL_VALUE cannot be converted to Boolean"),
        ([], "Unrecognized collection type class java.lang.Boolean"),
        ({}, "Start of structure or map found where not expected"),
    ],
)
def test_a_boolean_is_wanted(value: Any, message: str) -> None:
    assert refusal("GetItem", {"ConsistentRead": value}).message == message


@pytest.mark.parametrize(
    ("operation", "request_", "message"),
    [
        ("CreateTable", {"KeySchema": "23"}, "Unexpected field type"),
        ("CreateTable", {"KeySchema": {}}, "Start of structure or map found where not expected"),
        ("CreateTable", {"KeySchema": ["23"]}, "Unexpected value type in payload"),
        ("CreateTable", {"KeySchema": [[]]}, "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.KeySchemaElement"),
        ("CreateTable", {"ProvisionedThroughput": "23"}, "Unexpected field type"),
        ("PutItem", {"Item": 23}, "Unexpected field type"),
        (
            "PutItem",
            {"Item": []},
            "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
        ),
        ("PutItem", {"ExpressionAttributeNames": []}, "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>"),
        ("PutItem", {"ExpressionAttributeNames": {"#a": 1}}, "NUMBER_VALUE cannot be converted to String"),
        ("PutItem", {"Expected": {"a": 1}}, "Unexpected value type in payload"),
        ("BatchGetItem", {"RequestItems": {"abc": {"Keys": ["23"]}}}, CAST),
        ("BatchWriteItem", {"RequestItems": {"abc": "23"}}, CAST),
        (
            "BatchWriteItem",
            {"RequestItems": []},
            "Unrecognized collection type java.util.Map<java.lang.String, java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>>",
        ),
        ("UpdateItem", {"AttributeUpdates": {"a": {"Value": "x"}}}, "Unexpected field type"),
    ],
)
def test_a_container_is_wanted(operation: str, request_: dict[str, Any], message: str) -> None:
    error = refusal(operation, request_)
    assert (error.code, error.message) == ("SerializationException", message)


@pytest.mark.parametrize("body", [[], "x", 1, None, True])
def test_a_request_is_a_map(body: Any) -> None:
    assert refusal("PutItem", body).code == "SerializationException"


def test_words_that_stand_for_booleans_are_converted() -> None:
    request: dict[str, Any] = {"TableName": "abc", "Key": {}, "ConsistentRead": "no"}
    check("GetItem", request)
    assert request["ConsistentRead"] is False


def test_fractions_are_cut_off_where_an_integer_is_wanted() -> None:
    request: dict[str, Any] = {"Limit": 2.7}
    check("ListTables", request)
    assert request["Limit"] == 2


def test_null_members_count_as_absent() -> None:
    check("GetItem", {"TableName": "abc", "Key": {}, "ConsistentRead": None, "AttributesToGet": None})


def test_unknown_members_are_ignored() -> None:
    check("GetItem", {"TableName": "abc", "Key": {}, "Whatever": [1, {}]})


@pytest.mark.skipif(is_plain("quick_check"), reason="the full checks look into them")
def test_attribute_values_are_not_looked_into() -> None:
    check("PutItem", {"TableName": "abc", "Item": {"a": 1}, "ExpressionAttributeValues": {":a": []}})


def test_types_come_before_constraints() -> None:
    assert refusal("PutItem", {"ReturnValues": "x", "TableName": 1}).code == "SerializationException"


def test_an_unknown_operation_is_refused_as_such() -> None:
    with pytest.raises(EngineError) as caught:
        check("DropTable", {})
    assert str(caught.value) == "UnknownOperationException"


def test_types_of_attribute_values_come_before_constraints_too() -> None:
    error = refusal("PutItem", {"Item": {"a": {"S": 1}}})
    assert (error.code, error.message) == ("SerializationException", "NUMBER_VALUE cannot be converted to String")
    assert refusal("PutItem", {"Item": {"a": "x"}}).message == "Unexpected value type in payload"
    assert refusal("PutItem", {"Expected": {"a": {"Value": "x"}}}).message == "Unexpected field type"


def test_other_faults_of_attribute_values_come_after_constraints() -> None:
    assert refusal("PutItem", {"Item": {"a": {"N": "x"}}}).code == "ValidationException"
    assert "tableName" in (refusal("PutItem", {"Item": {"a": {}}}).message or "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (1, "only base-64-encoded strings are convertible to bytes"),
        (True, "only base-64-encoded strings are convertible to bytes"),
        ("23456", "Base64 encoded length is expected a multiple of 4 bytes but found: 5"),
        ("=+/=", "Invalid last non-pad Base64 character dectected"),
        ("+/+=", "Invalid last non-pad Base64 character dectected"),
    ],
)
def test_bytes_are_wanted(content: Any, message: str) -> None:
    assert refusal("PutItem", {"Item": {"a": {"B": content}}}).message == message


@pytest.mark.parametrize("value", [{"BOOL": "no"}, {"NULL": "Yes"}, {"BOOL": "1"}])
def test_words_may_stand_for_booleans_in_attribute_values(value: dict[str, str]) -> None:
    assert validate(value) == {next(iter(value)): value != {"BOOL": "no"}}


_BAD: dict[str, Any] = {"SS": []}
_WRONG: list[Any] = [
    {"L": {}},
    {"M": []},
    {"S": 1},
    {"N": 1},
    {"B": "x"},
    {"BOOL": 3},
    {"SS": [1]},
    {"NS": "1"},
    "x",
    {"M": {"y": {"S": 1}}},
]


@pytest.fixture
def music() -> Iterator[Engine]:
    with Engine() as engine:
        engine.call("CreateTable", table("a"))
        yield engine


@pytest.mark.parametrize("wrong", _WRONG)
def test_a_wrong_type_beats_a_bad_value_before_it(music: Engine, wrong: Any) -> None:
    item = {"a": {"S": "x"}, "b": _BAD, "c": wrong}
    assert engine_refusal(music, "PutItem", {"TableName": "Music", "Item": item}).code == "SerializationException"
    nested = {"a": {"S": "x"}, "b": {"M": {"b": _BAD, "c": wrong}}}
    assert engine_refusal(music, "PutItem", {"TableName": "Music", "Item": nested}).code == "SerializationException"


@pytest.mark.parametrize("wrong", _WRONG)
def test_a_wrong_type_beats_faults_of_other_members(music: Engine, wrong: Any) -> None:
    for request in (
        {"TableName": "Music", "Key": {"a": _BAD}, "UpdateExpression": "no", "ExpressionAttributeValues": {":v": wrong}},
        {"TableName": "Nothing", "Key": {"a": {"S": "x"}}, "UpdateExpression": "SET b = :v", "ExpressionAttributeValues": {":v": wrong}},
    ):
        assert engine_refusal(music, "UpdateItem", request).code == "SerializationException"


def test_a_bad_value_alone_is_judged(music: Engine) -> None:
    error = engine_refusal(music, "PutItem", {"TableName": "Music", "Item": {"a": {"S": "x"}, "b": _BAD}})
    assert error.code == "ValidationException"


def test_nothing_is_too_deep_to_be_refused(music: Engine) -> None:
    value: dict[str, Any] = {"S": 1}
    for _ in range(500):
        value = {"L": [value]}
    assert engine_refusal(music, "PutItem", {"TableName": "Music", "Item": {"a": {"S": "x"}, "b": value}}).code == "ValidationException"


def test_a_failed_condition_with_its_item_writes_message_with_a_capital() -> None:
    assert condition_failed({"a": {"S": "x"}}).body()["Message"] == "The conditional request failed"
    assert condition_failed().body()["message"] == "The conditional request failed"
