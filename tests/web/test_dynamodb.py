"""DynamoDB's protocol on a host: who is let in, by what, and that SDKs work with it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import boto3
import httpx
import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from fastapi import FastAPI

from gateleg.host.credentials import NewKey
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings
from gateleg.jobs import ManualClock
from gateleg.web.app import create_app
from gateleg.web.dynamodb import NotEmbedded, signing_secret
from gateleg.web.server import address_of, listen, serve
from tests.web.conftest import HOME, Staff, client_of

ADDRESS = f"{HOME}/dynamodb"
TABLE = {
    "TableName": "Notes",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture
def clock() -> ManualClock:
    """The time at which botocore signs."""
    return ManualClock(datetime.now(UTC))


def headers_of(operation: str) -> dict[str, str]:
    return {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}


def signed(operation: str, body: bytes, key_id: str, secret: str, *, query: bool = False, url: str = ADDRESS) -> httpx.Request:
    """A request as botocore signs it."""
    made = AWSRequest("POST", url, headers_of(operation), body)
    (SigV4QueryAuth if query else SigV4Auth)(Credentials(key_id, secret), "dynamodb", "eu-west-1").add_auth(made)
    prepared = made.prepare()
    return httpx.Request("POST", prepared.url, headers=dict(prepared.headers), content=body)


async def ask(app: FastAPI, host: Host, key: NewKey, operation: str = "ListTables", body: bytes = b"{}") -> httpx.Response:
    async with client_of(app) as client:
        return await client.send(signed(operation, body, key.key.key_id, signing_secret(host, key.key)))


def code_of(answer: httpx.Response) -> str:
    return str(answer.json()["__type"].rpartition("#")[2])


@asynccontextmanager
async def serving(host: Host) -> AsyncIterator[str]:
    listener = listen(host.settings.model_copy(update={"port": 0}))
    stop, ready = asyncio.Event(), asyncio.Event()
    running = asyncio.create_task(serve(host, create_app(host, console=False), listener, stop=stop, ready=ready.set))
    await ready.wait()
    try:
        yield address_of(listener, host.settings)
    finally:
        stop.set()
        await running


def work_with_notes(client: Any) -> list[str]:
    client.create_table(**TABLE)
    client.get_waiter("table_exists").wait(TableName="Notes")
    large = {"id": {"S": "b"}, "text": {"S": "wood " * 20_000}}
    client.put_item(TableName="Notes", Item={"id": {"S": "a"}, "text": {"S": "gate"}})
    client.put_item(TableName="Notes", Item=large)
    assert client.get_item(TableName="Notes", Key={"id": {"S": "b"}})["Item"] == large
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        client.put_item(TableName="Notes", Item={"id": {"S": "a"}}, ConditionExpression="attribute_not_exists(id)")
    found = client.execute_statement(Statement="SELECT id FROM Notes")["Items"]
    client.delete_table(TableName="Notes")
    return sorted(item["id"]["S"] for item in found)


async def test_boto3_works_with_the_credentials_of_an_admins_key(host: Host) -> None:
    made = await host.keys.create("ann", Role.ADMIN)
    async with serving(host) as url:
        async with httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {made.token}"}) as http:
            told = (await http.get("/api/dynamodb/credentials")).json()
        keys = {"aws_access_key_id": told["AccessKeyId"], "aws_secret_access_key": told["SecretAccessKey"]}
        client = boto3.client("dynamodb", endpoint_url=f"{url}/dynamodb", region_name="eu-west-1", **keys)
        assert await asyncio.to_thread(work_with_notes, client) == ["a", "b"]
        client.close()
    log = await host.audit.page()
    done = {(entry.actor, entry.action, entry.target) for entry in log}
    assert done == {("ann", "dynamodb.CreateTable", "Notes"), ("ann", "dynamodb.DeleteTable", "Notes")}


async def test_an_sdk_signs_with_the_token_while_there_is_no_key(host: Host, client: httpx.AsyncClient) -> None:
    told = (await client.get("/api/dynamodb/credentials")).json()
    assert (told["AccessKeyId"], told["SecretAccessKey"]) == ("local", host.local.token)
    async with serving(host) as url:
        made = {"aws_access_key_id": "local", "aws_secret_access_key": host.local.token}
        sdk = boto3.client("dynamodb", endpoint_url=f"{url}/dynamodb/", region_name="eu-west-1", **made)
        assert await asyncio.to_thread(work_with_notes, sdk) == ["a", "b"]
        sdk.close()


async def test_no_other_signature_will_do_without_keys_nor_the_token_with_them(host: Host, stranger: httpx.AsyncClient) -> None:
    for key_id, secret in (("any", "thing"), ("local", "local"), ("any", host.local.token)):
        answer = await stranger.send(signed("ListTables", b"{}", key_id, secret))
        assert code_of(answer) in ("UnrecognizedClientException", "InvalidSignatureException")
    proxied = signed("ListTables", b"{}", "local", host.local.token)
    proxied.headers["via"] = "1.1 proxy"
    assert (await stranger.send(proxied)).status_code == 421
    await host.keys.create("ann", Role.ADMIN)
    assert code_of(await stranger.send(signed("ListTables", b"{}", "local", host.local.token))) == "UnrecognizedClientException"


async def test_what_an_sdk_writes_is_what_the_host_reads(host: Host, app: FastAPI, staff: Staff) -> None:
    song = {"TableName": "Songs", "Item": {"artist": {"S": "Nina"}, "title": {"S": "Sinnerman"}}}
    answer = await staff.admin.post("/dynamodb", json=song, headers=headers_of("PutItem"))
    assert answer.status_code == 200
    found = await staff.viewer.post("/api/tables/Songs/patterns/Song.of_artist", json={"arguments": {"artist": "Nina"}})
    assert "Sinnerman" in found.text


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
async def test_a_signature_of_a_lesser_role_is_denied(host: Host, app: FastAPI, role: Role) -> None:
    await host.keys.create("ann", Role.ADMIN)
    answer = await ask(app, host, await host.keys.create("bob", role), "GetItem", b'{"TableName":"GatelegAccess"}')
    assert (answer.status_code, code_of(answer)) == (400, "AccessDeniedException")


async def test_a_signature_of_a_revoked_or_expired_key_is_not_recognised(host: Host, app: FastAPI, clock: ManualClock) -> None:
    revoked = await host.keys.create("ann", Role.ADMIN)
    assert (await ask(app, host, revoked)).status_code == 200
    await host.keys.revoke(revoked.key.key_id)
    assert code_of(await ask(app, host, revoked)) == "UnrecognizedClientException"
    expired = await host.keys.create("bob", Role.ADMIN, ends_at=clock.advance(seconds=1).replace(year=clock.now.year + 1))
    assert (await ask(app, host, expired)).status_code == 200
    clock.advance(days=400)
    assert code_of(await ask(app, host, expired)) == "UnrecognizedClientException"


@pytest.mark.parametrize("query", [False, True])
async def test_a_forged_signature_is_refused(host: Host, app: FastAPI, query: bool) -> None:
    key = (await host.keys.create("ann", Role.ADMIN)).key
    secret = signing_secret(host, key)
    async with client_of(app) as client:
        # A request without a body is refused for that, once its signature is known to be right.
        assert code_of(await client.send(signed("ListTables", b"", key.key_id, secret, query=query))) == "SerializationException"
        for wrong in (secret[:-1] + ("0" if secret[-1] != "0" else "1"), key.digest, ""):
            answer = await client.send(signed("ListTables", b"", key.key_id, wrong, query=query))
            assert code_of(answer) == "InvalidSignatureException"
        assert code_of(await client.send(signed("ListTables", b"{}", "nobody", secret))) == "UnrecognizedClientException"


async def test_a_signature_does_not_fit_another_body_or_a_later_day(host: Host, app: FastAPI, clock: ManualClock) -> None:
    key = (await host.keys.create("ann", Role.ADMIN)).key
    request = signed("ListTables", b"{}", key.key_id, signing_secret(host, key))
    other = httpx.Request("POST", ADDRESS, headers=request.headers, content=b"[]")
    async with client_of(app) as client:
        assert code_of(await client.send(other)) == "InvalidSignatureException"
        clock.advance(minutes=16)
        assert "Signature expired" in (await client.send(request)).json()["message"]


async def test_the_token_of_a_key_does_not_sign(host: Host, app: FastAPI) -> None:
    made = await host.keys.create("ann", Role.ADMIN)
    async with client_of(app) as client:
        answer = await client.send(signed("ListTables", b"{}", made.key.key_id, made.token.rpartition("_")[2]))
    assert code_of(answer) == "InvalidSignatureException"


async def test_a_session_gets_no_credentials(host: Host, app: FastAPI) -> None:
    made = await host.keys.create("ann", Role.ADMIN)
    begun = await host.sessions.begin(made.token)
    async with client_of(app) as client:
        answer = await client.get("/api/dynamodb/credentials", headers={"cookie": f"gateleg_session={begun.cookie}"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "key-not-shown")


async def test_a_page_of_another_site_cannot_speak_the_protocol(stranger: httpx.AsyncClient, host: Host) -> None:
    await stranger.get(host.local.link(""))
    headers = headers_of("ListTables") | {"origin": "https://elsewhere.example"}
    assert (await stranger.post("/dynamodb", content=b"{}", headers=headers)).status_code == 403
    assert "access-control-allow-origin" not in (await stranger.options("/dynamodb", headers=headers)).headers


async def test_a_signature_from_another_machine_is_no_way_in_while_there_is_no_key(app: FastAPI) -> None:
    async with client_of(app, peer="10.1.2.3") as client:
        assert (await client.send(signed("ListTables", b"{}", "any", "thing"))).status_code == 421


async def test_who_asks_too_often_is_throttled_in_words_that_sdks_know(settings: Settings, clock: ManualClock) -> None:
    async with Host.open(settings.model_copy(update={"key_rate": 2}), clock=clock, ticks=clock) as host:
        app, key = create_app(host, console=False), await host.keys.create("ann", Role.ADMIN)
        codes = [(await ask(app, host, key)).json().get("__type", "") for _ in range(3)]
    assert codes == ["", "", "com.amazon.coral.service#ThrottlingException"]


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({"X-Amz-Target": "DynamoDB_20120810.Nothing"}, b"{}", "UnknownOperationException"),
        ({}, b"{", "SerializationException"),
        ({}, b"", "SerializationException"),
        ({"X-Amz-Target": "DynamoDB_20120810.GetItem"}, b"{}", "ValidationException"),
    ],
)
async def test_what_the_engine_refuses_is_told_as_dynamodb_does(
    client: httpx.AsyncClient, headers: dict[str, str], body: bytes, expected: str
) -> None:
    answer = await client.post("/dynamodb", content=body, headers=headers_of("ListTables") | headers)
    assert (answer.status_code, code_of(answer)) == (400, expected)
    assert answer.headers["content-type"] == "application/x-amz-json-1.0"


async def test_a_body_may_have_what_dynamodb_takes_and_no_more(client: httpx.AsyncClient) -> None:
    batch = json.dumps({"Statement": "SELECT * FROM Songs", "NextToken": "x" * 100_000}).encode()
    assert (await client.post("/dynamodb", content=batch, headers=headers_of("ExecuteStatement"))).status_code == 400
    huge = b" " * (16 * 1024 * 1024 + 1)
    assert (await client.post("/dynamodb", content=huge, headers=headers_of("ListTables"))).status_code == 413


async def test_other_methods_are_told_apart(client: httpx.AsyncClient) -> None:
    answer = await client.get("/dynamodb")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_there_is_nothing_unless_it_is_asked_for(settings: Settings, clock: ManualClock) -> None:
    async with Host.open(settings.model_copy(update={"dynamodb": False}), clock=clock, ticks=clock) as host:
        app = create_app(host, console=False)
        async with client_of(app, token=host.local.token) as client:
            for path in ("/dynamodb", "/dynamodb/", "/api/dynamodb/credentials"):
                assert (await client.post(path, content=b"{}", headers=headers_of("ListTables"))).status_code == 404
        key = await host.keys.create("ann", Role.ADMIN)
        assert (await ask(app, host, key)).status_code == 401


async def test_a_host_whose_tables_are_elsewhere_does_not_start_with_it(host: Host) -> None:
    from gateleg.store import AsyncStore

    elsewhere = AsyncStore.connect("http://127.0.0.1:9")
    other = Host(**{**vars(host), "store": elsewhere})
    with pytest.raises(NotEmbedded, match="embedded store"):
        create_app(other, console=False)
    await elsewhere.close()
