"""No command, route, tool or page of Delphi shows a comment that moderators have rejected.

The doors are walked: commands from the Typer app, routes from the host's OpenAPI document, tools from the application. A new door without
arguments here is a failure, so none is forgotten.
"""

import asyncio
import csv
import io
import re
import zipfile
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pypdfium2
import pytest
from playwright.sync_api import Page
from typer.testing import CliRunner

from gateleg.apps.delphi import service
from gateleg.apps.delphi.api import RESULTS
from gateleg.apps.delphi.application import application
from gateleg.apps.delphi.commands import app as commands
from gateleg.apps.delphi.conversations.conversation import Conversation
from gateleg.apps.delphi.conversations.spreadsheet import as_export
from gateleg.apps.delphi.pages import pages
from gateleg.apps.delphi.runs.run_tables import Run, StoredComment
from gateleg.apps.delphi.runs.withdrawal import withdraw_rejected
from gateleg.apps.delphi.tables import JobResult
from gateleg.host import Principal
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings, load_settings
from gateleg.jobs import JobStatus, Submission
from gateleg.store import AsyncStore
from gateleg.web.app import create_app
from tests.apps.delphi.reports.test_chromium import needs_chromium
from tests.apps.delphi.served import analysed, conversation
from tests.apps.delphi.test_rejected import SECRET, WORDS, planted
from tests.apps.delphi.test_work import followed, worked
from tests.web.console.conftest import Served, open_page, serving

__all__ = ["open_page"]


def leaks(content: bytes) -> bool:
    """Whether a rejected word is in bytes, or in anything that is packed in them."""
    return any(SECRET.search(text) for text in unpacked(content))


def unpacked(content: bytes) -> Iterator[str]:
    """The text of a file, and of every file inside of it."""
    yield content.decode(errors="replace")
    if content.startswith(b"%PDF"):
        with pypdfium2.PdfDocument(content) as document:
            yield "".join(page.get_textpage().get_text_bounded() for page in document)
        return
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield from unpacked(archive.read(name))
        return
    for packed in re.findall(rb"base64,([A-Za-z0-9+/=]+)", content):
        yield from unpacked(b64decode(packed))


def leaking(folder: Path) -> list[str]:
    """The files in a folder that leak."""
    return [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file() and leaks(path.read_bytes())]


def _matrix(conversation: Conversation) -> str:
    """The conversation in the format of participants-votes.csv."""
    votes = conversation.votes.latest()
    cast = {
        (person, comment): choice
        for person, comment, choice in zip(votes.participants.tolist(), votes.comments.tolist(), votes.choices.tolist(), strict=True)
    }
    numbers = [one.comment_id for one in conversation.comments]
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(["participant", "group-id", "n-comments", "n-votes", "n-agree", "n-disagree", *numbers])
    for person in sorted(set(votes.participants.tolist())):
        rows.writerow([person, "", 0, 0, 0, 0, *(cast.get((person, number), "") for number in numbers)])
    return text.getvalue()


@cache
def _texts() -> dict[str, str]:
    """The files of the planted conversation, with the texts that moderators have rejected."""
    files = as_export(replace(planted(), topic="Town"), with_rejected=True)
    assert SECRET.search(files["comments.csv"])
    return files | {"participants-votes.csv": _matrix(planted())}


def _archive(*names: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, _texts()[name])
    return packed.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for name, text in _texts().items():
        (tmp_path / "in" / name).write_text(text, encoding="utf-8")
    return tmp_path


@dataclass
class Command:
    """Ways to call a command, where `@` stands for the folder."""

    calls: list[list[str]]
    #: files that it writes for moderators who ask for rejected texts explicitly, by the number of the call
    allowed: dict[int, set[str]] = field(default_factory=dict)


_EXPORT, _TABLE = ["@/in/votes.csv", "@/in/comments.csv"], ["@/in/participants-votes.csv", "@/in/comments.csv"]
_STORE = ["--store", "embedded:@/store"]
COMMANDS: dict[str, Command] = {
    "run": Command([["run", *files, "--out", f"@/out{number}"] for number, files in enumerate((_EXPORT, _TABLE))]),
    "convert": Command(
        [
            ["convert", "@/in/participants-votes.csv", "--comments", "@/in/comments.csv", "--out", "@/out0"],
            ["convert", "@/in/votes.csv", "--comments", "@/in/comments.csv", "--out", "@/out1"],
            ["convert", "@/in/votes.csv", "--comments", "@/in/comments.csv", "--out", "@/out2", "--rejected"],
        ],
        allowed={2: {"comments.csv"}},
    ),
    "reprocess": Command([["reprocess", "--all", *_STORE]]),
    "delete": Command([["delete", "town", "--yes", *_STORE]]),
}


def _names() -> list[str]:
    return [info.name or str(getattr(info.callback, "__name__", "")).replace("_", "-") for info in commands.registered_commands]


@pytest.mark.parametrize("name", _names())
def test_no_command_shows_a_rejected_comment(folder: Path, name: str) -> None:
    assert name in COMMANDS, f"the command {name} is new: say here how to call it"
    asyncio.run(_stored(f"embedded:{folder}/store"))
    for number, call in enumerate(COMMANDS[name].calls):
        told = CliRunner().invoke(commands, [part.replace("@", str(folder)) for part in call])
        assert told.exit_code == 0, told.output
        assert not SECRET.search(told.output + told.stderr)
        out = folder / f"out{number}"
        assert set(leaking(out)) <= COMMANDS[name].allowed.get(number, set())
        assert not out.exists() or any(out.iterdir())


async def _stored(store: str) -> None:
    async with AsyncStore.connect(store) as opened:
        await service.ensure_tables(opened)
        await service.upload_conversation(opened, planted())


def test_a_matrix_that_was_converted_becomes_a_report_without_rejected_comments(folder: Path) -> None:
    """The way in which moderation was lost: convert, then run."""
    convert = ["convert", "@/in/participants-votes.csv", "--comments", "@/in/comments.csv", "--out", "@/exported"]
    run = ["run", "@/exported/votes.csv", "@/exported/comments.csv", "--out", "@/report"]
    for asked in (convert, [*convert, "--rejected"]):
        for call in (asked, run):
            told = CliRunner().invoke(commands, [part.replace("@", str(folder)) for part in call])
            assert told.exit_code == 0, told.output
        assert leaking(folder / "report") == []
        # Rejected comments do not count as comments, but votes on them do.
        assert "were removed by moderation" in (folder / "report" / "report.html").read_text(encoding="utf-8")


@pytest.mark.browser
@needs_chromium
def test_no_printed_file_of_a_run_shows_a_rejected_comment(folder: Path) -> None:
    call = [
        "run",
        str(folder / "in/participants-votes.csv"),
        str(folder / "in/comments.csv"),
        "--out",
        str(folder / "out"),
        "--pdf",
        "--png",
    ]
    told = CliRunner().invoke(commands, call)
    assert told.exit_code == 0, told.output
    assert (folder / "out" / "report.pdf").is_file()
    assert leaking(folder / "out") == []


#: How the conversation is uploaded, by the name that it gets: method, end of the path, and the body.
UPLOADS: dict[str, Callable[[], tuple[str, str, dict[str, Any]]]] = {
    "put": lambda: ("PUT", "", {"json": {"votes": _texts()["votes.csv"], "comments": _texts()["comments.csv"]}}),
    "files": lambda: ("POST", "/files", _form("votes.csv", "comments.csv")),
    "matrix": lambda: ("POST", "/files", _form("participants-votes.csv", "comments.csv")),
    "archive": lambda: ("POST", "/files", {"files": [("file", ("export.zip", _archive("participants-votes.csv", "comments.csv")))]}),
}


def _form(*names: str) -> dict[str, Any]:
    return {"files": [("file", (name, _texts()[name].encode())) for name in names]}


@dataclass
class Doors:
    """A host with conversations that were uploaded through every door, mapped, and an admin who calls it."""

    host: Host
    client: httpx.AsyncClient
    folder: Path


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Doors]:
    """A host with a conversation for every way to upload, and one of which comments were rejected after its run."""
    settings = Settings(store="embedded::memory:", objects=f"dir:{folder}/objects", data=folder)
    async with Host.open(settings, [application]) as host:
        token = (await host.keys.create("admin", Role.ADMIN, groups=[])).token
        transport = httpx.ASGITransport(create_app(host, console=False), client=("127.0.0.1", 50_000))
        head = {"authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=head) as client:
            shown = replace(planted(), conversation_id="late", comments=[replace(one, moderated=1) for one in planted().comments])
            await service.upload_conversation(host.store, shown)
            for name, upload in UPLOADS.items():
                method, end, body = upload()
                answer = await client.request(method, f"/api/delphi/conversations/{name}{end}", **body)
                assert answer.status_code == 200, answer.text
            for name in (*UPLOADS, "late"):
                job = await worked(host.queue, Submission("FULL_PIPELINE", {}, subject=name))
                assert job.status is JobStatus.COMPLETED
            method, end, body = UPLOADS["matrix"]()
            assert (await client.request(method, f"/api/delphi/conversations/late{end}", **body)).status_code == 200
            [item] = (await client.get("/api/jobs?job_type=REDACTION")).json()["items"]
            done = await followed(host.queue, await host.queue.get(item["job_id"]))
            assert done.status is JobStatus.COMPLETED
            yield Doors(host, client, folder)


def _first_result(row: JobResult) -> str:
    """The identifier of a result within its job."""
    sort = type(row).__spec__.key.range[0]
    names = [sort.attribute] if sort.text is None else [part.name for part in sort.text.template.placeholders]
    return "#".join(str(getattr(row, name)) for name in names)


#: The bodies of requests that change something, by method and path.
BODIES: dict[tuple[str, str], Callable[[], dict[str, Any]]] = {
    ("put", "/api/delphi/conversations/{conversation}"): lambda: UPLOADS["put"]()[2],
    ("post", "/api/delphi/conversations/{conversation}/files"): lambda: UPLOADS["archive"]()[2],
    ("post", "/api/delphi/conversations/{conversation}/jobs"): lambda: {"json": {"job_type": "PCA"}},
    ("post", "/api/delphi/conversations/{conversation}/self-descriptions"): lambda: {"json": {"comments": [1]}},
    ("post", "/api/delphi/reprocess"): lambda: {"json": {"conversations": ["late"]}},
    ("put", "/api/delphi/runs/{job_id}/topics/{topic}/name"): lambda: {"json": {"name": "Another name"}},
    ("post", "/api/delphi/jobs/{job_id}/cancel"): dict,
    ("post", "/api/delphi/jobs/{job_id}/tree/cancel"): dict,
    ("post", "/api/delphi/jobs/{job_id}/retry"): dict,
    ("delete", "/api/delphi/runs/{job_id}"): dict,
    ("delete", "/api/delphi/conversations/{conversation}"): dict,
}
#: The queries of routes that need one; the empty one is always asked too.
QUERIES: dict[str, list[str]] = {
    "/api/delphi/conversations/{conversation}/comments": ["limit=100"],
    "/api/delphi/conversations/{conversation}/results/{table}": ["limit=200"],
    "/api/delphi/conversations/{conversation}/runs/latest": ["stage=PCA", "stage=UMAP", "stage=REPORT"],
    "/api/delphi/runs/{job_id}/results/{table}": ["limit=200"],
    "/api/delphi/jobs": ["limit=100"],
}
#: Routes that show rejected texts to moderators who ask for them explicitly.
ALLOWED: set[tuple[str, str]] = set()


async def test_no_route_file_log_or_tool_shows_a_rejected_comment(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        await _assert_tools_are_silent(doors)
        await _assert_files_are_silent(doors)
        await _assert_routes_are_silent(doors)


async def _assert_routes_are_silent(doors: Doors) -> None:
    host, client = doors.host, doors.client
    names = [*UPLOADS, "late"]
    runs = [run for name in names async for run in host.store.query(Run.of_conversation, conversation_id=name)]
    jobs = sorted({str(run.job_id) for run in runs} | {str(run.root_job_id) for run in runs})
    values = {"conversation": names, "job_id": jobs, "table": list(RESULTS), "topic": ["layer0_0"]}
    document = (await client.get("/api/openapi.json")).json()
    asked = 0
    # What is deleted cannot be read any more, so reading comes first.
    doors_in_order = sorted(
        ((method, path) for path, methods in document["paths"].items() if "delphi" in path for method in methods),
        key=lambda door: (("get", "put", "post", "patch", "delete").index(door[0]), door[1]),
    )
    for word in WORDS:
        assert not leaks((await client.get(f"/api/search?q={word}")).content)
    for method, path in doors_in_order:
        if path.startswith("/events/") or (method, path) in ALLOWED:
            # The stream of a job shows the job, as the routes of jobs do.
            continue
        assert method == "get" or (method, path) in BODIES, f"{method} {path} is new: say here what to send"
        for address in _addresses(path, values) if "{key}" not in path else await _of_results(host.store, jobs):
            for query in ["", *QUERIES.get(path, [])]:
                sent = BODIES[method, path]() if method != "get" else {}
                answer = await client.request(method, f"{address}?{query}", **sent)
                assert answer.status_code < 500, (method, address, answer.text)
                assert not leaks(answer.content), (method, address)
                asked += answer.status_code < 300
        if path == "/api/delphi/comparison":
            for before, after in product(jobs[:2], jobs[-2:]):
                assert not leaks((await client.get(f"{path}?before={before}&after={after}")).content)
    assert asked > 300


async def _assert_files_are_silent(doors: Doors) -> None:
    files = [path for path in (doors.folder / "objects").rglob("*") if path.is_file()]
    assert len(files) > 50
    assert leaking(doors.folder / "objects") == []
    for item in (await doors.client.get("/api/jobs?limit=100")).json()["items"]:
        for end in ("", "/logs", "/tree"):
            answer = await doors.client.get(f"/api/jobs/{item['job_id']}{end}")
            assert answer.status_code == 200
            assert not leaks(answer.content)


async def _assert_tools_are_silent(doors: Doors) -> None:
    admin = Principal("admin", Role.ADMIN)
    tools = [tool for tool in doors.host.tools_for(admin) if tool.name.startswith("delphi.")]
    assert len(tools) > 2
    for tool, name in product(tools, (*UPLOADS, "late")):
        arguments = {"conversation": name} if "conversation" in tool.tool.input.model_fields else {}
        assert not SECRET.search(await tool.call(admin, arguments)), (tool.name, name)


@pytest.fixture
def late(tmp_path: Path) -> Iterator[Served]:
    """A host with a conversation of which comments were rejected after it was analysed."""
    with ThreadPoolExecutor(1) as aside:
        aside.submit(asyncio.run, _late(tmp_path)).result()
    with serving(tmp_path, "--idle", "--application", "gateleg.apps.delphi.application:application") as served:
        yield served


@pytest.mark.browser
@needs_chromium
def test_no_page_of_the_console_shows_a_rejected_comment(late: Served, open_page: Callable[..., Page]) -> None:
    for path in pages():
        for address in _addresses(path, {"conversation": ["town"], "number": ["1", "28", "39"]}):
            page = open_page(f"{late.url}{address}")
            page.wait_for_load_state("networkidle")
            shown = [frame.content() for frame in page.frames]
            assert "Opinion maps" in shown[0]
            assert not [text for text in shown if leaks(text.encode())], address


async def _late(folder: Path) -> None:
    """A conversation of which comments were rejected after it was analysed."""
    settings = load_settings(flags={"store": f"embedded:{folder}", "objects": f"dir:{folder}/objects", "data": folder})
    async with Host.open(settings, [application]) as host:
        await analysed(host, None, uuid4())
        shown = conversation()
        comments = [replace(one, moderated=-1, body="A zorblatt") if one.comment_id in {1, 28, 39} else one for one in shown.comments]
        await service.upload_conversation(host.store, replace(shown, comments=comments))
        assert await withdraw_rejected(host.store, host.objects, host.queue, "town") is not None
        async for row in host.store.query(StoredComment.of_upload, upload_id=(await service.find_upload(host.store, "town")).upload_id):
            assert SECRET.search(row.body) or row.comment_id not in {1, 28, 39}


def _addresses(path: str, values: Mapping[str, list[str]]) -> Iterator[str]:
    names = re.findall(r"{(\w+)}", path)
    assert set(names) <= set(values), f"{path} has a new parameter: say here which values it has"
    for chosen in product(*(values[name] for name in names)):
        address = path
        for name, value in zip(names, chosen, strict=True):
            address = address.replace(f"{{{name}}}", value)
        yield address


async def _of_results(store: AsyncStore, jobs: list[str]) -> list[str]:
    """The addresses of single results: every keyword and name of a topic, and the first rows of every other table."""
    found = []
    for job, (table, kind) in product(jobs, RESULTS.items()):
        rows = [row async for row in service.results(store, kind, job)]  # type: ignore[arg-type]
        kept = rows if "Topic" in table or "Structure" in table else [row for row in rows if getattr(row, "comment_id", 99) > 26][:3]
        found += [f"/api/delphi/runs/{job}/results/{table}/{_first_result(row).replace('#', '%23')}" for row in kept]
    return found
