import logging
from collections.abc import Sequence
from dataclasses import replace

import pytest
from pydantic import BaseModel, ValidationError

from gateleg.host import AgentTool, Application, Found, Principal, Resources, Role
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.web.app import create_app
from gateleg.web.console.search import exact, search_results
from tests.web.conftest import client_of
from tests.web.sample import make_application

ANN = Principal("ann", Role.MEMBER)
VIC = Principal("vic", Role.VIEWER)


async def search(resources: Resources, principal: Principal, text: str) -> Sequence[Found]:
    songs = {"Sinnerman": "ann", "Feeling Good": "bob"}
    return [
        Found(title, f"/music/{title}", "Song")
        for title, owner in songs.items()
        if text.lower() in title.lower() and (principal.may(Role.VIEWER) or owner == principal.name)
    ]


async def broken(resources: Resources, principal: Principal, text: str) -> Sequence[Found]:
    raise RuntimeError("no index")


class Tempo(BaseModel):
    bpm: int


async def tune(principal: Principal, tempo: Tempo) -> str:
    return f"{principal.name} plays at {tempo.bpm}"


def tools(resources: Resources) -> list[AgentTool]:
    return [AgentTool("tune", "Play.", Tempo, tune), AgentTool("smash", "Smash it.", Tempo, tune, role=Role.OPERATOR)]


def applications() -> list[Application]:
    music = replace(make_application(), search=search, tools=tools, pages=lambda resources: None)
    return [Application(name="broken", title="Broken", icon="star", search=broken), music]


async def test_the_api_answers_with_what_the_caller_may_see(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    async with Host.open(settings, applications()) as host:
        app = create_app(host, console=False)
        for name, role, found in (("ann", Role.MEMBER, ["Sinnerman"]), ("vic", Role.VIEWER, ["Sinnerman", "Feeling Good"])):
            key = await host.keys.create(name, role)
            async with client_of(app, token=key.token) as client:
                with caplog.at_level(logging.ERROR):
                    answer = await client.get("/api/search", params={"q": "n"})
                assert [hit["title"] for hit in answer.json()["items"]] == found
                assert answer.json()["items"][0] == {
                    "application": "music",
                    "kind": "Song",
                    "title": "Sinnerman",
                    "about": "",
                    "href": "/music/Sinnerman",
                    "icon": "music_note",
                }
                assert (await client.get("/api/search", params={"q": "x" * 501})).status_code == 422
    assert "search in application broken failed" in caplog.text


async def test_the_search_box_of_a_member_leads_to_applications_and_what_they_find(settings: Settings) -> None:
    async with Host.open(settings, applications()) as host:
        assert [place.title for place in await search_results(host, ANN, "sin")] == ["Sinnerman"]
        assert [place.title for place in await search_results(host, ANN, "music")] == ["Music"]
        assert await search_results(host, ANN, "jobs") == []
        places = await search_results(host, VIC, "so")
        assert "Songs" in [place.title for place in places]
        # A thing that is found by its content is shown among the others, and not gone to at once.
        assert exact(await search_results(host, ANN, "sinnerman"), "sinnerman") is None


async def test_agents_are_offered_the_tools_that_their_principal_may_use(settings: Settings) -> None:
    async with Host.open(settings, applications()) as host:
        (tool,) = host.tools_for(ANN)
        assert (tool.name, tool.application, tool.tool.schema["required"]) == ("music.tune", "music", ["bpm"])
        assert await tool.call(ANN, {"bpm": 120}) == "ann plays at 120"
        with pytest.raises(ValidationError):
            await tool.call(ANN, {"bpm": "fast"})
        assert [one.name for one in host.tools_for(Principal("op", Role.OPERATOR))] == ["music.tune", "music.smash"]


async def test_an_application_reaches_the_tools_of_the_others(settings: Settings) -> None:
    async with Host.open(settings, applications()) as host:
        assert [tool.name for tool in host.resources["broken"].tools_for(ANN)] == ["music.tune"]
