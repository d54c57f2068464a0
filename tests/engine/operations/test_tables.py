import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gateleg.engine import Engine, EngineError
from gateleg.engine.operations.tables import OPERATIONS
from gateleg.engine.protocol import OPERATIONS as SHAPES
from gateleg.engine.schema import Namespace
from tests.engine.operations.requests import UNITS, attributes, described, index, refusal, table


def test_a_new_table_is_creating_in_the_answer_and_active_right_after(engine: Engine) -> None:
    answer = engine.call("CreateTable", table("a", GlobalSecondaryIndexes=[index("gsi", "a")]))["TableDescription"]
    assert answer["TableStatus"] == answer["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    now = described(engine)
    assert now["TableStatus"] == now["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
    assert "Backfilling" not in now["GlobalSecondaryIndexes"][0]


def test_the_description_of_a_provisioned_table(engine: Engine) -> None:
    answer = engine.call("CreateTable", table("a", "b:N", ProvisionedThroughput=UNITS))["TableDescription"]
    identity = answer.pop("TableId")
    assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", identity)
    assert answer == {
        "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}, {"AttributeName": "b", "AttributeType": "N"}],
        "TableName": "Music",
        "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "b", "KeyType": "RANGE"}],
        "TableStatus": "CREATING",
        "CreationDateTime": 1_700_000_001.0,
        "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, **UNITS},
        "TableSizeBytes": 0,
        "ItemCount": 0,
        "TableArn": engine.namespace.arn("table/Music"),
        "DeletionProtectionEnabled": False,
    }


def test_a_table_on_demand_says_since_when(engine: Engine) -> None:
    engine.call("CreateTable", table("a"))
    now = described(engine)
    assert now["BillingModeSummary"] == {
        "BillingMode": "PAY_PER_REQUEST",
        "LastUpdateToPayPerRequestDateTime": now["CreationDateTime"],
    }
    assert now["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
    assert now["WarmThroughput"] == {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"}


def test_indexes_are_described(engine: Engine) -> None:
    local = index("lsi", "a", "c", Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]})
    request = table(
        "a", "b", defined=["a", "b", "c"], LocalSecondaryIndexes=[local], GlobalSecondaryIndexes=[index("gsi", "b", "c", hashes=2)]
    )
    engine.call("CreateTable", request)
    engine.call("PutItem", {"TableName": "Music", "Item": {name: {"S": "x"} for name in "abc"}})
    now = described(engine)
    assert now["LocalSecondaryIndexes"] == [
        {
            "IndexName": "lsi",
            "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "c", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
            "IndexSizeBytes": 6,
            "ItemCount": 1,
            "IndexArn": engine.namespace.arn("table/Music/index/lsi"),
        }
    ]
    assert now["GlobalSecondaryIndexes"][0]["KeySchema"] == [
        {"AttributeName": "b", "KeyType": "HASH"},
        {"AttributeName": "c", "KeyType": "HASH"},
    ]
    assert (now["ItemCount"], now["TableSizeBytes"]) == (1, 6)


def test_a_stream_is_described(engine: Engine) -> None:
    engine.call("CreateTable", table("a", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}))
    now = described(engine)
    assert now["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    assert now["LatestStreamLabel"] == "2023-11-14T22:13:21.000"
    assert now["LatestStreamArn"] == f"{now['TableArn']}/stream/{now['LatestStreamLabel']}"


def test_settings_are_described(engine: Engine) -> None:
    request = table(
        "a",
        TableClass="STANDARD_INFREQUENT_ACCESS",
        DeletionProtectionEnabled=True,
        SSESpecification={"Enabled": True},
        OnDemandThroughput={"MaxReadRequestUnits": 7},
        WarmThroughput={"ReadUnitsPerSecond": 13000},
    )
    engine.call("CreateTable", request)
    now = described(engine)
    assert now["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert now["DeletionProtectionEnabled"] is True
    assert now["SSEDescription"]["Status"] == "ENABLED"
    assert now["OnDemandThroughput"] == {"MaxReadRequestUnits": 7}
    assert now["WarmThroughput"]["ReadUnitsPerSecond"] == 13000


def test_a_name_is_taken_once(engine: Engine) -> None:
    engine.call("CreateTable", table("a"))
    error = refusal(engine, "CreateTable", table("a"))
    assert (error.code, error.message) == ("ResourceInUseException", "Table already exists: Music")


def test_realms_have_names_of_their_own(engine: Engine) -> None:
    other = Namespace("123456789012", "eu-west-1")
    engine.call("CreateTable", table("a"))
    engine.call("CreateTable", table("a"), namespace=other)
    assert engine.call("DescribeTable", {"TableName": "Music"}, namespace=other)["Table"]["TableArn"] == other.arn("table/Music")


@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable", "DescribeTimeToLive"])
def test_a_table_that_is_not_there(engine: Engine, operation: str) -> None:
    error = refusal(engine, operation, {"TableName": "Nothing"})
    assert (error.code, error.message) == ("ResourceNotFoundException", "Requested resource not found: Table: Nothing not found")


def test_a_table_is_found_by_its_arn(engine: Engine) -> None:
    engine.call("CreateTable", table("a"))
    assert described(engine, engine.namespace.arn("table/Music"))["TableName"] == "Music"


def test_deleting_a_table_removes_it(engine: Engine) -> None:
    engine.call("CreateTable", table("a"))
    engine.call("DeleteTable", {"TableName": "Music"})
    assert engine.call("ListTables", {}) == {"TableNames": []}
    engine.call("CreateTable", table("a"))
    assert described(engine)["ItemCount"] == 0


def test_a_deleted_table_is_described_without_keys_and_indexes(engine: Engine) -> None:
    engine.call("CreateTable", table("a", GlobalSecondaryIndexes=[index("gsi", "a")]))
    answer = engine.call("DeleteTable", {"TableName": "Music"})["TableDescription"]
    assert answer["TableStatus"] == "DELETING"
    assert answer["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert not {"KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes", "CreationDateTime"} & answer.keys()


def test_a_protected_table_is_not_deleted(engine: Engine) -> None:
    engine.call("CreateTable", table("a", DeletionProtectionEnabled=True))
    error = refusal(engine, "DeleteTable", {"TableName": "Music"})
    expected = "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
    assert (error.code, error.message) == ("ValidationException", expected)
    engine.call("UpdateTable", {"TableName": "Music", "DeletionProtectionEnabled": False})
    engine.call("DeleteTable", {"TableName": "Music"})


def test_tables_are_listed_in_order_and_in_pages(engine: Engine) -> None:
    for name in ("ccc", "aaa", "bbb"):
        engine.call("CreateTable", table("a", name=name))
    assert engine.call("ListTables", {}) == {"TableNames": ["aaa", "bbb", "ccc"]}
    assert engine.call("ListTables", {"Limit": 2}) == {"TableNames": ["aaa", "bbb"], "LastEvaluatedTableName": "bbb"}
    assert engine.call("ListTables", {"Limit": 2, "ExclusiveStartTableName": "bbb"}) == {"TableNames": ["ccc"]}
    assert engine.call("ListTables", {"Limit": 3}) == {"TableNames": ["aaa", "bbb", "ccc"]}


def test_one_of_many_creators_wins(engine: Engine) -> None:
    def create(_: int) -> str:
        try:
            engine.call("CreateTable", table("a"))
        except EngineError as error:
            return error.code
        return "created"

    with ThreadPoolExecutor(4) as threads:
        outcomes = Counter(threads.map(create, range(12)))
    assert outcomes == {"created": 1, "ResourceInUseException": 11}


def test_vector_indexes_are_refused(engine: Engine) -> None:
    vector = {
        "IndexName": "vec",
        "VectorAttribute": {"AttributeName": "v"},
        "Projection": {"ProjectionType": "ALL"},
        "Dimensions": 3,
        "DistanceFunction": "COSINE",
    }
    assert refusal(engine, "CreateTable", table("a", VectorIndexes=[vector])).code == "ValidationException"


def test_every_operation_here_has_a_shape() -> None:
    assert set(OPERATIONS) <= set(SHAPES)


def test_warm_throughput_that_was_asked_for_is_being_prepared(engine: Engine) -> None:
    warm = {"ReadUnitsPerSecond": 20000, "WriteUnitsPerSecond": 9000}
    created = engine.call("CreateTable", table("a", WarmThroughput=warm))["TableDescription"]
    assert created["WarmThroughput"] == {**warm, "Status": "UPDATING"}
    assert described(engine)["WarmThroughput"] == {**warm, "Status": "ACTIVE"}


@pytest.mark.parametrize("key", [None, "alias/aws/dynamodb", "arn:aws:kms:us-east-1:123456789012:alias/aws/dynamodb"])
def test_the_key_of_an_alias_is_named_by_its_id(engine: Engine, key: str | None) -> None:
    engine.call("CreateTable", table("a", SSESpecification={"Enabled": True, **({"KMSMasterKeyId": key} if key else {})}))
    arn = described(engine)["SSEDescription"]["KMSMasterKeyArn"]
    assert re.fullmatch(r"arn:aws:kms:us-east-1:123456789012:key/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", arn)


def test_times_are_told_to_the_millisecond(engine: Engine) -> None:
    created = engine.call("CreateTable", table("a"))["TableDescription"]["CreationDateTime"]
    assert created == round(created, 3)


@pytest.mark.parametrize(
    ("member", "units", "more", "told"),
    [
        ("ReadUnitsPerSecond", 11999, {}, "initial throughput for OnDemand. See: https://docs.aws.amazon.com/"),
        ("WriteUnitsPerSecond", 3999, {}, "initial throughput for OnDemand. See: https://docs.aws.amazon.com/"),
        (
            "ReadUnitsPerSecond",
            4,
            {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS},
            "ReadCapacityUnits of ProvisionedThroughput",
        ),
    ],
)
def test_less_warm_throughput_than_there_is_anyway_is_refused(
    engine: Engine, member: str, units: int, more: dict[str, Any], told: str
) -> None:
    with pytest.raises(EngineError) as caught:
        engine.call("CreateTable", table("a", WarmThroughput={member: units}, **more))
    words = f"One or more parameter values were invalid: Requested {member} for WarmThroughput for table is lower than {told}"
    assert (caught.value.message or "").startswith(words)


def test_an_index_that_is_kept_less_warm_than_it_is_anyway_is_named(engine: Engine) -> None:
    colder = index("by-a", "a") | {"WarmThroughput": {"WriteUnitsPerSecond": 1}}
    with pytest.raises(EngineError, match="WriteUnitsPerSecond for WarmThroughput for index by-a is lower than initial throughput"):
        engine.call("CreateTable", table("a", GlobalSecondaryIndexes=[colder]))


INVALID = "One or more parameter values were invalid: "
ONE_INDEX = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"


def update(engine: Engine, **changes: Any) -> dict[str, Any]:
    answer: dict[str, Any] = engine.call("UpdateTable", {"TableName": "Music", **changes})["TableDescription"]
    return answer


def refused(engine: Engine, **changes: Any) -> EngineError:
    return refusal(engine, "UpdateTable", {"TableName": "Music", **changes})


def create(*names: str, **more: Any) -> dict[str, Any]:
    return {"GlobalSecondaryIndexUpdates": [{"Create": index("new", *names, **more)}]}


def drop(*names: str) -> dict[str, Any]:
    return {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}} for name in names]}


@pytest.fixture
def provisioned(engine: Engine) -> Engine:
    engine.call("CreateTable", table("a", ProvisionedThroughput=UNITS))
    return engine


@pytest.fixture
def music(engine: Engine) -> Engine:
    engine.call("CreateTable", table("a"))
    return engine


@pytest.mark.parametrize("changes", [{}, {"GlobalSecondaryIndexUpdates": []}, {"AttributeDefinitions": attributes(["a"])}])
def test_something_must_change(music: Engine, changes: dict[str, Any]) -> None:
    expected = (
        "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
        "SSESpecification or ReplicaUpdates is required"
    )
    assert refused(music, **changes).message == expected


def test_an_update_of_a_table_that_is_not_there(engine: Engine) -> None:
    error = refused(engine, BillingMode="PAY_PER_REQUEST")
    assert (error.code, error.message) == ("ResourceNotFoundException", "Requested resource not found: Table: Music not found")


def test_throughput_is_the_old_one_while_updating_and_the_new_one_after(provisioned: Engine) -> None:
    answer = update(provisioned, ProvisionedThroughput={"ReadCapacityUnits": 20, "WriteCapacityUnits": 15})
    assert answer["TableStatus"] == "UPDATING"
    assert answer["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    now = described(provisioned)
    assert now["TableStatus"] == "ACTIVE"
    assert now["ProvisionedThroughput"]["ReadCapacityUnits"] == 20
    assert now["ProvisionedThroughput"]["WriteCapacityUnits"] == 15
    assert now["ProvisionedThroughput"]["LastIncreaseDateTime"] > answer["ProvisionedThroughput"]["LastIncreaseDateTime"]


def test_decreases_are_counted(provisioned: Engine) -> None:
    for units in (4, 3):
        update(provisioned, ProvisionedThroughput={"ReadCapacityUnits": units, "WriteCapacityUnits": 5})
    now = described(provisioned)["ProvisionedThroughput"]
    assert now["NumberOfDecreasesToday"] == 2
    assert "LastDecreaseDateTime" in now


@pytest.mark.parametrize("billing", [{}, {"BillingMode": "PROVISIONED"}])
def test_throughput_that_stays_the_same_is_refused(provisioned: Engine, billing: dict[str, Any]) -> None:
    expected = (
        "The provisioned throughput for the table will not change. The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. "
        "Current WriteCapacityUnits provisioned for the table: 5. Requested WriteCapacityUnits: 5. "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )
    assert refused(provisioned, ProvisionedThroughput=UNITS, **billing).message == expected


def test_throughput_has_bounds(provisioned: Engine) -> None:
    error = refused(provisioned, ProvisionedThroughput={**UNITS, "ReadCapacityUnits": 1_000_000_000_001})
    assert error.message == "Given value 1000000000001 for ReadCapacityUnits is out of bounds"


def test_a_table_on_demand_has_no_throughput(music: Engine) -> None:
    expected = INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
    assert refused(music, ProvisionedThroughput=UNITS).message == expected
    assert refused(music, ProvisionedThroughput=UNITS, BillingMode="PAY_PER_REQUEST").message == expected


def test_a_table_may_be_told_again_to_be_on_demand(music: Engine) -> None:
    update(music, BillingMode="PAY_PER_REQUEST")
    assert described(music)["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_switching_to_on_demand(engine: Engine) -> None:
    engine.call(
        "CreateTable", table("a", ProvisionedThroughput=UNITS, GlobalSecondaryIndexes=[index("gsi", "a", ProvisionedThroughput=UNITS)])
    )
    update(engine, BillingMode="PAY_PER_REQUEST")
    now = described(engine)
    assert now["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] > now["CreationDateTime"]
    assert now["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    assert now["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 0


def test_switching_to_provisioned_needs_throughput(music: Engine) -> None:
    expected = INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
    assert refused(music, BillingMode="PROVISIONED").message == expected
    update(music, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    now = described(music)
    assert now["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    assert now["ProvisionedThroughput"]["WriteCapacityUnits"] == 5


def test_switching_to_provisioned_needs_throughput_of_each_index(engine: Engine) -> None:
    engine.call("CreateTable", table("a", GlobalSecondaryIndexes=[index("one", "a"), index("two", "a")]))
    switch: dict[str, Any] = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}
    assert refused(engine, **switch).message == INVALID + "ProvisionedThroughput must be specified for index: one,two"
    updates = [{"Update": {"IndexName": name, "ProvisionedThroughput": UNITS}} for name in ("one", "two")]
    update(engine, **switch, GlobalSecondaryIndexUpdates=updates)
    assert [i["ProvisionedThroughput"]["ReadCapacityUnits"] for i in described(engine)["GlobalSecondaryIndexes"]] == [5, 5]


def test_the_throughput_of_an_index_changes(engine: Engine) -> None:
    engine.call(
        "CreateTable", table("a", ProvisionedThroughput=UNITS, GlobalSecondaryIndexes=[index("gsi", "a", ProvisionedThroughput=UNITS)])
    )
    change = {"IndexName": "gsi", "ProvisionedThroughput": {"ReadCapacityUnits": 9, "WriteCapacityUnits": 5}}
    answer = update(engine, GlobalSecondaryIndexUpdates=[{"Update": change}])
    assert answer["GlobalSecondaryIndexes"][0]["IndexStatus"] == "UPDATING"
    assert described(engine)["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 9
    assert "for the index gsi will not change" in (refused(engine, GlobalSecondaryIndexUpdates=[{"Update": change}]).message or "")


def test_a_new_index_is_creating_in_the_answer(music: Engine) -> None:
    answer = update(music, AttributeDefinitions=attributes(["b:N", "unused"]), **create("b"))
    assert answer["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    assert answer["AttributeDefinitions"] == attributes(["a", "b:N"])
    assert [i["IndexName"] for i in described(music)["GlobalSecondaryIndexes"]] == ["new"]


def test_a_new_index_may_have_several_hash_attributes(music: Engine) -> None:
    update(music, AttributeDefinitions=attributes(["b", "c", "d"]), **create("b", "c", "d", hashes=2))
    keys = described(music)["GlobalSecondaryIndexes"][0]["KeySchema"]
    assert [element["KeyType"] for element in keys] == ["HASH", "HASH", "RANGE"]


@pytest.mark.parametrize(
    ("defined", "expected"),
    [
        ([], INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: [b, c], AttributeDefinitions: []"),
        (["b"], "Invalid KeySchema: Some index key attribute have no definition"),
        (
            ["b", "x"],
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: [b, c], AttributeDefinitions: [b, x]",
        ),
    ],
)
def test_the_key_of_a_new_index_is_defined_in_the_request(music: Engine, defined: list[str], expected: str) -> None:
    assert refused(music, AttributeDefinitions=attributes(defined), **create("b", "c")).message == expected


def test_even_a_known_attribute_is_defined_again(music: Engine) -> None:
    assert "AttributeDefinitions" in (refused(music, **create("a")).message or "")


def test_an_attribute_keeps_its_type(music: Engine) -> None:
    expected = (
        "Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. "
        "Existing schema: Schema:[SchemaElement: key{a:S:HASH}] New schema: Schema:[SchemaElement: key{a:N:HASH}]"
    )
    assert refused(music, AttributeDefinitions=attributes(["a:N"]), **create("a")).message == INVALID + expected


def test_an_index_is_created_once(engine: Engine) -> None:
    engine.call("CreateTable", table("a", "b", LocalSecondaryIndexes=[index("new", "a", "b")]))
    error = refused(engine, AttributeDefinitions=attributes(["b"]), **create("b"))
    assert (error.code, error.message) == ("ValidationException", "Attempting to create an index which already exists")


@pytest.mark.parametrize(
    "updates",
    [
        [{"Delete": {"IndexName": "one"}}, {"Delete": {"IndexName": "two"}}],
        [{"Create": index("one", "a")}, {"Delete": {"IndexName": "two"}}],
        [{"Create": index("one", "a")}, {"Create": index("two", "a")}],
    ],
)
def test_one_index_comes_or_goes_at_a_time(music: Engine, updates: list[dict[str, Any]]) -> None:
    error = refused(music, AttributeDefinitions=attributes(["a"]), GlobalSecondaryIndexUpdates=updates)
    assert (error.code, error.message) == ("LimitExceededException", ONE_INDEX)


def test_an_index_is_updated_once_a_call(music: Engine) -> None:
    expected = INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: abc"
    assert refused(music, **drop("abc", "abc")).message == expected


def test_an_update_of_an_index_says_what_to_do(music: Engine) -> None:
    expected = (
        "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null"
    )
    assert refused(music, GlobalSecondaryIndexUpdates=[{}]).message == INVALID + expected
    both = {"Create": index("new", "a"), "Delete": {"IndexName": "old"}}
    assert "Only one of" in (refused(music, GlobalSecondaryIndexUpdates=[both]).message or "")


def test_an_index_is_dropped_with_the_definitions_that_only_it_used(engine: Engine) -> None:
    engine.call("CreateTable", table("a", defined=["a", "b"], GlobalSecondaryIndexes=[index("gsi", "b")]))
    answer = update(engine, **drop("gsi"))
    assert answer["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
    now = described(engine)
    assert "GlobalSecondaryIndexes" not in now
    assert now["AttributeDefinitions"] == attributes(["a"])
    engine.call("PutItem", {"TableName": "Music", "Item": {"a": {"S": "x"}, "b": {"N": "1"}}})


def test_an_index_that_is_not_there_is_not_dropped(music: Engine) -> None:
    assert refused(music, **drop("nothing")).code == "ResourceNotFoundException"


def test_a_local_index_is_not_dropped(engine: Engine) -> None:
    engine.call("CreateTable", table("a", "b", LocalSecondaryIndexes=[index("lsi", "a", "b")]))
    assert refused(engine, **drop("lsi")).code == "ValidationException"


def test_a_stream_is_enabled_once_and_disabled_once(music: Engine) -> None:
    on = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
    off = {"StreamSpecification": {"StreamEnabled": False}}
    assert refused(music, **off).message == "Table has no stream to disable: TableName: Music"
    first = update(music, **on)["LatestStreamArn"]
    assert refused(music, **on).message == "Table already has an enabled stream: TableName: Music"
    update(music, **off)
    now = described(music)
    assert "StreamSpecification" not in now
    assert now["LatestStreamArn"] == first
    assert update(music, **on)["LatestStreamArn"] != first


def test_settings_change(music: Engine) -> None:
    update(
        music, TableClass="STANDARD_INFREQUENT_ACCESS", SSESpecification={"Enabled": True}, OnDemandThroughput={"MaxReadRequestUnits": 9}
    )
    now = described(music)
    assert now["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert now["SSEDescription"]["SSEType"] == "KMS"
    assert now["OnDemandThroughput"] == {"MaxReadRequestUnits": 9}
    update(music, SSESpecification={"Enabled": False})
    assert "SSEDescription" not in described(music)


def test_replicas_are_refused(music: Engine) -> None:
    assert refused(music, ReplicaUpdates=[{"Create": {"RegionName": "eu-west-1"}}]).code == "ValidationException"


def test_a_refused_update_changes_nothing(provisioned: Engine) -> None:
    before = described(provisioned)
    refused(provisioned, ProvisionedThroughput={"ReadCapacityUnits": 9, "WriteCapacityUnits": 9}, **drop("nothing"))
    assert described(provisioned) == before


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("before", [True, False])
def test_encryption_that_was_changed_is_being_updated(engine: Engine, enabled: bool, before: bool) -> None:
    engine.call("CreateTable", table("a", SSESpecification={"Enabled": before}))
    answer = engine.call("UpdateTable", {"TableName": "Music", "SSESpecification": {"Enabled": enabled}})["TableDescription"]
    assert answer["SSEDescription"]["Status"] == "UPDATING"
    assert ("KMSMasterKeyArn" in answer["SSEDescription"]) == (enabled or before)
    assert ("SSEDescription" in described(engine)) == enabled


def warm(read: int, write: int) -> dict[str, int]:
    return {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write}


def test_more_warm_throughput_is_being_prepared_while_the_table_is_active(music: Engine) -> None:
    answer = update(music, WarmThroughput=warm(13000, 5000))
    assert answer["TableStatus"] == "ACTIVE"
    assert answer["WarmThroughput"] == {**warm(12000, 4000), "Status": "UPDATING"}
    assert described(music)["WarmThroughput"] == {**warm(13000, 5000), "Status": "ACTIVE"}
    answer = update(music, WarmThroughput={"WriteUnitsPerSecond": 6000}, DeletionProtectionEnabled=False)
    assert (answer["TableStatus"], answer["WarmThroughput"]["WriteUnitsPerSecond"]) == ("UPDATING", 5000)
    assert described(music)["WarmThroughput"] == {**warm(13000, 6000), "Status": "ACTIVE"}


@pytest.mark.parametrize(("member", "units"), [("ReadUnitsPerSecond", 12999), ("WriteUnitsPerSecond", 4999)])
def test_warm_throughput_cannot_be_decreased(music: Engine, member: str, units: int) -> None:
    update(music, WarmThroughput=warm(13000, 5000))
    error = refused(music, WarmThroughput={**warm(13000, 5000), member: units})
    told = (
        f"Requested {member} for WarmThroughput for table is lower than current WarmThroughput, decreasing WarmThroughput is not supported"
    )
    assert (error.code, error.message) == ("ValidationException", INVALID + told)
    update(music, WarmThroughput=warm(13000, 5000))
    assert described(music)["WarmThroughput"] == {**warm(13000, 5000), "Status": "ACTIVE"}


def test_the_warm_throughput_of_an_index_can_be_raised_but_not_decreased(engine: Engine) -> None:
    engine.call("CreateTable", table("a", defined=["a", "b"], GlobalSecondaryIndexes=[index("by-b", "b")]))

    def change(units: dict[str, int]) -> dict[str, Any]:
        return {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-b", "WarmThroughput": units}}]}

    answer = update(engine, **change({"ReadUnitsPerSecond": 13000}))
    assert answer["GlobalSecondaryIndexes"][0]["WarmThroughput"] == {**warm(12000, 4000), "Status": "UPDATING"}
    assert described(engine)["GlobalSecondaryIndexes"][0]["WarmThroughput"] == {**warm(13000, 4000), "Status": "ACTIVE"}
    error = refused(engine, **change({"ReadUnitsPerSecond": 12000}))
    assert error.message is not None
    assert "Requested ReadUnitsPerSecond for WarmThroughput for index by-b is lower than current WarmThroughput" in error.message


def request(*definitions: str) -> dict[str, Any]:
    return {
        "TableName": "Lax",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in definitions],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    }


def test_unused_definitions_are_left_out_when_like_local() -> None:
    with Engine(like_local=True) as engine:
        created = engine.call("CreateTable", request("id", "unused"))
    assert [d["AttributeName"] for d in created["TableDescription"]["AttributeDefinitions"]] == ["id"]


def test_unused_definitions_are_refused_otherwise() -> None:
    with Engine() as engine, pytest.raises(EngineError, match="does not exactly match"):
        engine.call("CreateTable", request("id", "unused"))


def test_repeated_definitions_are_refused_in_the_words_of_dynamodb_local() -> None:
    with Engine(like_local=True) as engine, pytest.raises(EngineError, match="Cannot have two attributes with the same name"):
        engine.call("CreateTable", request("id", "id"))
