"""A store or an SDK that is pointed at the console's address is told where DynamoDB is."""

from pathlib import Path

import httpx
import pytest

from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.store.error_translation import translated
from gateleg.store.errors import NotDynamoDB
from gateleg.store.transports import ServiceError
from gateleg.web.app import create_app
from tests.web.conftest import HOME

CALL = {"x-amz-target": "DynamoDB_20120810.ListTables", "content-type": "application/x-amz-json-1.0"}


@pytest.mark.parametrize(("dynamodb", "way"), [(False, "gateleg engine serve"), (True, "at /dynamodb below this address")])
async def test_the_answer_has_the_form_of_dynamodb_and_says_where_to_go(dynamodb: bool, way: str, tmp_path: Path) -> None:
    settings = Settings(store="embedded::memory:", data=tmp_path, objects=f"dir:{tmp_path}/objects", dynamodb=dynamodb)
    async with Host.open(settings) as host:
        transport = httpx.ASGITransport(create_app(host, console=False))
        async with httpx.AsyncClient(transport=transport, base_url=HOME) as client:
            answer = await client.post("/", headers=CALL, content=b"{}")
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/x-amz-json-1.0")
    assert answer.json()["__type"] == "NotDynamoDB"
    assert way in answer.json()["message"]


def test_the_store_takes_it_for_what_it_is() -> None:
    error = translated(ServiceError("NotDynamoDB", "This address is the console."), None)
    assert isinstance(error, NotDynamoDB)
    assert "This address is the console." in str(error)
