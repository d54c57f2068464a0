"""Real clients against a real engine over HTTP."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from aiodynamo.client import Client
from aiodynamo.credentials import Key, StaticCredentials
from aiodynamo.expressions import F
from aiodynamo.http.httpx import HTTPX
from aiodynamo.models import KeySchema, KeySpec, KeyType, PayPerRequest
from boto3.dynamodb.conditions import Attr
from boto3.dynamodb.conditions import Key as By
from botocore.config import Config
from botocore.exceptions import ClientError
from pynamodb.attributes import ListAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.exceptions import PutError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model
from yarl import URL

from gateleg.endpoint import EndpointOptions, serve_in_thread
from gateleg.engine import Engine

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG"
CREDENTIALS: dict[str, str] = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}


@pytest.fixture(params=["any", "verified"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    credentials = {KEY: SECRET} if request.param == "verified" else {}
    with Engine(str(tmp_path / "gateleg.db")) as engine, serve_in_thread(engine, EndpointOptions(credentials=credentials)) as url:
        yield url


@pytest.fixture
def songs(url: str) -> Any:
    """A boto3 table of songs by artist and title."""
    resource: Any = boto3.resource("dynamodb", endpoint_url=url, **CREDENTIALS)
    table = resource.create_table(
        TableName="Songs",
        AttributeDefinitions=[{"AttributeName": "artist", "AttributeType": "S"}, {"AttributeName": "title", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "artist", "KeyType": "HASH"}, {"AttributeName": "title", "KeyType": "RANGE"}],
        BillingMode="PAY_PER_REQUEST",
    )
    table.wait_until_exists()
    return table


def test_boto3_puts_and_gets(songs: Any) -> None:
    song = {
        "artist": "Nina",
        "title": "Sinnerman",
        "year": Decimal(1965),
        "tags": {"jazz", "live"},
        "cover": b"\x00\xff",
        "more": [None, True],
    }
    songs.put_item(Item=song)
    found = songs.get_item(Key={"artist": "Nina", "title": "Sinnerman"})["Item"]
    assert found["cover"].value == b"\x00\xff"
    assert {**found, "cover": b"\x00\xff"} == song


def test_boto3_gets_the_errors_it_knows(songs: Any) -> None:
    songs.put_item(Item={"artist": "Nina", "title": "Sinnerman"})
    with pytest.raises(songs.meta.client.exceptions.ConditionalCheckFailedException):
        songs.put_item(Item={"artist": "Nina", "title": "Sinnerman"}, ConditionExpression=Attr("artist").not_exists())
    with pytest.raises(songs.meta.client.exceptions.ResourceNotFoundException):
        songs.meta.client.describe_table(TableName="Nothing")


def test_boto3_paginates(songs: Any) -> None:
    with songs.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"artist": "Nina", "title": f"{number:03}"})
    pages = songs.meta.client.get_paginator("query").paginate(
        TableName="Songs", KeyConditionExpression=By("artist").eq("Nina"), PaginationConfig={"PageSize": 25}
    )
    sizes = [len(page["Items"]) for page in pages]
    assert (sizes[:2], sum(sizes)) == ([25, 25], 60)


def test_boto3_lists_and_deletes_tables(songs: Any) -> None:
    client = songs.meta.client
    assert client.list_tables()["TableNames"] == ["Songs"]
    songs.delete()
    songs.wait_until_not_exists()
    assert client.list_tables()["TableNames"] == []


def test_boto3_gets_the_request_id(songs: Any) -> None:
    metadata = songs.get_item(Key={"artist": "a", "title": "b"})["ResponseMetadata"]
    assert len(metadata["RequestId"]) == 52
    assert metadata["RetryAttempts"] == 0


def test_boto3_may_compress_its_requests(url: str, songs: Any) -> None:
    client = boto3.client("dynamodb", endpoint_url=url, config=Config(request_min_compression_size_bytes=1), **CREDENTIALS)
    model = client.meta.service_model._service_description["operations"]
    model["PutItem"]["requestcompression"] = {"encodings": ["gzip"]}
    client.put_item(TableName="Songs", Item={"artist": {"S": "Nina"}, "title": {"S": "x" * 500}})
    assert songs.scan(Select="COUNT")["Count"] == 1


def test_boto3_is_refused_with_a_wrong_secret(tmp_path: Path) -> None:
    with Engine(str(tmp_path / "gateleg.db")) as engine, serve_in_thread(engine, EndpointOptions(credentials={KEY: SECRET})) as url:
        client = boto3.client("dynamodb", endpoint_url=url, **{**CREDENTIALS, "aws_secret_access_key": "wrong"})
        with pytest.raises(ClientError, match="InvalidSignatureException"):
            client.list_tables()


def test_tables_of_other_keys_and_regions_are_apart(tmp_path: Path) -> None:
    with Engine(str(tmp_path / "gateleg.db")) as engine, serve_in_thread(engine, EndpointOptions(separate=True)) as url:
        places = [(KEY, "us-east-1"), (KEY, "eu-west-1"), ("123456789012", "us-east-1")]
        clients = [
            boto3.client("dynamodb", endpoint_url=url, region_name=region, aws_access_key_id=key, aws_secret_access_key="x")
            for key, region in places
        ]
        created = [
            client.create_table(
                TableName="Same",
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                BillingMode="PAY_PER_REQUEST",
            )
            for client in clients
        ]
        assert created[-1]["TableDescription"]["TableArn"] == "arn:aws:dynamodb:us-east-1:123456789012:table/Same"
        clients[0].get_waiter("table_exists").wait(TableName="Same")
        clients[0].put_item(TableName="Same", Item={"id": {"S": "x"}})
        counts = [client.scan(TableName="Same")["Count"] for client in clients]
        assert counts == [1, 0, 0]


def test_pynamodb(url: str) -> None:
    class ByPlays(GlobalSecondaryIndex["Song"]):  # type: ignore[no-untyped-call]
        class Meta:
            index_name = "ByPlays"
            projection = AllProjection()

        genre = UnicodeAttribute(hash_key=True)
        plays = NumberAttribute(range_key=True)

    class Song(Model):
        class Meta:  # pyright: ignore[reportIncompatibleVariableOverride]
            table_name = "Songs"
            host = url
            region = "us-east-1"
            aws_access_key_id = KEY
            aws_secret_access_key = SECRET
            billing_mode = "PAY_PER_REQUEST"

        artist = UnicodeAttribute(hash_key=True)
        title = UnicodeAttribute(range_key=True)
        genre = UnicodeAttribute(default="jazz")
        plays = NumberAttribute(default=0)
        notes: ListAttribute[str] = ListAttribute(default=list)
        by_plays = ByPlays()

    Song.create_table(wait=True)
    with Song.batch_write() as batch:
        for number in range(30):
            batch.save(Song("Nina", f"{number:02}", plays=30 - number))
    assert [song.title for song in Song.query("Nina", Song.title.between("05", "08"))] == ["05", "06", "07", "08"]
    assert [song.title for song in Song.by_plays.query("jazz", limit=2)] == ["29", "28"]
    song = Song.get("Nina", "05")
    song.update(actions=[Song.plays.add(5), Song.notes.set(Song.notes.append(["good"]))])
    assert (song.plays, song.notes) == (30, ["good"])
    with pytest.raises(PutError):
        song.save(condition=Song.artist.does_not_exist())
    Song.delete_table(wait=True)
    assert not Song.exists()


async def test_aiodynamo(url: str) -> None:
    async with httpx.AsyncClient() as http:
        client = Client(HTTPX(http), StaticCredentials(Key(KEY, SECRET)), "us-east-1", URL(url))
        table = client.table("Songs")
        schema = KeySchema(KeySpec("artist", KeyType.string), KeySpec("title", KeyType.string))
        await table.create(PayPerRequest(), schema, wait_for_active=True)
        for number in range(5):
            await table.put_item({"artist": "Nina", "title": str(number), "plays": number})
        await table.update_item({"artist": "Nina", "title": "3"}, F("plays").add(10))
        assert (await table.get_item({"artist": "Nina", "title": "3"}))["plays"] == 13
        assert [item["title"] async for item in table.scan(filter_expression=F("plays").gt(2))] == ["3", "4"]


def test_discovered_endpoints_are_this_one(url: str) -> None:
    client: Any = boto3.client("dynamodb", endpoint_url=url, **CREDENTIALS)
    assert [endpoint["Address"] for endpoint in client.describe_endpoints()["Endpoints"]] == [url.removeprefix("http://")]
