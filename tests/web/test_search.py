"""One search: what the API, the console and the command line find, and who finds what."""

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from pydantic import BaseModel, ValidationError
from typer.testing import CliRunner

from gateleg.cli.commands import app as commands
from gateleg.host import LOCAL, AgentTool, Application, Principal, Resources, Role, SearchHit
from gateleg.host import search as host_search
from gateleg.host.host import Host
from gateleg.host.item_keys import key_questions
from gateleg.host.search import PAGES, SearchResults, is_short_id, matching, uuid_of
from gateleg.host.settings import Settings
from gateleg.jobs import Job, ManualClock, Submission
from gateleg.model import Attr, Entity, Key, Table
from gateleg.web.app import create_app
from gateleg.web.console.frame import KIT, SETTINGS
from gateleg.web.console.jobs.topics import PAGES as JOB_PAGES
from tests.web.conftest import client_of, run_all
from tests.web.sample import Song, make_application

ANN = Principal("ann", Role.MEMBER)
BOB = Principal("bob", Role.MEMBER)
VIC = Principal("vic", Role.VIEWER)
OLA = Principal("ola", Role.OPERATOR)


async def search(resources: Resources, principal: Principal, text: str) -> Sequence[SearchHit]:
    songs = {"Sinnerman": "ann", "Feeling Good": "bob"}
    return [
        SearchHit(title, f"/music/{title}", "Song")
        for title, owner in songs.items()
        if text.lower() in title.lower() and (principal.may(Role.VIEWER) or owner == principal.name)
    ]


async def broken(resources: Resources, principal: Principal, text: str) -> Sequence[SearchHit]:
    raise RuntimeError("no index")


class Tempo(BaseModel):
    bpm: int


async def tune(principal: Principal, tempo: Tempo) -> str:
    return f"{principal.name} plays at {tempo.bpm}"


def tools(resources: Resources) -> list[AgentTool]:
    return [AgentTool("tune", "Play.", Tempo, tune), AgentTool("smash", "Smash it.", Tempo, tune, role=Role.OPERATOR)]


music = replace(make_application(), search=search, tools=tools, pages=lambda resources: None)


def applications() -> list[Application]:
    return [Application(name="broken", title="Broken", icon="star", search=broken), music]


def titles(results: SearchResults, *kinds: str) -> list[str]:
    return [hit.title for hit in results.hits if not kinds or hit.kind in kinds]


async def fill(host: Host) -> dict[str, Job]:
    """Jobs of two callers that a worker has run, an item, and an object."""
    sent = {
        "sum": Submission("add", {"numbers": [1, 2]}, subject="Sinnerman tour", tags=["spring-2027"], created_by="ann"),
        "broken": Submission("fail", {}, subject="The other tour", created_by="bob"),
    }
    made = {name: (await host.queue.submit(submission)).job for name, submission in sent.items()}
    await run_all(host)
    await host.store.put(Song(artist="Nina", title="Mississippi Goddam"))
    await host.objects.put("covers/nina.png", b"\x89PNG")
    return made


async def test_the_api_answers_with_what_the_caller_may_see(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    async with Host.open(settings, applications()) as host:
        app = create_app(host, console=False)
        for name, role, found in (("ann", Role.MEMBER, ["Sinnerman"]), ("vic", Role.VIEWER, ["Sinnerman", "Feeling Good"])):
            key = await host.keys.create(name, role)
            async with client_of(app, token=key.token) as client:
                with caplog.at_level(logging.ERROR):
                    answer = (await client.get("/api/search", params={"q": "n"})).json()
                songs = [hit for hit in answer["items"] if hit["kind"] == "Song"]
                assert [hit["title"] for hit in songs] == found
                assert songs[0] == {
                    "application": "music",
                    "kind": "Song",
                    "title": "Sinnerman",
                    "about": "",
                    "href": "/music/Sinnerman",
                    "icon": "music_note",
                    "exact": False,
                }
                assert answer["skipped"] == ["broken"]
                assert (await client.get("/api/search", params={"q": "x" * 501})).status_code == 422
    assert "search in broken failed" in caplog.text


#: What each caller finds for a text, by kind; the tenant admin is a member with a group, of a tenant without anything.
MATRIX: list[tuple[str, dict[str, list[tuple[str, str]]]]] = [
    ("{sum}", {"ann": [("Job", "/music/-/jobs/{sum}")], "bob": [], "tenant": [], "viewer": [("Job", "/jobs/{sum}")]}),
    ("{sum:8}", {"ann": [("Job", "/music/-/jobs/{sum}")], "bob": [], "tenant": [], "viewer": [("Job", "/jobs/{sum}")]}),
    ("spring-2027", {"ann": [("Job", "/music/-/jobs/{sum}")], "bob": [], "tenant": [], "viewer": [("Job", "/jobs/{sum}")]}),
    ("no such number", {"ann": [], "bob": [("Job", "/music/-/jobs/{broken}")], "tenant": [], "viewer": [("Job", "/jobs/{broken}")]}),
    (
        "The other tour",
        {
            "ann": [],
            "bob": [("Job", "/music/-/jobs/{broken}")],
            "tenant": [],
            "viewer": [("Job", "/jobs/{broken}"), ("Jobs about", "/jobs?subject=The+other+tour")],
        },
    ),
    ("{worker}", {"ann": [], "bob": [], "tenant": [], "viewer": [("Jobs of", "/jobs?worker={worker}")]}),
    ("add", {"ann": [], "bob": [], "tenant": [], "viewer": [("Job type", "/jobs?type=add"), ("Setting", "/settings?tab=configuration")]}),
    ("Songs", {"ann": [], "bob": [], "tenant": [], "viewer": [("Table", "/tables/Songs")]}),
    ("GatelegAccess", {"ann": [], "bob": [], "tenant": [], "viewer": [], "admin": [("Table", "/tables/GatelegAccess")]}),
    ("Nina", {"ann": [], "bob": [], "tenant": [], "viewer": [("Item", "{song}")]}),
    ("Nina, Mississippi Goddam", {"ann": [], "bob": [], "tenant": [], "viewer": [("Item", "{song}")]}),
    ("covers/", {"ann": [], "bob": [], "tenant": [], "viewer": [("Object", "/objects?key=covers%2Fnina.png")]}),
    ("upload_limit", {"ann": [], "bob": [], "tenant": [], "viewer": [("Setting", "/settings?tab=configuration")]}),
    ("feeling", {"ann": [], "bob": [("Song", "/music/Feeling Good")], "tenant": [], "viewer": [("Song", "/music/Feeling Good")]}),
    ("your tenant", {"ann": [], "bob": [], "tenant": [("Page", "/tenant")], "viewer": []}),
    ("music", {name: [("Application", "/music")] for name in ("ann", "bob", "tenant", "viewer")}),
]


async def test_each_caller_finds_what_they_may_see_and_nothing_else(settings: Settings) -> None:
    settings = settings.model_copy(update={"tenant_admin_group": "admins"})
    callers = {
        "ann": ANN,
        "bob": BOB,
        "tenant": Principal("tia", Role.MEMBER, frozenset({"admins"}), "acme"),
        "viewer": VIC,
        "operator": OLA,
        "admin": LOCAL,
    }
    async with Host.open(settings, [music]) as host:
        made = await fill(host)
        done = await host.queue.get(made["sum"].job_id)
        key = '{"artist":{"S":"Nina"},"title":{"S":"Mississippi Goddam"}}'
        places: dict[str, Any] = {
            **{name: str(job.job_id) for name, job in made.items()},
            "worker": done.worker_id,
            "song": f"/tables/Songs/item?{urlencode({'key': key})}",
        }
        wrong = []
        for text, expected in MATRIX:
            text = text.replace("{sum:8}", places["sum"][:8]).format(**places)
            for name, caller in callers.items():
                hits = (await host.search(caller, text)).hits
                found = [(hit.kind, hit.href) for hit in hits]
                row = expected.get(name, expected["viewer"])
                if found != [(kind, href.format(**places)) for kind, href in row]:
                    wrong.append((text, name, found))
        assert wrong == []


async def test_the_api_the_console_and_the_command_line_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(store=f"embedded:{tmp_path}/data", objects=f"dir:{tmp_path}/objects", data=tmp_path / "data")
    by_api, by_console = {}, {}
    async with Host.open(settings, [music]) as host:
        made = await fill(host)
        texts = ["sinner", str(made["sum"].job_id), "Songs", "Nina", "covers/", "upload", "no such number", "nothing at all"]
        async with client_of(create_app(host), token=host.local.token) as client:
            for text in texts:
                answer = (await client.get("/api/search", params={"q": text, "limit": 200})).json()
                assert (answer["next"], answer["skipped"]) == (None, [])
                by_api[text] = answer["items"]
                by_console[text] = (await client.get("/search/places", params={"q": text})).json()
    assert [text for text in texts if not by_api[text]] == ["nothing at all"]
    assert by_console == {text: hits[:10] for text, hits in by_api.items()}
    # Applications that happen to be installed here would find more.
    monkeypatch.setattr("gateleg.cli.installed._entries", list)
    monkeypatch.setenv("GATELEG_APPLICATIONS", f"{__name__}:music")
    options = ["--store", settings.store, "--objects", settings.objects, "--json"]
    for text in texts:
        printed = await asyncio.to_thread(CliRunner().invoke, commands, ["search", text, *options])
        assert printed.exit_code == 0, printed.output
        assert json.loads(printed.stdout) == {"items": by_api[text], "skipped": []}


def test_the_command_line_prints_hits_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.cli.installed._entries", list)
    store = f"embedded:{tmp_path}/data"
    asyncio.run(prepare(Settings(store=store, data=tmp_path / "data")))
    assert "Archive" in CliRunner().invoke(commands, ["search", "archive", "--store", store]).output
    assert CliRunner().invoke(commands, ["search", "nothing at all", "--store", store]).output == "Nothing found.\n"
    assert CliRunner().invoke(commands, ["search", "x" * 501, "--store", store]).exit_code == 2


async def prepare(settings: Settings) -> None:
    async with Host.open(settings):
        pass


async def test_a_source_that_hangs_is_left_out_and_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(resources: Resources, principal: Principal, text: str) -> Sequence[SearchHit]:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(host_search, "_TIMEOUT_SECONDS", 0.0)
    async with Host.open(settings, [replace(music, search=hang)]) as host:
        assert "music" in (await host.search(VIC, "songs")).skipped


async def test_many_searches_read_the_newest_jobs_once(settings: Settings, clock: ManualClock) -> None:
    async with Host.open(settings, [music], clock=clock, ticks=clock) as host:
        first = await host.recent_jobs.read()
        await host.queue.submit(Submission("add", {"numbers": []}))
        assert await host.recent_jobs.read() is first == ()
        clock.advance(seconds=2)
        assert len(await host.recent_jobs.read()) == 1


async def test_a_member_is_led_to_applications_and_what_they_find(settings: Settings) -> None:
    async with Host.open(settings, applications()) as host:
        assert titles(await host.search(ANN, "sin")) == ["Sinnerman"]
        assert titles(await host.search(ANN, "music")) == ["Music"]
        assert titles(await host.search(ANN, "jobs")) == []
        # A thing that is found by its content is shown among the others, and not gone to at once.
        assert (await host.search(ANN, "sinnerman")).exact is None
        assert (await host.search(VIC, "Songs")).exact == SearchHit("Songs", "/tables/Songs", "Table", icon="table_chart", exact=True)


def test_every_page_of_the_navigation_is_found() -> None:
    known = {(entry.title, entry.href) for entry in (*KIT, SETTINGS)} | {(title, href) for href, title in JOB_PAGES[1:]}
    assert {(page.title, page.href) for page in PAGES} == known


PLACES = [SearchHit(title, f"/{title}", "Page") for title in ("Jobs", "Failed", "Job archive", "Tables")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("job", ["Jobs", "Job archive"]),
        ("failed", ["Failed"]),
        ("archive job", ["Job archive"]),
        ("TABLES", ["Tables"]),
        ("xyz", []),
    ],
)
def test_a_search_finds_names_with_all_its_words(text: str, found: list[str]) -> None:
    assert [place.title for place in matching(PLACES, text)] == found


def test_what_begins_with_the_text_comes_first() -> None:
    places = [SearchHit("old-jobs", "/a", "Table"), SearchHit("Jobs of today", "/b", "Page")]
    assert [place.title for place in matching(places, "jobs")] == ["Jobs of today", "old-jobs"]


@pytest.mark.parametrize(("text", "known"), [(" 3f2a9c1e-0000-4000-8000-000000000000 ", True), ("3f2a9c1e", False), ("", False)])
def test_an_id_is_recognised(text: str, known: bool) -> None:
    assert (uuid_of(text) is not None) is known


def test_only_the_beginning_that_pages_show_is_a_short_id() -> None:
    assert [is_short_id(text) for text in ("3f2a9c1e", "3F2A9C1E-00", "3f2a9c1", "3f2a9c1x", "deadbeef")] == [
        True,
        True,
        False,
        False,
        True,
    ]


def test_a_text_leads_straight_to_the_only_place_that_it_names() -> None:
    assert SearchResults(tuple(matching(PLACES, "jobs"))).exact == replace(PLACES[0], exact=True)
    assert SearchResults(tuple(matching(PLACES, "job"))).exact is None
    setting = SearchHit("jobs", "/settings", "Setting")
    assert SearchResults(tuple(matching([*PLACES, setting], "jobs"))).exact == replace(PLACES[0], exact=True)
    two = (SearchHit("add", "/jobs/1", "Job", exact=True), SearchHit("add", "/jobs/2", "Job", exact=True))
    assert SearchResults(two).exact is None


shelves = Table("Shelves", hash="pk", range="sk", tag="kind", types={"pk": "S"})
counters = Table("Counters", hash="number")


class Shelf(Entity, table=shelves, tag="shelf"):
    room: Attr[str]
    row: Attr[int]
    key = Key("ROOM#{room}", "SHELF#{row:03d}")


class Counter(Entity, table=counters):
    number: Attr[int]
    key = Key("{number}")


def keys_of(table: Table, text: str) -> list[dict[str, Any]]:
    return [question.key for question in key_questions(table, text)]


def test_a_text_is_read_as_a_key_in_every_form_that_people_know() -> None:
    assert keys_of(shelves, "ROOM#cellar") == [{"pk": {"S": "ROOM#cellar"}}]
    assert {"pk": {"S": "ROOM#cellar"}} in keys_of(shelves, "cellar")
    assert keys_of(shelves, "cellar, 7")[0] == {"pk": {"S": "ROOM#cellar"}, "sk": {"S": "SHELF#007"}}
    assert keys_of(shelves, "cellar, seven") == [{"pk": {"S": "cellar, seven"}}, {"pk": {"S": "ROOM#cellar, seven"}}]
    assert keys_of(counters, "12") == [{"number": {"N": "12"}}]
    assert keys_of(counters, "twelve") == []
    assert [question.is_whole for question in key_questions(counters, "12")] == [True]


async def test_agents_are_offered_the_tools_that_their_principal_may_use(settings: Settings) -> None:
    async with Host.open(settings, applications()) as host:
        (tool,) = host.tools_for(ANN)
        assert (tool.name, tool.application, tool.tool.schema["required"]) == ("music.tune", "music", ["bpm"])
        assert await tool.call(ANN, {"bpm": 120}) == "ann plays at 120"
        with pytest.raises(ValidationError):
            await tool.call(ANN, {"bpm": "fast"})
        offered = host.tools_for(Principal("op", Role.OPERATOR))
        assert [one.name for one in offered if one.application == "music"] == ["music.tune", "music.smash"]


async def test_an_application_reaches_the_tools_of_the_others(settings: Settings) -> None:
    async with Host.open(settings, applications()) as host:
        assert [tool.name for tool in host.resources["broken"].tools_for(ANN)] == ["music.tune"]
