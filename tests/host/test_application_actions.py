"""Actions that an application declares: one value, found at every door; and what is wrong with one is said at the start."""

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter
from pydantic import BaseModel
from typer.testing import CliRunner

from gateleg.cli.commands import app as command_line
from gateleg.host import Application, Resources
from gateleg.host.actions import Action, ActionCall, perform
from gateleg.host.application import BadApplication, check_applications
from gateleg.host.errors import NotAllowed
from gateleg.host.host import Host
from gateleg.host.principal import LOCAL, Principal, Role
from gateleg.host.settings import Settings
from gateleg.jobs import Jobs
from gateleg.web.app import create_app
from tests.cli.strangers import install
from tests.host.test_actions import by_api, entries, told
from tests.web.conftest import client_of


class Strike(BaseModel):
    """A bell, and how often it is struck."""

    bell: str
    times: int = 1


class Struck(BaseModel):
    """What was heard."""

    sound: str


async def _strike(call: ActionCall, given: Strike) -> str:
    return "ding " * given.times


strike = Action(
    name="bells.strike",
    title="Strike",
    help="Strike a bell.",
    role=Role.OPERATOR,
    input=Strike,
    run=_strike,
    http="POST /api/bells/{bell}/strike",
    command="bells strike",
    target=lambda given, sound: given.bell,
    details=lambda given, sound: {"times": given.times},
    reply=lambda sound: Struck(sound=sound),
    reply_type=Struck,
    done=lambda sound: f"It went {sound}",
)
bells = Application("bells", "Bells", "notifications", actions=(strike,))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=f"embedded:{tmp_path}/store", objects=f"dir:{tmp_path}/objects", data=tmp_path / "data")


@pytest.fixture
async def host(settings: Settings) -> AsyncIterator[Host]:
    async with Host.open(settings, [bells]) as host:
        yield host


async def test_a_declared_action_has_a_route_with_its_role_and_an_entry(host: Host, settings: Settings) -> None:
    assert await by_api(host, settings, strike, Strike(bell="big-ben", times=2)) == {"sound": "ding ding "}
    assert [told(entry) for entry in await entries(host)] == [("bells.strike", "big-ben", {"times": 2})]
    member = await host.keys.create("mia", Role.MEMBER)
    async with client_of(create_app(host, console=False), token=member.token) as client:
        refused = await client.post("/api/bells/big-ben/strike", json={})
    assert refused.status_code == 403
    assert "needs the role operator; 'mia' has member" in refused.json()["error"]["message"]


async def test_a_declared_action_is_a_tool_of_those_with_its_role(host: Host) -> None:
    (tool,) = [tool for tool in host.tools_for(LOCAL) if tool.application == "bells"]
    assert tool.name == "bells.strike"
    assert await tool.call(LOCAL, {"bell": "big-ben"}) == Struck(sound="ding ")
    assert [entry.action for entry in await entries(host)] == ["bells.strike"]
    assert [tool for tool in host.tools_for(Principal("m", Role.MEMBER)) if tool.application == "bells"] == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with a package that registers the application."""
    place = tmp_path / "packages"
    place.mkdir()
    monkeypatch.syspath_prepend(place)
    monkeypatch.chdir(tmp_path)
    install(place, "chimes", entries={"bells": "tests.host.test_application_actions:bells"}, modules={})
    return place


def call(*words: str) -> Any:
    return CliRunner().invoke(command_line, words)


@pytest.mark.usefixtures("folder")
async def test_a_declared_action_is_a_command_that_does_and_says_and_records_the_same(host: Host, settings: Settings) -> None:
    options = ["--store", settings.store, "--objects", settings.objects]
    result = await asyncio.to_thread(call, "bells", "strike", "big-ben", "--times", "3", *options)
    assert (result.exit_code, result.output.strip()) == (0, "It went ding ding ding")
    (entry,) = await entries(host)
    assert (told(entry), entry.actor) == (("bells.strike", "big-ben", {"times": 3}), "command line")


def test_a_command_that_is_written_by_hand_and_declared_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import typer\napp = typer.Typer()\n\n@app.command()\ndef strike() -> None: ...\n\n@app.command()\ndef hang() -> None: ...\n"
    (folder / "bell_commands.py").write_text(text)
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "bells", replace(bells, commands="bell_commands:app"))
    result = call("bells", "--help")
    assert (result.exit_code, "has the command 'strike' twice" in result.output) == (2, True)
    monkeypatch.setattr(module, "bells", replace(bells, commands="bell_commands:app", actions=(replace(strike, command=""),)))
    assert call("bells", "hang").exit_code == 0


async def test_a_function_of_the_resources_declares_actions_that_use_them(settings: Settings) -> None:
    def declare(resources: Resources[Any]) -> list[Action[Any, Any]]:
        async def run(call: ActionCall, given: Strike) -> str:
            return resources.application

        return [replace(strike, run=run)]

    async with Host.open(settings, [replace(bells, actions=declare)]) as host:
        (declared,) = host.actions["bells"]
        assert await perform(declared, ActionCall(host, LOCAL), Strike(bell="a")) == "bells"
        with pytest.raises(NotAllowed):
            await perform(declared, ActionCall(host, Principal("m", Role.MEMBER)), Strike(bell="a"))


@pytest.mark.parametrize(
    ("actions", "problem"),
    [
        ((strike, replace(strike, http="POST /api/bells/x", command="bells x")), "Two actions of the application bells have the name"),
        ((strike, replace(strike, name="bells.ring", command="bells ring")), "have the route"),
        ((strike, replace(strike, name="bells.ring", http="POST /api/bells/ring", arguments=())), "have the command 'bells strike'"),
        ((replace(strike, name="strike"),), "has a name that is not its own"),
        ((replace(strike, name="bells.job.cancel"),), "has a name that is not its own"),
        ((replace(strike, http="POST /api/jobs/{bell}"),), "outside of /api/bells/"),
        ((replace(strike, http="RING /api/bells/{bell}"),), "outside of /api/bells/"),
        ((replace(strike, http="POST /api/bells/{tower}"),), "names 'tower', which is not a field of Strike"),
        ((replace(strike, query=("colour",)),), "names 'colour'"),
        ((replace(strike, command="jobs strike"),), "has the command 'jobs strike'"),
        ((strike, "ring"), "function actions that returned a str instead of its Action"),
        (lambda resources: None, "function actions that returned None"),
    ],
)
async def test_what_is_wrong_with_an_action_is_said_at_the_start(settings: Settings, actions: Any, problem: str) -> None:
    with pytest.raises(BadApplication, match=problem):
        async with Host.open(settings, [replace(bells, actions=actions)]):
            pass


async def test_the_routes_of_its_jobs_are_not_taken(settings: Settings) -> None:
    taking = replace(bells, jobs=Jobs(), actions=(replace(strike, http="POST /api/bells/jobs/{bell}"),))
    with pytest.raises(BadApplication, match="below which the host serves its jobs"):
        async with Host.open(settings, [taking]):
            pass


def test_actions_that_are_neither_a_sequence_nor_a_function_are_refused() -> None:
    with pytest.raises(BadApplication, match="actions="):
        check_applications([replace(bells, actions=7)])  # type: ignore[arg-type]


async def test_a_route_that_is_written_by_hand_and_declared_is_refused(settings: Settings) -> None:
    def routes(resources: Resources[Any]) -> APIRouter:
        router = APIRouter()
        router.add_api_route("/{bell}/strike", lambda bell: bell, methods=["POST"])
        return router

    async with Host.open(settings, [replace(bells, routes=routes)]) as host:
        with pytest.raises(BadApplication, match="has a route POST"):
            create_app(host, console=False)


async def test_a_tolerant_host_goes_on_without_an_application_whose_actions_are_wrong(settings: Settings) -> None:
    wrong = replace(bells, actions=(replace(strike, name="strike"),))
    other = Application("other", "Other", "star")
    async with Host.open(settings, [wrong, other], tolerant=True) as host:
        assert [application.name for application in host.applications] == ["other"]
        assert host.actions == {"other": ()}
