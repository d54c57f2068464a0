"""A stranger's application, found by its entry point: everything that it plugs in works for its member, and for nobody else."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from typer.testing import CliRunner

from gateleg.cli.commands import app as commands
from gateleg.cli.installed import find_installed
from gateleg.host import Application, Principal, Role
from gateleg.host.doctor import examine
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from gateleg.jobs import JobStatus, Worker
from gateleg.web.app import create_app
from tests.cli.strangers import install
from tests.web.conftest import client_of
from tests.web.sockets import Socket
from tests.web.streaming import reading

SOURCE = Path(__file__).parents[2] / "examples" / "poems" / "src"
POEM = b"A gate\nA leg\n"


@pytest.fixture
def application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Application]:
    """The application, installed as pip would: on the path, with its entry point."""
    pytest.importorskip("mcp.server.mcpserver")
    pytest.importorskip("strawberry")
    packages = tmp_path / "packages"
    packages.mkdir()
    install(packages, "gateleg-poems", entries={"poems": "poems.application:application"}, modules={})
    monkeypatch.setattr(sys, "path", [str(packages), str(SOURCE), *sys.path])
    # For the process of the handler.
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    (found,) = [one for one in find_installed(load_settings(file=tmp_path / "none")).applications if one.name == "poems"]
    yield found
    for name in [name for name in sys.modules if name.partition(".")[0] == "poems"]:
        del sys.modules[name]


@dataclass
class Served:
    """A host with the application and two members, of whom one has a poem."""

    host: Host
    app: FastAPI
    ann: httpx.AsyncClient
    bob: httpx.AsyncClient
    poem_id: str


@pytest.fixture
async def served(application: Application, tmp_path: Path) -> AsyncIterator[Served]:
    flags = {"store": f"embedded:{tmp_path}/data", "objects": f"dir:{tmp_path}/objects", "data": tmp_path / "data"}
    settings = load_settings(flags=flags, environ={"GATELEG_POEMS__INDENT": "2"}, file=tmp_path / "none")
    async with Host.open(settings, [application]) as host:
        app = create_app(host, console=False)
        keys = [(await host.keys.create(name, Role.MEMBER)).token for name in ("ann", "bob")]
        async with app.router.lifespan_context(app), client_of(app, token=keys[0]) as ann, client_of(app, token=keys[1]) as bob:
            added = await ann.post("/api/poems/poems", params={"title": "Table"}, content=POEM, headers={"content-type": "text/plain"})
            assert added.status_code == 201, added.text
            yield Served(host, app, ann, bob, added.json()["poem_id"])


def bearer(client: httpx.AsyncClient) -> str:
    return str(client.headers["authorization"])


async def test_an_upload_is_told_by_its_content_and_has_its_routes_limit(served: Served) -> None:
    picture = await served.ann.post("/api/poems/poems", params={"title": "x"}, content=b"\x89PNG\r\n\x1a\n" + b"0" * 100)
    large = await served.ann.post("/api/poems/poems", params={"title": "x"}, content=b"x" * 100_001)
    assert (picture.status_code, large.status_code) == (415, 413)


async def test_the_job_sets_the_poem_in_a_process_with_the_settings_of_the_application(served: Served) -> None:
    worker = Worker(served.host.queue, queues={"default": 1}, scratch=served.host.settings.data / "scratch")
    running = asyncio.ensure_future(worker.run())
    try:
        async with reading(served.app, f"/events/jobs/{await job_of(served)}", authorization=f"Bearer {await viewer(served)}") as stream:
            assert (await stream.rest())[-1].name == "end"
    finally:
        worker.stop()
        await running
    job = await served.host.queue.get_or_archived(await job_of(served))
    assert job.status == JobStatus.COMPLETED
    assert await served.host.objects.get(f"poems/{served.poem_id}/page.txt") == b"  A gate\n  A leg"
    assert (await served.ann.get("/api/poems/poems")).json()[0]["lines"] == 2


async def job_of(served: Served) -> Any:
    (job,) = (await served.host.queue.jobs_page(subject=served.poem_id)).items
    return job.job_id


async def viewer(served: Served) -> str:
    return (await served.host.keys.create("vic", Role.VIEWER)).token


async def test_graphql_shows_members_their_own(served: Served) -> None:
    for client, titles in ((served.ann, ["Table"]), (served.bob, [])):
        answer = await client.post("/graphql/poems", json={"query": "{ poems { title lines } }"})
        assert [poem["title"] for poem in answer.json()["data"]["poems"]] == titles
    async with client_of(served.app) as nobody:
        assert (await nobody.post("/graphql/poems", json={"query": "{ poems { title } }"})).status_code == 401


async def test_agents_find_members_their_own_over_mcp(served: Served) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "find_poems", "arguments": {"text": "tab"}}}
    headers = {"accept": "application/json, text/event-stream"}
    for client, found in ((served.ann, True), (served.bob, False)):
        answer = await client.post("/mcp/poems", json=call, headers=headers)
        assert (answer.status_code, "Table" in answer.text) == (200, found), answer.text
    async with client_of(served.app) as nobody:
        assert (await nobody.post("/mcp/poems", json=call, headers=headers)).status_code == 401


async def test_a_name_in_another_tenant_is_somebody_else(served: Served) -> None:
    token = (await served.host.keys.create("ann", Role.MEMBER, tenant="north")).token
    async with client_of(served.app, token=token) as other:
        assert (await other.get("/api/poems/poems")).json() == []
        assert (await other.get(f"/events/poems/{served.poem_id}/lines")).status_code == 404
        added = await other.post("/api/poems/poems", params={"title": "North"}, content=POEM, headers={"content-type": "text/plain"})
        assert [poem["title"] for poem in (await served.ann.get("/api/poems/poems")).json()] == ["Table"]
        for client, subject in ((other, added.json()["poem_id"]), (served.ann, served.poem_id)):
            assert [job["subject"] for job in (await client.get("/api/poems/jobs")).json()["items"]] == [subject]


async def test_a_websocket_reads_a_poem_to_its_owner_only(served: Served) -> None:
    path = f"/api/poems/poems/{served.poem_id}/aloud"
    sent = await Socket(served.app, path, authorization=bearer(served.ann)).run("go", "go")
    assert [message["text"] for message in sent if message["type"] == "websocket.send"] == ["A gate", "A leg"]
    (refused,) = await Socket(served.app, path, authorization=bearer(served.bob)).run("go")
    assert (refused["type"], refused["code"]) == ("websocket.close", 4404)


async def test_a_stream_is_replayed_to_the_owner_only(served: Served) -> None:
    path = f"/events/poems/{served.poem_id}/lines"
    async with reading(served.app, path, authorization=bearer(served.ann), last_event_id="1") as stream:
        assert [event.data["text"] for event in await stream.rest()] == ["A leg"]
    assert (await served.bob.get(path)).status_code == 404


async def test_search_tiles_tools_and_checks_follow_the_same_rules(served: Served) -> None:
    host, ann, bob = served.host, Principal("ann", Role.MEMBER), Principal("bob", Role.MEMBER)
    assert [hit["title"] for hit in (await served.ann.get("/api/search", params={"q": "tab"})).json()["items"]] == ["Table"]
    assert (await served.bob.get("/api/search", params={"q": "tab"})).json()["items"] == []
    (application,) = host.applications
    assert application.tiles is not None
    assert [len(await application.tiles(host.resources["poems"], one)) for one in (ann, bob)] == [1, 0]
    (tool,) = host.tools_for(bob)
    assert (tool.name, await tool.call(ann, {"text": "table"}), await tool.call(bob, {"text": "table"})) == ("poems.find", ["Table"], [])
    found = {one.name: one.result for one in await examine(host) if one.application == "poems"}
    assert found["ink"].status == "ok"


async def test_its_command_is_one_of_gateleg(served: Served) -> None:
    arguments = ["poems", "list", "--owner", "ann", "--json", "--store", served.host.settings.store]
    told = await asyncio.to_thread(CliRunner().invoke, commands, arguments)
    assert '"title": "Table"' in told.output
