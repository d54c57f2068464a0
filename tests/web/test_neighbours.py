"""Two hosts on one store: what one gives out the other takes, and what one takes back the other refuses."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.sessions import COOKIE
from gateleg.host.settings import Settings
from gateleg.jobs import ManualClock
from gateleg.web.app import create_app
from tests.web.conftest import HOME, client_of
from tests.web.sample import make_application
from tests.web.streaming import reading

JOB = {"job_type": "add", "config": {"numbers": [1]}}


@pytest.fixture
async def hosts(tmp_path: Path, clock: ManualClock) -> AsyncIterator[tuple[Host, Host]]:
    settings = Settings(store=f"embedded:{tmp_path}", objects=f"dir:{tmp_path}/objects", data=tmp_path)
    async with AsyncExitStack() as stack:
        one, other = [
            await stack.enter_async_context(Host.open(settings, [make_application()], clock=clock, ticks=clock)) for _ in range(2)
        ]
        yield one, other


def callers(hosts: tuple[Host, Host], token: str) -> list[httpx.AsyncClient]:
    return [client_of(create_app(host, console=False), token=token) for host in hosts]


async def test_cursors_links_and_events_of_one_host_are_good_at_the_other(hosts: tuple[Host, Host]) -> None:
    token = (await hosts[0].keys.create("ann", Role.OPERATOR)).token
    one, other = callers(hosts, token)
    jobs = [(await one.post("/api/jobs", json=JOB)).json()["job"]["job_id"] for _ in range(3)]
    page = (await one.get("/api/jobs", params={"limit": 2})).json()
    rest = (await other.get("/api/jobs", params={"limit": 2, "cursor": page["next"]})).json()
    assert {job["job_id"] for job in page["items"] + rest["items"]} == set(jobs)
    await hosts[0].objects.put("a.txt", b"hello")
    link = (await one.post("/api/objects/links", json={"key": "a.txt"})).json()["url"]
    assert (await other.get(link, headers={"authorization": ""})).content == b"hello"
    shown = {"authorization": f"Bearer {token}"}
    async with reading(create_app(hosts[0], console=False), f"/events/jobs/{jobs[0]}", **shown) as stream:
        seen = await stream.next()
    assert seen is not None
    await other.post(f"/api/jobs/{jobs[0]}/cancel")
    async with reading(create_app(hosts[1], console=False), f"/events/jobs/{jobs[0]}", last_event_id=seen.id, **shown) as stream:
        assert [(event.name, event.data.get("status")) for event in await stream.rest()] == [("job", "CANCELLED"), ("end", None)]


async def test_a_session_of_one_host_is_one_of_the_other_and_ends_at_both(hosts: tuple[Host, Host], clock: ManualClock) -> None:
    made = await hosts[0].keys.create("ann", Role.OPERATOR)
    session = await hosts[0].sessions.begin(made.token)
    for host in hosts:
        async with client_of(create_app(host, console=False)) as browser:
            browser.cookies.set(COOKIE, session.cookie)
            token = (await browser.get("/api/session")).json()["csrf_token"]
            assert (await browser.post("/api/jobs", json=JOB, headers={"x-csrf-token": token, "origin": HOME})).status_code == 201
    await hosts[0].keys.end_sessions(made.key.key_id)
    clock.advance(1)
    for host in hosts:
        async with client_of(create_app(host, console=False)) as browser:
            browser.cookies.set(COOKIE, session.cookie)
            assert (await browser.get("/api/session")).status_code == 401


async def test_a_key_that_one_host_revokes_is_refused_by_the_other_within_a_second(hosts: tuple[Host, Host], clock: ManualClock) -> None:
    made = await hosts[0].keys.create("ann", Role.OPERATOR)
    one, other = callers(hosts, made.token)
    assert [(await caller.get("/api/session")).status_code for caller in (one, other)] == [200, 200]
    await hosts[0].keys.revoke(made.key.key_id)
    clock.advance(1)
    assert [(await caller.get("/api/session")).status_code for caller in (one, other)] == [401, 401]


async def test_the_first_key_of_one_host_closes_the_door_of_the_other(hosts: tuple[Host, Host], clock: ManualClock) -> None:
    async with client_of(create_app(hosts[1], console=False), token=hosts[0].local.token) as local:
        assert (await local.get("/api/session")).status_code == 200
        await hosts[0].keys.create("ann", Role.ADMIN)
        clock.advance(1)
        assert (await local.get("/api/session")).status_code == 401
