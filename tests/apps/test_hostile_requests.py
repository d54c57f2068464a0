"""Every route and surface of a host with all applications, asked with hostile bodies and parameters: none holds the loop over 50 ms.

What counts is the processor time of the loop's thread in one step, which a busy machine hardly lengthens. A request with a longer step is
sent twice again, and reported if it is too long each time: garbage collection and cold caches strike any request. The first time, a step
may take `FIRST`: some code is compiled when it is first used, once in a process.
"""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import pytest

from gateleg.cli.installed import installed_applications
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings
from gateleg.jobs.worker import exclude_loaded_modules
from gateleg.web.app import create_app
from gateleg.web.documents import openapi
from tests.web.schema_examples import example_of

S = TypeVar("S")
#: Shapes of strings and of bodies for each route. `make slow` takes all of them.
EXAMPLES = int(os.environ.get("GATELEG_TEST_EXAMPLES", "1"))
#: Seconds of processor time of one step of the loop: of each, of those of a first request, and after which it is interrupted.
MOST, FIRST, INTERRUPTED = 0.05, 0.25, 3.0
STRINGS = {
    "blanks and comments": "and x" + " " * 3_000 + "??x" + "<!---->" * 100,
    "nested, digits and signs": "[" * 1_000 + "(" * 1_000 + "1" * 1_000 + "-" * 1_000 + "`" * 500,
    "long": "The fence is 12 mm too low; see https://example.com/a, or ask. " * 14_000,
}
JSON, FORM = "application/json", "multipart/form-data; boundary=x"
BODIES = {
    "deep": (b'{"query":' * 50_000, JSON),
    "deep list": (b"[" * 100_000 + b"]" * 100_000, JSON),
    "deepest list": (b"[" * 9_990 + b"]" * 9_990, JSON),
    "long list": (b"[" + b"0," * 400_000 + b"0]", JSON),
    "list of objects": (b"[" + b"{}," * 300_000 + b"{}]", JSON),
    "long number": (b'{"a":' + b"9" * 900_000 + b"}", JSON),
    "same keys": (json.dumps(dict.fromkeys(map(str, range(60_000)))).encode(), JSON),
    "most keys": (json.dumps(dict.fromkeys(map(str, range(9_990)))).encode(), JSON),
    "quotes": (b'"' * 900_000, JSON),
    "escapes": (b'{"a":"' + rb"\"," * 300_000 + b'"}', JSON),
    "wide letters": (json.dumps(["é,"] * 40_000).encode("utf-16"), JSON),
    "many parts": (b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' * 15_000 + b"--x--", FORM),
    "half a part": (b"--x\r\n" + b"A: b\r\n" * 100_000, FORM),
    "comments in a file": (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' + b"<!---->" * 500 + b"x\r\n--x--",
        FORM,
    ),
    "comments": (b"<!---->" * 500 + b"x", "application/octet-stream"),
    "many fields": (b"a=1&" * 200_000, "application/x-www-form-urlencoded"),
}
#: Routes that the document of the API does not contain, and the elements of a list in a body that has no limit of its own.
PAGES = ("/api/openapi.json", "/api/docs", "/metrics", "/health", "/ready")
SURFACES = ("/graphql", "/v1/chat/completions", "/mcp/agents", "/mcp/rag", "/signin")
ELEMENTS = 3_000


def some_of(shapes: dict[str, S], number: int) -> list[tuple[str, S]]:
    """Some of the shapes for one route, and others for the next."""
    named = list(shapes.items())
    return [named[(number + step) % len(named)] for step in range(min(EXAMPLES, len(named)))]


class Interrupted(Exception):
    """A step of the loop that takes for ever."""


class Steps:
    """The longest step of the loop so far, in processor time of its thread."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._began = time.thread_time()

    def run(self, handle: asyncio.Handle, step: Any) -> None:
        self._began = time.thread_time()
        try:
            step(handle)
        finally:
            self.longest = max(self.longest, time.thread_time() - self._began)

    def look(self, number: int, frame: FrameType | None) -> None:
        if time.thread_time() - self._began > INTERRUPTED:
            raise Interrupted

    async def longest_of(self, send: Callable[[], Awaitable[None]]) -> float:
        """The longest step while a request is answered, apart from the work before and after it."""
        await asyncio.sleep(0)
        self.longest = 0.0
        await send()
        await asyncio.sleep(0)
        return self.longest


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Steps]:
    found, step = Steps(), asyncio.Handle._run
    monkeypatch.setattr(asyncio.Handle, "_run", lambda handle: found.run(handle, step))
    former = signal.signal(signal.SIGVTALRM, found.look)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.5, 0.5)
    try:
        yield found
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    settings = Settings(store="embedded::memory:", objects=f"dir:{tmp_path}/objects", data=tmp_path, key_rate=0, console=False)
    async with Host.open(settings, installed_applications(settings)) as opened:
        yield opened


class Client:
    """Sends requests to all operations of a document, with the ids that earlier responses contained."""

    def __init__(self, app: Any, token: str) -> None:
        self.document = openapi(app)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        headers = {"authorization": f"Bearer {token}"}
        self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)
        self._known: dict[str, str] = {}
        #: the last request that failed, by its status
        self.failures: dict[int, str] = {}

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                # Streams have no end.
                if not path.startswith("/events/"):
                    yield method, path, operation

    def body(self, operation: dict[str, Any]) -> Any:
        """An example of the JSON body of an operation; None without one."""
        content = operation.get("requestBody", {}).get("content", {})
        return example_of(content["application/json"]["schema"], self.document) if "application/json" in content else None

    async def send(self, method: str, path: str, operation: dict[str, Any], text: str | None) -> None:
        """Send one request: as the document has it, or with a text in every place of a string."""
        queries = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
        texts = [one["name"] for one in queries if isinstance(example_of(one.get("schema", {}), self.document), str | None)]
        # All of them together as long as a head may be, escaped.
        named = {} if text is None else dict.fromkeys(texts, text[: 20_000 // max(1, len(texts))])
        body = self.body(operation)
        if text is not None:
            # As long as a body may be.
            body = _filled(body, text[: 900_000 // max(1, json.dumps(_filled(body, "\t")).count("\\t"))])
        await self.request(method, self.place(path, operation), params=named, json=body)

    def long_bodies(self, operation: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """The example of a body with each of its lists as long as allowed, once of examples and once of empty objects."""
        body = self.body(operation)
        if isinstance(body, dict):
            schema = self._resolved(operation["requestBody"]["content"]["application/json"]["schema"])
            for name, field in schema.get("properties", {}).items():
                for part in (field, *field.get("anyOf", ())):
                    if part.get("type") == "array":
                        example = example_of(part.get("items", {}), self.document)
                        for what, element in (("examples", example), ("objects", {})):
                            length = min(part.get("maxItems", ELEMENTS), 9_000 // (1 + json.dumps(element).count(",")))
                            yield f"{name}: {what}", {**body, name: [element] * length}

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        return self.document["components"]["schemas"][name] if name else schema

    def place(self, path: str, operation: dict[str, Any]) -> str:
        """The path of an operation, with ids that exist where some are known."""
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "path":
                value = self._known.get(_plain(parameter["name"]), example_of(parameter.get("schema", {}), self.document))
                path = path.replace(f"{{{parameter['name']}}}", quote(str(value), safe=""))
        return path

    async def request(self, method: str, path: str, **options: Any) -> None:
        try:
            # What waits for a worker that is not there would wait for long.
            async with asyncio.timeout(20):
                response = await self._client.request(method.upper(), path, **options)
        except TimeoutError:
            return
        if response.status_code >= 500:
            self.failures[response.status_code] = f"{method} {path}: {response.text}"
        if response.is_success and response.headers.get("content-type", "") == "application/json" and method.upper() != "HEAD":
            with suppress(ValueError):
                self._learn(response.json())

    def _learn(self, value: Any) -> None:
        if isinstance(value, list):
            value = value[0] if value else None
        for name, inner in value.items() if isinstance(value, dict) else ():
            if isinstance(inner, str | int) and _plain(name).endswith("id"):
                self._known.setdefault(_plain(name), str(inner))
            self._learn(inner)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _filled(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {name: _filled(inner, text) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, text) for inner in value] or [text]
    return text if isinstance(value, str | None) else value


async def test_no_request_holds_the_loop(host: Host, steps: Steps) -> None:
    app = create_app(host, console=False)
    client = Client(app, (await host.keys.create("mallory", Role.ADMIN)).token)
    # The document was built once for the client; the host builds it again.
    app.openapi_schema = None
    # As a host does before its first request.
    exclude_loaded_modules()
    operations = list(client.operations())
    held: dict[str, list[float]] = {}

    async def ask(name: str, send: Callable[..., Awaitable[None]], *request: Any, **options: Any) -> None:
        times = [await steps.longest_of(partial(send, *request, **options))]
        while times[-1] > MOST and len(times) < 3:
            times.append(await steps.longest_of(partial(send, *request, **options)))
        if min(times) > MOST or times[0] > FIRST:
            held[name] = times

    async with app.router.lifespan_context(app):
        for page in PAGES:
            await ask(page, client.request, "get", page)
        for method, path, operation in (one for one in operations if one[0] in ("post", "put")):
            await ask(f"{method} {path}: example", client.send, method, path, operation, None)
        for number, (method, path, operation) in enumerate(operations):
            for name, text in some_of(STRINGS, number):
                await ask(f"{method} {path}: {name}", client.send, method, path, operation, text)
            if method in ("post", "put", "patch"):
                place = client.place(path, operation)
                # A route that reads JSON reads nothing else, and the other way round.
                reads_json = "application/json" in operation.get("requestBody", {}).get("content", {"application/json": {}})
                fitting = {name: body for name, body in BODIES.items() if (body[1] == JSON) == reads_json}
                for name, (body, kind) in some_of(fitting, number):
                    await ask(f"{method} {path}: {name}", client.request, method, place, content=body, headers={"content-type": kind})
                for name, value in client.long_bodies(operation):
                    await ask(f"{method} {path}: {name}", client.request, method, place, json=value)
        for path in SURFACES:
            for name, (body, kind) in BODIES.items():
                headers = {"content-type": kind, "accept": "application/json, text/event-stream"}
                await ask(f"{path}: {name}", client.request, "post", path, content=body, headers=headers)
    assert len(operations) > 200
    assert held == {}
    assert client.failures == {}
