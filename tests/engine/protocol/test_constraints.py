import pytest

from gateleg.engine.protocol import check
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
