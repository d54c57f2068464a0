import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gateleg.engine.engine import Engine
from gateleg.engine.errors import EngineError
from gateleg.engine.operations.tables import OPERATIONS
from gateleg.engine.protocol import OPERATIONS as SHAPES
from gateleg.engine.schema import Namespace
from tests.engine.operations.requests import UNITS, described, index, refusal, table


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
