from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter
from pydantic import BaseModel

from gateleg.host import Application, Resources
from gateleg.host.application import BadApplication, check_applications
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.jobs import Jobs, Submission
from gateleg.jobs.handlers import DeclaredSchedule
from gateleg.model import Attr, Entity, Key, Table
from gateleg.web.app import create_app


def named(name: str) -> Application:
    return Application(name=name, title=name, icon="star")


@pytest.mark.parametrize("name", ["jobs", "keys", "", "Music", "a b", "../x", "a/b", "x" * 41, "1st"])
def test_a_name_that_cannot_be_an_address_or_is_the_kits_is_refused(name: str) -> None:
    with pytest.raises(BadApplication, match="is reserved" if name in ("jobs", "keys") else "cannot be the name"):
        check_applications([named(name)])


def test_two_applications_cannot_have_one_name() -> None:
    assert len(check_applications([named("a"), named("b")])) == 2
    with pytest.raises(BadApplication, match="Two applications have the name 'a'"):
        check_applications([named("a"), named("a")])


class Thing(Entity, table=Table("Things", hash="name")):
    name: Attr[str]
    key = Key("{name}")


class Own(BaseModel):
    size: int = 1


PARTS: dict[str, tuple[dict[str, Any], str]] = {
    "a single table": ({"tables": Thing.__table__}, "which is not a tuple. Write tables=(..., )"),
    "an entity": ({"tables": (Thing,)}, "Give its table: Thing.__table__"),
    "a name for a table": ({"tables": ("Things",)}, "has 'Things' among its tables"),
    "settings that are an instance": ({"settings": Own()}, "settings=Own(...), which is not a pydantic model"),
    "settings that are not a model": ({"settings": dict}, "settings=dict"),
    "a router": ({"routes": APIRouter()}, "cannot be called as routes(resources)"),
    "a number": ({"jobs": 3}, "jobs=3, which cannot be called as jobs(resources)"),
    "a function without an argument": ({"jobs": lambda: Jobs()}, "too many positional arguments"),
    "a search without a text": ({"search": lambda resources, principal: []}, "search(resources, principal, text)"),
    "a schedule by name": ({"schedules": ("nightly",)}, "has 'nightly' among its schedules"),
    "commands that are not text": ({"commands": print}, "has commands=print"),
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_wrong_kind_is_named(part: str) -> None:
    options, words = PARTS[part]
    with pytest.raises(BadApplication) as refused:
        check_applications([replace(named("shop"), **options)])
    assert "The application shop" in str(refused.value)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"), [(named("shop"), r"Write \[application\]"), (["shop.application:application"], "is not an Application")]
)
def test_what_is_not_a_list_of_applications_is_refused(given: Any, words: str) -> None:
    with pytest.raises(BadApplication, match=words):
        check_applications(given)


async def test_a_route_without_a_slash_is_refused(settings: Settings) -> None:
    router = APIRouter()
    router.get("notes")(list)
    shop = replace(named("shop"), routes=lambda resources: router)
    with pytest.raises(BadApplication, match=r"route at 'notes', which would be answered at /api/shopnotes\. Begin the path with a slash"):
        async with Host.open(settings, [shop]) as host:
            create_app(host, console=False)


def nothing(resources: Resources) -> Any:
    return None


@pytest.mark.parametrize("part", ["jobs", "lifespan", "routes", "streams", "surfaces"])
async def test_a_function_that_forgets_to_return_is_named(settings: Settings, part: str) -> None:
    options: dict[str, Any] = {part: nothing}
    with pytest.raises(BadApplication, match=f"has a function {part} that returned None"):
        async with Host.open(settings, [replace(named("shop"), **options)]) as host:
            create_app(host, console=False)


async def test_handlers_may_be_made_with_the_hosts_resources(settings: Settings) -> None:
    given: list[Resources] = []

    def make(resources: Resources) -> Jobs:
        given.append(resources)
        jobs = Jobs()

        @jobs.handler("echo")
        async def echo(job: object, config: dict[str, str]) -> None:
            await resources.store.health()

        return jobs

    async with Host.open(settings, [Application(name="x", title="X", icon="star", jobs=make)]) as host:
        assert (given[0].store, given[0].objects, given[0].queue) == (host.store, host.objects, host.queue)
        assert (await host.queue.submit(Submission("echo", {}))).created


async def test_a_host_writes_the_schedules_of_its_applications(settings: Settings, tmp_path: Path) -> None:
    settings = settings.model_copy(update={"store": f"embedded:{tmp_path}/store"})
    jobs = Jobs()

    @jobs.every(60)
    @jobs.handler("tick")
    async def tick(job: object, config: dict[str, str]) -> None: ...

    nightly = DeclaredSchedule("nightly-tick", "tick", cron="0 2 * * *")
    whole = Application(name="x", title="X", icon="star", jobs=jobs, schedules=(nightly,))
    async with Host.open(settings, [whole]) as host:
        found = await host.queue.schedules()
        assert [(one.name, one.declared_by, one.active) for one in found] == [("nightly-tick", "x", True), ("tick", "x", True)]
        await host.queue.set_enabled("tick", False)
    async with Host.open(settings, [replace(whole, schedules=())]) as host:
        nightly_now, tick_now = await host.queue.schedules()
        assert (nightly_now.undeclared_at is not None, tick_now.enabled) == (True, False)
    async with Host.open(settings, []) as host:
        assert (await host.queue.schedules())[1].undeclared_at is None
