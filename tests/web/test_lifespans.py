import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from starlette.types import Receive, Scope, Send

from gateleg.errors import GatelegError
from gateleg.host import Application, Resources
from gateleg.host.host import Host
from gateleg.host.lifespans import LifespanFailed, asgi_lifespan, run_in_own_task
from gateleg.host.settings import Settings
from gateleg.jobs import Jobs, Submission


def with_lifespan(told: list[object], fails: bool = False) -> Application:
    jobs = Jobs()

    @jobs.handler("echo")
    async def echo(job: object, config: dict[str, str]) -> None: ...

    @asynccontextmanager
    async def lifespan(resources: Resources) -> AsyncIterator[None]:
        if fails:
            raise RuntimeError("the index is damaged")
        await resources.queue.submit(Submission("echo", {}))
        told.append(asyncio.current_task())
        resources.state["index"] = [1, 2, 3]
        yield
        told.append(asyncio.current_task())

    return Application(name="x", title="X", icon="star", jobs=jobs, lifespan=lifespan)


async def test_an_application_runs_with_its_host_in_one_task(settings: Settings) -> None:
    told: list[object] = []
    context = Host.open(settings, [with_lifespan(told)])
    host = await asyncio.create_task(context.__aenter__())
    assert (len(told), host.resources["x"].state["index"]) == (1, [1, 2, 3])
    await asyncio.create_task(context.__aexit__(None, None, None))
    first, last = told
    assert first is last


async def test_an_application_that_cannot_start_keeps_a_host_from_opening_unless_it_is_tolerant(settings: Settings) -> None:
    broken, well = with_lifespan([], fails=True), replace(with_lifespan([]), name="well", jobs=Jobs(), lifespan=None)
    with pytest.raises(RuntimeError, match="damaged"):
        async with Host.open(settings, [broken, well]):
            pass
    async with Host.open(settings, [broken, well], tolerant=True) as host:
        assert [application.name for application in host.applications] == ["well"]
        assert host.failed_applications == {"x": "RuntimeError: the index is damaged"}
        assert host.queue.context.jobs.find("echo") is None


def refuse() -> None:
    raise GatelegError("The index is missing.", fix="Create it.")


async def test_an_error_of_gateleg_at_the_start_is_logged_without_a_traceback(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    @asynccontextmanager
    async def unprepared(resources: Resources) -> AsyncIterator[None]:
        refuse()
        yield

    applications = [replace(with_lifespan([]), name="ours", lifespan=unprepared, jobs=Jobs()), with_lifespan([], fails=True)]
    async with Host.open(settings, applications, tolerant=True):
        pass
    ours, theirs = (record for record in caplog.records if "continues without it" in record.message)
    assert ours.message.endswith("The index is missing. Create it. [error]")
    assert [record.exc_info is None for record in (ours, theirs)] == [True, False]


async def test_an_error_after_the_start_is_raised_at_the_end() -> None:
    @asynccontextmanager
    async def failing() -> AsyncIterator[int]:
        yield 3
        raise RuntimeError("late")

    with pytest.raises(RuntimeError, match="late"):
        async with run_in_own_task(failing()) as value:
            assert value == 3


async def test_an_asgi_application_without_a_lifespan_is_run_without_one() -> None:
    async def bare(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"

    async with asgi_lifespan(bare):
        pass


async def test_an_asgi_application_may_refuse_to_start() -> None:
    async def refusing(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no strings"})

    with pytest.raises(LifespanFailed, match="no strings"):
        async with asgi_lifespan(refusing):
            pass
