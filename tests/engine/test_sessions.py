from collections.abc import Iterator
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr, Key
from botocore.config import Config

from gateleg.engine import Engine, boto3_session

TABLE: dict[str, Any] = {
    "TableName": "Songs",
    "AttributeDefinitions": [{"AttributeName": "artist", "AttributeType": "S"}, {"AttributeName": "title", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"}, {"AttributeName": "title", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing is set up right, and a network that must not be reached."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://192.0.2.1")
    monkeypatch.setattr("socket.socket.connect", _refuse)


def _refuse(*_: object) -> None:
    raise AssertionError("a socket was opened")


@pytest.fixture
def session() -> Iterator[Any]:
    with Engine(":memory:") as engine:
        yield boto3_session(engine)


def test_a_client_works_without_credentials_region_or_network(session: Any) -> None:
    client = session.client("dynamodb")
    client.create_table(**TABLE)
    client.get_waiter("table_exists").wait(TableName="Songs")
    client.put_item(TableName="Songs", Item={"artist": {"S": "Nina"}, "title": {"S": "Sinnerman"}})
    response = client.get_item(TableName="Songs", Key={"artist": {"S": "Nina"}, "title": {"S": "Sinnerman"}})
    assert response["Item"] == {"artist": {"S": "Nina"}, "title": {"S": "Sinnerman"}}
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_a_resource_works_as_well(session: Any) -> None:
    table = session.resource("dynamodb").create_table(**TABLE)
    table.wait_until_exists()
    with table.batch_writer() as batch:
        for number in range(40):
            batch.put_item(Item={"artist": "Nina", "title": f"{number:02}", "blob": bytes([number])})
    found = table.query(KeyConditionExpression=Key("artist").eq("Nina") & Key("title").gt("37"))["Items"]
    assert [(item["title"], item["blob"].value) for item in found] == [("38", b"&"), ("39", b"'")]


def test_exceptions_are_botocores_own(session: Any) -> None:
    table = session.resource("dynamodb").create_table(**TABLE)
    client = session.client("dynamodb")
    with pytest.raises(client.exceptions.ResourceInUseException):
        client.create_table(**TABLE)
    table.put_item(Item={"artist": "a", "title": "b", "n": 1})
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as caught:
        table.put_item(
            Item={"artist": "a", "title": "b"}, ConditionExpression=Attr("n").eq(2), ReturnValuesOnConditionCheckFailure="ALL_OLD"
        )
    assert caught.value.response["Item"]["n"] == {"N": "1"}


def test_paginators_work(session: Any) -> None:
    client = session.client("dynamodb")
    client.create_table(**TABLE)
    for number in range(5):
        client.put_item(TableName="Songs", Item={"artist": {"S": "a"}, "title": {"S": str(number)}})
    pages = client.get_paginator("scan").paginate(TableName="Songs", PaginationConfig={"PageSize": 2})
    assert sum(len(page["Items"]) for page in pages) == 5


def test_clients_of_one_session_share_the_engine(session: Any) -> None:
    session.client("dynamodb").create_table(**TABLE)
    assert session.client("dynamodb", region_name="eu-west-1").list_tables()["TableNames"] == ["Songs"]


def test_an_endpoint_that_is_asked_for_is_not_reached(session: Any) -> None:
    client = session.client("dynamodb", endpoint_url="http://192.0.2.1:8000", aws_access_key_id="x", aws_secret_access_key="y")
    assert client.list_tables()["TableNames"] == []


def test_a_configuration_of_the_users_is_kept(session: Any) -> None:
    client = session.client("dynamodb", config=Config(parameter_validation=False, retries={"total_max_attempts": 3}))
    assert client.meta.config.retries["total_max_attempts"] == 3
    with pytest.raises(client.exceptions.ClientError, match="ValidationException"):
        client.get_item()


def test_other_services_are_refused(session: Any) -> None:
    with pytest.raises(ValueError, match="does not offer s3"):
        session.client("s3")


def test_streams_are_in_this_process_too(session: Any) -> None:
    session.client("dynamodb").create_table(**TABLE, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    streams = session.client("dynamodbstreams").list_streams(TableName="Songs")["Streams"]
    assert [stream["TableName"] for stream in streams] == ["Songs"]
