"""The OpenAPI document against the host that serves it: whatever is asked, the answer is one that it describes."""

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings
from gateleg.web.app import create_app
from gateleg.web.documents import openapi
from tests.web.sample import make_application

#: Requests for each operation: such as the document allows, and such as it does not. `make slow` makes more.
EXAMPLES = int(os.environ.get("GATELEG_TEST_EXAMPLES", "3"))


class Served:
    """A host on a free port, in a thread."""

    def __init__(self, folder: Path) -> None:
        self.url = self.token = ""
        self.document: dict[str, Any] = {}
        self._folder = folder
        self._ready = threading.Event()
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        folder = self._folder
        chosen = Settings(store="embedded::memory:", objects=f"dir:{folder}/objects", data=folder, key_rate=0, dynamodb=True)
        async with Host.open(chosen, [make_application()]) as host:
            app = create_app(host, console=False)
            self.document = openapi(app)
            self.token = (await host.keys.create("contract", Role.ADMIN)).token
            self._server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="on"))
            serving = asyncio.ensure_future(self._server.serve())
            while not self._server.started:
                await asyncio.sleep(0.01)
            self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"
            self._ready.set()
            await serving

    def __enter__(self) -> "Served":
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *details: object) -> None:
        assert self._server is not None
        self._server.should_exit = True
        self._thread.join(30)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("contract")) as found:
        yield found


def test_whatever_is_asked_is_answered_as_the_document_says(served: Served) -> None:
    schema = schemathesis.openapi.from_dict(served.document)
    asked: set[str] = set()
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        # Streams have no end, and one route of the sample is broken on purpose.
        if operation.path.startswith("/events/") or operation.path == "/api/music/broken":
            continue
        asked.add(operation.label)
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            _try_out(operation, served, mode)
    assert len(asked) > 45


def _try_out(operation: Any, served: Served, mode: GenerationMode) -> None:
    checks = [not_a_server_error, response_schema_conformance]
    if not operation.path.startswith(("/api/music", "/objects/")):
        checks += [status_code_conformance, content_type_conformance]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=cast("list[HealthCheck]", list(HealthCheck)),
    )
    def attempt(case: Any) -> None:
        answer = case.call(base_url=served.url, headers={"Authorization": f"Bearer {served.token}"})
        case.validate_response(answer, checks=checks)

    attempt()
