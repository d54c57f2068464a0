from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.config import Config

from gateleg.endpoint import serve_in_thread
from gateleg.engine import Engine
from gateleg.store.transports import ServiceError, Transport, Unreachable
from gateleg.store.transports.botocore import BotocoreTransport
from tests.net.http.faulty import answer, refusal, service
from tests.store.transports.test_wire import TABLE, get, put


def client_of(url: str, service_name: str = "dynamodb") -> Any:
    return botocore.session.Session().create_client(
        service_name,
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="AKID",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 2, "mode": "standard"}, connect_timeout=5, read_timeout=5),
    )


@pytest.fixture
def url() -> Iterator[str]:
    with Engine(":memory:", durability="relaxed") as engine, serve_in_thread(engine) as url:
        engine.call("CreateTable", TABLE)
        yield url


@pytest.fixture
def client(url: str) -> Iterator[Any]:
    client = client_of(url)
    yield client
    client.close()


def test_botocore_transport_implements_the_protocol(client: Any) -> None:
    assert isinstance(BotocoreTransport(client), Transport)


def test_wire_values_are_passed_unchanged(client: Any) -> None:
    transport = BotocoreTransport(client)
    assert transport.call("PutItem", put(1)) == {}
    assert transport.call("GetItem", get(1)) == {"Item": put(1)["Item"]}
    written = {"RequestItems": {"Songs": [{"PutRequest": {"Item": put(2)["Item"]}}]}}
    assert transport.call("BatchWriteItem", written) == {"UnprocessedItems": {}}
    assert transport.call("GetItem", get(2)) == {"Item": put(2)["Item"]}


def test_the_application_can_still_use_its_client(client: Any) -> None:
    transport = BotocoreTransport(client)
    transport.call("PutItem", put(1))
    assert client.get_item(TableName="Songs", Key={"id": {"S": "1"}})["Item"]["b"] == {"B": b"\x00\x01\x02"}
    transport.close()
    assert client.get_item(TableName="Songs", Key={"id": {"S": "1"}})["Item"]["n"] == {"N": "1"}


def test_a_failed_condition_returns_the_wire_item(client: Any) -> None:
    transport = BotocoreTransport(client)
    transport.call("PutItem", put(1))
    condition = {"ConditionExpression": "attribute_not_exists(id)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    with pytest.raises(ServiceError) as caught:
        transport.call("PutItem", put(1, **condition))
    error = caught.value
    assert (error.code, error.message, error.status) == ("ConditionalCheckFailedException", "The conditional request failed", 400)
    assert error.extra == {"Item": put(1)["Item"]}


def test_streams_have_a_separate_client(client: Any, url: str) -> None:
    with pytest.raises(ServiceError, match="pass streams="):
        BotocoreTransport(client).call("ListStreams", {})
    streams = client_of(url, "dynamodbstreams")
    assert len(BotocoreTransport(client, streams).call("ListStreams", {})["Streams"]) == 1
    streams.close()


def test_a_request_without_its_table_is_refused(client: Any) -> None:
    with pytest.raises(ServiceError, match='"TableName"') as caught:
        BotocoreTransport(client).call("GetItem", {"Key": {}})
    assert (caught.value.code, caught.value.attempts) == ("ValidationException", 0)


def test_attempts_of_botocore_are_counted() -> None:
    with service(*[refusal("ThrottlingException")] * 2) as play:
        client = client_of(play.url)
        with pytest.raises(ServiceError, match="ThrottlingException") as caught:
            BotocoreTransport(client).call("GetItem", get(1))
        client.close()
    assert caught.value.attempts == 2


def test_an_answer_with_a_wrong_checksum_is_requested_again() -> None:
    with service(answer(x_amz_crc32="1"), answer(b'{"Item":{}}')) as play:
        client = client_of(play.url)
        assert BotocoreTransport(client).call("GetItem", get(1)) == {"Item": {}}
        client.close()


def test_no_answer_is_distinguished_from_an_error() -> None:
    with service() as play:
        url = play.url
    client = client_of(url)
    with pytest.raises(Unreachable, match="Could not connect"):
        BotocoreTransport(client).call("GetItem", get(1))
    client.close()
