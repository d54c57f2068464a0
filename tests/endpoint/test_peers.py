"""Clients that are installed into separate folders: the JavaScript SDK, the AWS command line, pydynox."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg.endpoint import EndpointOptions, serve_in_thread
from gateleg.engine import Engine

pytestmark = pytest.mark.peer

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG"


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with Engine(str(tmp_path / "gateleg.db")) as engine, serve_in_thread(engine, EndpointOptions(credentials={KEY: SECRET})) as url:
        yield url


def environment() -> dict[str, str]:
    """Environment variables with credentials, without the user's AWS settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    aws = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
    return {**kept, **aws, "AWS_CONFIG_FILE": os.devnull, "AWS_PAGER": ""}


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, env=environment(), timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def installed(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with a package from the registry."""
    folder = tmp_path_factory.mktemp(name)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    done = subprocess.run([folder / "bin" / "pip", "install", "-q", name], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{name} cannot be installed here")
    return folder


@pytest.fixture(scope="module")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("npm") is None:
        pytest.skip("there is no npm here")
    folder = tmp_path_factory.mktemp("node")
    packages = ["@aws-sdk/client-dynamodb", "@aws-sdk/client-dynamodb-streams", "@aws-sdk/lib-dynamodb"]
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", *packages], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("the JavaScript SDK cannot be installed here")
    return folder


JAVASCRIPT = """
import {
  DynamoDBClient, CreateTableCommand, PutItemCommand, ConditionalCheckFailedException, TagResourceCommand, ListTagsOfResourceCommand,
  TransactWriteItemsCommand, paginateScan, waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand } from "@aws-sdk/lib-dynamodb";
import { DynamoDBStreamsClient, ListStreamsCommand } from "@aws-sdk/client-dynamodb-streams";

const endpoint = process.argv[2];
const client = new DynamoDBClient({ endpoint });
const document = DynamoDBDocumentClient.from(client);
const seen = {};
const table = await client.send(new CreateTableCommand({
  TableName: "Songs",
  AttributeDefinitions: [{ AttributeName: "artist", AttributeType: "S" }, { AttributeName: "title", AttributeType: "S" }],
  KeySchema: [{ AttributeName: "artist", KeyType: "HASH" }, { AttributeName: "title", KeyType: "RANGE" }],
  BillingMode: "PAY_PER_REQUEST",
  StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_IMAGE" },
}));
seen.waited = (await waitUntilTableExists({ client, maxWaitTime: 20, minDelay: 1, maxDelay: 2 }, { TableName: "Songs" })).state;
await Promise.all([...Array(30).keys()].map((n) => document.send(new PutCommand({
  TableName: "Songs",
  Item: { artist: "Nina", title: String(n).padStart(2, "0"), plays: n, tags: new Set(["a"]), raw: new Uint8Array([1, 2]) },
}))));
seen.got = (await document.send(new GetCommand({ TableName: "Songs", Key: { artist: "Nina", title: "07" } }))).Item.plays;
seen.queried = (await document.send(new QueryCommand({
  TableName: "Songs", KeyConditionExpression: "artist = :a AND title < :t", ExpressionAttributeValues: { ":a": "Nina", ":t": "03" },
}))).Items.map((item) => item.title);
seen.scanned = 0;
for await (const page of paginateScan({ client, pageSize: 7 }, { TableName: "Songs" })) seen.scanned += page.Items.length;
const arn = table.TableDescription.TableArn;
await client.send(new TagResourceCommand({ ResourceArn: arn, Tags: [{ Key: "k", Value: "v" }] }));
seen.tags = (await client.send(new ListTagsOfResourceCommand({ ResourceArn: arn }))).Tags;
try {
  await client.send(new PutItemCommand({
    TableName: "Songs", Item: { artist: { S: "Nina" }, title: { S: "07" } }, ConditionExpression: "attribute_not_exists(artist)",
  }));
} catch (error) { seen.refused = error instanceof ConditionalCheckFailedException; }
try {
  await client.send(new TransactWriteItemsCommand({ TransactItems: [{ ConditionCheck: {
    TableName: "Songs", Key: { artist: { S: "x" }, title: { S: "y" } }, ConditionExpression: "attribute_exists(artist)",
  } }] }));
} catch (error) { seen.cancelled = error.CancellationReasons.map((reason) => reason.Code); }
seen.streams = (await new DynamoDBStreamsClient({ endpoint }).send(new ListStreamsCommand({ TableName: "Songs" }))).Streams.length;
console.log(JSON.stringify(seen));
"""


def test_the_javascript_sdk(node_folder: Path, url: str) -> None:
    (node_folder / "songs.mjs").write_text(JAVASCRIPT)
    seen = json.loads(run(["node", "songs.mjs", url], node_folder))
    assert seen == {
        "waited": "SUCCESS",
        "got": 7,
        "queried": ["00", "01", "02"],
        "scanned": 30,
        "tags": [{"Key": "k", "Value": "v"}],
        "refused": True,
        "cancelled": ["ConditionalCheckFailed"],
        "streams": 1,
    }


def test_the_aws_command_line(tmp_path_factory: pytest.TempPathFactory, url: str) -> None:
    folder = installed("awscli", tmp_path_factory)

    def aws(*arguments: str) -> str:
        return run([str(folder / "bin" / "aws"), "--endpoint-url", url, "--output", "json", "dynamodb", *arguments], folder)

    keys = ["--attribute-definitions", "AttributeName=id,AttributeType=S", "--key-schema", "AttributeName=id,KeyType=HASH"]
    aws("create-table", "--table-name", "Songs", *keys, "--billing-mode", "PAY_PER_REQUEST")
    aws("wait", "table-exists", "--table-name", "Songs")
    aws("put-item", "--table-name", "Songs", "--item", '{"id": {"S": "x"}, "n": {"N": "1"}}')
    assert json.loads(aws("get-item", "--table-name", "Songs", "--key", '{"id": {"S": "x"}}'))["Item"]["n"] == {"N": "1"}
    assert json.loads(aws("scan", "--table-name", "Songs"))["Count"] == 1
    assert json.loads(aws("list-tables"))["TableNames"] == ["Songs"]


PYDYNOX = """
import asyncio, sys
from pydynox import DynamoDBClient

async def main():
    client = DynamoDBClient(endpoint_url=sys.argv[1], region="us-east-1", access_key=sys.argv[2], secret_key=sys.argv[3])
    await client.create_table("Songs", partition_key=("id", "S"), wait=True)
    await client.put_item("Songs", {"id": "x", "n": 1})
    print((await client.get_item("Songs", {"id": "x"}))["n"])

asyncio.run(main())
"""


def test_pydynox(tmp_path_factory: pytest.TempPathFactory, url: str) -> None:
    folder = installed("pydynox", tmp_path_factory)
    (folder / "songs.py").write_text(PYDYNOX)
    assert run([str(folder / "bin" / "python"), "songs.py", url, KEY, SECRET], folder) == "1\n"
