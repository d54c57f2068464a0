import httpx
import pytest
from fastapi import FastAPI

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings
from gateleg.jobs import ManualClock
from gateleg.web.app import create_app
from gateleg.web.limits import Buckets
from tests.web.conftest import client_of


def test_a_bucket_empties_and_fills_with_time(clock: ManualClock) -> None:
    bucket = Buckets(3, 60, clock)
    for _ in range(3):
        assert bucket.wait("a") == 0
        bucket.take("a")
    assert bucket.wait("a") == pytest.approx(20)
    assert bucket.wait("b") == 0
    clock.advance(20)
    assert bucket.wait("a") == pytest.approx(0)
    clock.advance(3600)
    for _ in range(3):
        bucket.take("a")
    assert bucket.wait("a") > 0


def test_a_bucket_remembers_only_so_many(clock: ManualClock) -> None:
    bucket = Buckets(1, 60, clock)
    for number in range(10_001):
        bucket.take(str(number))
    assert bucket.wait("0") == 0
    assert bucket.wait("10000") > 0


async def test_a_key_that_asks_too_often_is_told_when_to_come_back(settings: Settings, clock: ManualClock) -> None:
    async with Host.open(settings.model_copy(update={"key_rate": 6}), [], clock=clock, ticks=clock) as host:
        app = create_app(host, console=False)
        tokens = [(await host.keys.create(name, Role.VIEWER)).token for name in ("ann", "bob")]
        ann, bob = [client_of(app, token=token) for token in tokens]
        statuses = [(await ann.get("/api/session")).status_code for _ in range(7)]
        refused = await ann.get("/api/session")
        assert statuses == [200] * 6 + [429]
        assert (refused.json()["error"]["code"], refused.headers["retry-after"]) == ("too-often", "10")
        assert (await bob.get("/api/session")).status_code == 200
        clock.advance(11)
        assert (await ann.get("/api/session")).status_code == 200


async def test_whoever_is_at_this_machine_is_not_counted(client: httpx.AsyncClient, app: FastAPI) -> None:
    assert app.state.host.settings.key_rate > 0
    assert {(await client.get("/health")).status_code for _ in range(20)} == {200}
